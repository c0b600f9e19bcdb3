// Group commit: commits gather while the disk is busy with those before, and go to it together, as a batch. They stand in
// the tables already; when a batch cannot be written, it and all that was built on it is undone, the latest first. How a
// commit is written is no matter here.
import { StorageUnavailable } from "../domain/store.ts";
import { Batch, type Change, type Lists, Table } from "./tables.ts";

export interface Keeper {
  /** Resolves when these commits are kept, and rejects where none of them is. */
  append(commits: Batch["commits"]): Promise<void>;
  /** In the place of everything. */
  replace(records: Lists): Promise<void>;
  close(): Promise<void>;
}

export class Commits {
  /** The one that is being written, and the one that gathers meanwhile. */
  #open: readonly Batch[] = [];

  /** `stop` ends the unit of work that runs, as it waits for what is not its own. */
  constructor(
    private readonly keeper: Keeper,
    private readonly stop: () => void,
  ) {}

  /** Takes a commit that stands in the tables already. */
  add(changes: readonly Change[]): Batch {
    const last = this.#open.at(-1);
    const batch = last?.isGathering ? last : new Batch();
    batch.commits.push(changes);
    for (const { table } of changes) table.batch = batch;
    // The commits of one turn of the event loop go together: so do all that wait for those before.
    if (last === undefined) setImmediate(() => this.#write(batch));
    if (last !== batch) this.#open = [...this.#open, batch];
    return batch;
  }

  async replace(records: Lists): Promise<void> {
    await this.#quiet();
    await this.keeper.replace(records).catch((cause) => Promise.reject(unavailable(cause)));
  }

  async close(): Promise<void> {
    await this.#quiet();
    await this.keeper.close();
  }

  async #quiet(): Promise<void> {
    while (this.#open.length > 0) await this.#open.at(-1)?.ended;
  }

  /** Begins in a turn of its own, as does the undoing: what asks only its own transaction is over by then. */
  async #write(batch: Batch): Promise<void> {
    batch.isGathering = false;
    this.stop();
    const lost = await this.keeper.append(batch.commits).then(() => undefined, unavailable);
    if (lost !== undefined) await new Promise(setImmediate);
    const over = lost === undefined ? [batch] : this.#open;
    this.#open = this.#open.slice(over.length);
    const changes = over.flatMap((each) => each.commits.flat());
    if (lost !== undefined) {
      this.stop();
      Table.undo(changes);
    }
    for (const { table } of changes) if (table.batch && over.includes(table.batch)) table.batch = undefined;
    for (const { end } of over) end(lost);
    const [next] = this.#open;
    if (next !== undefined) setImmediate(() => this.#write(next));
  }
}

const unavailable = (cause: unknown) => new StorageUnavailable(`The data could not be written: ${cause}`, { cause });
