// Group commit: commits gather while the disk is busy with those before, and go to it together, as a batch. They stand in
// the state already; when a batch cannot be written, it and all that was built on it is undone, the latest first. What a
// commit is, and how it is written, is no matter here.
import type { Steps } from "../kit/background.ts";

/** A long one is made when it is its turn. */
export type Text = string | Steps<string>;

/** Ends the unit of work that runs: one that waits for what is not its own, or whose ground is taken away. */
export type Stop = (why: "waits" | "lost") => void;

export class Batch<C> {
  state: "gathering" | "writing" | "over" = "gathering";
  readonly texts: Text[] = [];
  readonly changes: C[] = [];
  end: (lost: unknown) => void = () => undefined;
  /** Resolves when it is known what came of it: with nothing where it is durable, else with the reason. */
  readonly ended = new Promise<unknown>((resolve) => {
    this.end = resolve;
  });
}

export class Commits<C> {
  readonly #append: (texts: readonly Text[]) => Promise<void>;
  readonly #undo: (changes: readonly C[]) => void;
  /** The one that is being written, and the one that gathers meanwhile. */
  #open: readonly Batch<C>[] = [];

  /** `append` rejects where nothing was kept. */
  constructor(append: (texts: readonly Text[]) => Promise<void>, undo: (changes: readonly C[]) => void) {
    this.#append = append;
    this.#undo = undo;
  }

  add(text: Text, changes: readonly C[]): Batch<C> {
    const last = this.#open.at(-1);
    const batch = last?.state === "gathering" ? last : new Batch<C>();
    batch.texts.push(text);
    for (const change of changes) batch.changes.push(change);
    // The commits of one turn of the event loop go together: so do all that wait for those before.
    if (last === undefined) setImmediate(() => this.#write(batch));
    if (last !== batch) this.#open = [...this.#open, batch];
    return batch;
  }

  async quiet(): Promise<void> {
    while (this.#open.length > 0) await this.#open.at(-1)?.ended;
  }

  async #write(batch: Batch<C>): Promise<void> {
    batch.state = "writing";
    const lost: unknown = await this.#append(batch.texts).catch((error) => error);
    const over = lost === undefined ? [batch] : this.#open;
    if (lost !== undefined) this.#undo(over.flatMap(({ changes }) => changes));
    this.#open = this.#open.slice(over.length);
    for (const each of over) {
      each.state = "over";
      each.end(lost);
      // The tables that it wrote to may know it for long: what it was made of need not stay.
      each.texts.length = 0;
      each.changes.length = 0;
    }
    const [next] = this.#open;
    if (next !== undefined) setImmediate(() => this.#write(next));
  }
}
