// Group commit: commits gather while the disk is busy with those before, and go to it together, as a batch. They stand in
// the tables already; when a batch cannot be written, it and all that was built on it is undone, the latest first. How a
// commit is written is no matter here.
import { StorageUnavailable } from "../domain/store.ts";
import { nextTurn } from "../lib/clock.ts";
import { Mutex } from "../lib/tasks.ts";
import { Batch, type Change, type TableDump, type Tables } from "./tables.ts";

/** Asked for one thing at a time. */
export interface DurableWriter {
  /** Resolves when these commits are kept, and rejects where none of them is. */
  append(commits: Batch["commits"]): Promise<void>;
  /** In the place of everything. */
  replace(records: TableDump): Promise<void>;
  close(): Promise<void>;
}

class Commits {
  readonly #turns = new Mutex();
  /** Takes what comes until those before it are written. */
  #gathering: Batch | undefined;
  #begun = 0;

  constructor(
    private readonly keeper: DurableWriter,
    private readonly isBusy: () => boolean,
  ) {}

  /** Takes a commit that stands in the tables already. */
  add(changes: readonly Change[]): Batch {
    this.#gathering ??= new Batch(++this.#begun, (batch) =>
      this.#turns.run(() => this.#write(batch)),
    );
    this.#gathering.commits.push(changes);
    for (const { table } of changes) table.batch = this.#gathering;
    return this.#gathering;
  }

  /** Later than what has gathered. */
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
    if (batch.lost !== undefined) return; // with the one before
    this.#gathered();
    const lost = await this.keeper.append(batch.commits).then(() => undefined, unavailable);
    if (lost !== undefined) {
      await this.#pause();
      this.#gathered()?.end(lost);
    }
    batch.end(lost);
  }

  /** What comes from now on goes to another. */
  #gathered(): Batch | undefined {
    const batch = this.#gathering;
    this.#gathering = undefined;
    return batch;
  }

  /** Until no unit of work is in the midst. The commits of one turn of the event loop go together. */
  async #pause(): Promise<void> {
    do await nextTurn();
    while (this.isBusy());
  }
}

/** How a store is loaded whose commits go to the keeper that `open` answers. */
export const createGroupCommit =
  (open: (tables: Tables) => Promise<DurableWriter>) =>
  async (tables: Tables, isBusy: () => boolean) =>
    new Commits(await open(tables), isBusy);

const unavailable = (cause: unknown) =>
  new StorageUnavailable(`The data could not be written: ${cause}`, { cause });
