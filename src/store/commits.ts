// Group commit: commits gather while the disk is busy with those before, and go to it together. They stand in the state
// already; when some cannot be written, they and all that was built on them are undone, the latest first. What a commit
// is, and how it is written, is no matter here.

export interface Commit {
  readonly text: string;
  readonly undo: () => void;
  /** Resolves when it is known what came of it: with nothing where it is durable, else with the reason. */
  readonly ended: Promise<unknown>;
  readonly end: (lost: unknown) => void;
  isOpen: boolean;
}

export class Commits {
  readonly #append: (texts: readonly string[]) => Promise<void>;
  readonly #giveUp: () => void;
  readonly #open: Commit[] = [];

  /** `append` rejects where nothing was kept; `giveUp` ends what stands on the state and is no commit yet. */
  constructor(append: (texts: readonly string[]) => Promise<void>, giveUp: () => void) {
    this.#append = append;
    this.#giveUp = giveUp;
  }

  add(text: string, undo: () => void): Commit {
    let end: Commit["end"] = () => undefined;
    const ended = new Promise<unknown>((resolve) => {
      end = resolve;
    });
    const commit = { text, undo, ended, end, isOpen: true };
    // The commits of one turn of the event loop go together: so do all that wait for those before.
    if (this.#open.push(commit) === 1) setImmediate(() => this.#write());
    return commit;
  }

  async quiet(): Promise<void> {
    while (this.#open.length > 0) await this.#open.at(-1)?.ended;
  }

  async #write(): Promise<void> {
    this.#giveUp();
    const texts = this.#open.map(({ text }) => text);
    const lost: unknown = await this.#append(texts).catch((error) => error);
    if (lost !== undefined) this.#giveUp();
    const ended = this.#open.splice(0, lost === undefined ? texts.length : this.#open.length);
    if (lost !== undefined) for (const { undo } of ended.toReversed()) undo();
    for (const commit of ended) {
      commit.isOpen = false;
      commit.end(lost);
    }
    if (this.#open.length > 0) setImmediate(() => this.#write());
  }
}
