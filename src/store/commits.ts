// Group commit: commits gather while the disk is busy with those before, and go to it together, as a batch. They stand in
// the tables already; when a batch cannot be written, it and all that was built on it is undone, the latest first. How a
// commit is written is no matter here.
import { StorageUnavailable } from "../domain/store.ts";
import { Turns } from "../kit/background.ts";
import { Batch, type Change, type Lists, Table } from "./tables.ts";

export interface Keeper {
  /** Resolves when these commits are kept, and rejects where none of them is. */
  append(commits: Batch["commits"]): Promise<void>;
  /** In the place of everything. */
  replace(records: Lists): Promise<void>;
  close(): Promise<void>;
}

export class Commits {
  readonly #turns = new Turns();
  /** Takes what comes until those before it are written. */
  #gathering: Batch | undefined;

  /** `stop` ends the unit of work that runs, as it waits for what is not its own. */
  constructor(
    private readonly keeper: Keeper,
    private readonly stop: () => void,
  ) {}

  /** Takes a commit that stands in the tables already. */
  add(changes: readonly Change[]): Batch {
    const batch = this.#gathering ?? new Batch();
    batch.commits.push(changes);
    for (const { table } of changes) table.batch = batch;
    if (batch !== this.#gathering) this.#turns.run(() => this.#write(batch));
    this.#gathering = batch;
    return batch;
  }

  replace(records: Lists): Promise<void> {
    return this.#turns.run(() => this.keeper.replace(records).catch((cause) => Promise.reject(unavailable(cause))));
  }

  close(): Promise<void> {
    return this.#turns.run(() => this.keeper.close());
  }

  /** Begins in a turn of its own, as does the undoing: what asks only its own transaction is over by then. */
  async #write(batch: Batch): Promise<void> {
    // The commits of one turn of the event loop go together: so do all that wait for those before.
    await new Promise(setImmediate);
    if (batch !== this.#gathering) return; // undone with the one before
    this.#gathering = undefined;
    batch.isGathering = false;
    this.stop();
    const lost = await this.keeper.append(batch.commits).then(() => undefined, unavailable);
    const over = [batch];
    if (lost !== undefined) {
      await new Promise(setImmediate);
      this.stop();
      if (this.#gathering) over.push(this.#gathering);
      this.#gathering = undefined;
    }
    const changes = over.flatMap(({ commits }) => commits.flat());
    if (lost !== undefined) Table.undo(changes);
    for (const { table } of changes) if (table.batch && over.includes(table.batch)) table.batch = undefined;
    for (const { end } of over) end(lost);
  }
}

const unavailable = (cause: unknown) => new StorageUnavailable(`The data could not be written: ${cause}`, { cause });
