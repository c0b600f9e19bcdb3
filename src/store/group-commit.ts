// Group commit: commits made during a disk write are written together as the next batch. They are applied to the tables
// first; if a batch cannot be written, it and every later batch are rolled back, newest first. The writer defines the
// format.
import { StorageUnavailable } from "../domain/store.ts";
import { nextTurn } from "../lib/clock.ts";
import { Mutex } from "../lib/tasks.ts";
import { Batch, type Change, type TableDump, type Tables } from "./tables.ts";

/** Never called concurrently. */
export interface DurableWriter {
  /** Resolves when these commits are durable; rejects if none of them is. */
  append(commits: Batch["commits"]): Promise<void>;
  /** Replaces all data. */
  replace(records: TableDump): Promise<void>;
  close(): Promise<void>;
}

class Commits {
  readonly #turns = new Mutex();
  /** Collects commits until the batches before it are written. */
  #gathering: Batch | undefined;
  #begun = 0;

  constructor(
    private readonly keeper: DurableWriter,
    private readonly isBusy: () => boolean,
  ) {}

  /** Adds a commit that is already applied to the tables. */
  add(changes: readonly Change[]): Batch {
    this.#gathering ??= new Batch(++this.#begun, (batch) =>
      this.#turns.run(() => this.#write(batch)),
    );
    this.#gathering.commits.push(changes);
    for (const { table } of changes) table.batch = this.#gathering;
    return this.#gathering;
  }

  /** Runs after the batches already collected. */
  replace(records: TableDump): Promise<void> {
    return this.#turns.run(() =>
      this.keeper.replace(records).catch((cause) => Promise.reject(unavailable(cause))),
    );
  }

  close(): Promise<void> {
    return this.#turns.run(() => this.keeper.close());
  }

  async #write(batch: Batch): Promise<void> {
    await this.#pause();
    if (batch.lost !== undefined) return; // rolled back with the one before
    this.#gathered();
    const lost = await this.keeper.append(batch.commits).then(() => undefined, unavailable);
    if (lost !== undefined) {
      await this.#pause();
      this.#gathered()?.end(lost);
    }
    batch.end(lost);
  }

  /** Closes the current batch, so that later commits go to a new one. */
  #gathered(): Batch | undefined {
    const batch = this.#gathering;
    this.#gathering = undefined;
    return batch;
  }

  /** Waits until no unit of work is running, so that commits of one turn of the event loop share a batch. */
  async #pause(): Promise<void> {
    do await nextTurn();
    while (this.isBusy());
  }
}

/** Returns a loader for a store whose commits go to the writer that `open` returns. */
export const createGroupCommit =
  (open: (tables: Tables) => Promise<DurableWriter>) =>
  async (tables: Tables, isBusy: () => boolean) =>
    new Commits(await open(tables), isBusy);

const unavailable = (cause: unknown) =>
  new StorageUnavailable(`The data could not be written: ${cause}`, { cause });
