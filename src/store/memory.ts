// The in-memory store, and the engine of the stores that also write to disk. Units of work run strictly one after the
// other and change one state in place; a failed unit is rolled back. A read of data that is not durable yet runs as a
// unit of work. Its result is held back until the data is durable.
import type * as port from "../domain/store.ts";
import { StoreOpenError, UniqueViolation } from "../domain/store.ts";
import { monotonicNow, nextTurn } from "../lib/clock.ts";
import { unsafeCast } from "../lib/schema.ts";
import { Mutex } from "../lib/tasks.ts";
import type { StoredRecord } from "./indexes.ts";
import { Subscribers } from "./subscribers.ts";
import {
  type Batch,
  type Change,
  clone,
  createTables,
  dump,
  load,
  lookup,
  Table,
  type TableDump,
  type Tables,
} from "./tables.ts";

const GIVEN_UP =
  "A unit of work may only await its own transaction; this one waited for something else and was given up";

/** Makes commits durable that are already applied to the tables. */
interface Commits {
  add(changes: readonly Change[]): Batch;
  /** Replaces all data. */
  replace(records: TableDump): Promise<void>;
  close(): Promise<void>;
}

/** Fills the tables. `isBusy` returns true while a unit of work is running, whose writes may still be rolled back. */
type Load = (tables: Tables, isBusy: () => boolean) => Promise<Commits | undefined>;

type Opened = {
  collections: readonly port.AnyCollection[];
  tables: Tables;
  commits: Commits | undefined;
};
type Named = { readonly name: string };

/** Runs the port's queries on a table. A collection's type vouches for that of its records. */
abstract class TableReader implements port.Reader {
  abstract ask<T>(from: Named, question: (table: Table) => T): Promise<T>;

  get<R extends port.Entity>(from: port.Collection<R>, id: string): Promise<R | undefined> {
    return this.ask(from, (table) => unsafeCast(table.get(id)));
  }

  find<R>(from: Named, unique: string, values: port.Values): Promise<R | undefined> {
    return this.ask(from, (table) => unsafeCast(lookup(table.uniques, unique).find(values)));
  }

  page<R>(
    from: Named,
    index: string,
    values: port.Values,
    range: port.Range,
  ): Promise<readonly R[]> {
    return this.ask(from, (table) => unsafeCast(lookup(table.indexes, index).page(values, range)));
  }

  count(from: Named, index: string, values: port.Values): Promise<number> {
    return this.ask(from, (table) => lookup(table.indexes, index).count(values));
  }
}

export const memoryStore = (): port.Store => new MemoryStore(async () => undefined);

export class MemoryStore extends TableReader implements port.Store {
  readonly #leases = new Map<string, { readonly until: number }>();
  readonly #hearers = new Subscribers();
  readonly #turns = new Mutex();
  #life: Opened | "new" | "closed" = "new";
  /** The latest transaction, which may have ended. */
  #run: Transaction | undefined;
  #watch: Promise<void> | undefined;

  constructor(private readonly load: Load) {
    super();
  }

  async open(collections: readonly port.AnyCollection[]): Promise<void> {
    if (this.#life !== "new") throw new Error("A store is opened once");
    this.#life = "closed";
    const tables = createTables(collections);
    this.#life = { collections, tables, commits: await this.load(tables, () => this.#isBusy) };
  }

  get #isBusy(): boolean {
    return this.#run?.abort !== undefined;
  }

  /** Reads directly when no unit of work is running and all writes to the table are durable. */
  async ask<T>(from: Named, question: (table: Table) => T): Promise<T> {
    const table = lookup(this.#opened().tables, from.name);
    if (!this.#isBusy && table.batch === undefined) return question(table);
    return this.transact((run) => run.ask(from, question));
  }

  async transact<T>(work: (run: Transaction) => Promise<T>): Promise<T> {
    // A loop instead of recursion: a retried unit would otherwise resolve a moment after later notifications.
    for (;;) {
      const run = new Transaction(this.#opened());
      const outcome = await this.#turns.run(() => {
        this.#run = run;
        // Queries of `tx` resolve at once, so work that awaits nothing else ends within this turn of the event loop.
        this.#watch ??= nextTurn().then(() => {
          this.#watch = undefined;
          this.#run?.abort?.(new Error(GIVEN_UP));
        });
        return run.execute(work);
      });
      const lost = run.dependsOn && (await run.dependsOn.ended);
      if (lost === undefined) {
        for (const [topic, subjects] of run.messages)
          for (const subject of subjects) this.#hearers.publish(topic, subject);
        if ("error" in outcome) throw outcome.error;
        return outcome.value;
      }
      if (run.changes.length > 0) throw lost;
      // It read data whose commit failed, so retry the transaction, unless the store was closed.
    }
  }

  readonly subscribe: port.Store["subscribe"] = (topic, received) =>
    this.#hearers.subscribe(topic, received);

  async lease(name: string, for_ms: number): Promise<port.Lease | undefined> {
    this.#opened();
    const now = monotonicNow();
    if ((this.#leases.get(name)?.until ?? 0) > now) return undefined;
    const mine = { until: now + for_ms };
    this.#leases.set(name, mine);
    // Another holder may have taken the name since this lease expired.
    return {
      release: async () => void (this.#leases.get(name) === mine && this.#leases.delete(name)),
    };
  }

  /** Data is copied on the way out and in, so that neither side can change the other's. */
  async snapshot(): Promise<port.StoreData> {
    const lists = await this.transact((run) => run.records());
    return { format: 1, collections: Object.fromEntries(clone(lists)) };
  }

  /** Runs in steps, so that reads continue. Writes wait for its end, because they would be lost with the old data. */
  async restore(data: port.StoreData): Promise<void> {
    const { collections, tables, commits } = this.#opened();
    await this.#turns.run(async () => {
      const others = createTables(collections);
      const lists = clone(Object.entries(data.collections));
      load(others, lists, (fault) => new StoreOpenError(`The data cannot be used: ${fault}`));
      await commits?.replace(dump(others));
      for (const [name, table] of others) tables.set(name, table);
    });
  }

  /** Calls made before run to completion. */
  async close(): Promise<void> {
    const life = this.#life;
    this.#life = "closed";
    await this.#turns.run(async () => typeof life !== "string" && life.commits?.close());
  }

  #opened(): Opened {
    if (typeof this.#life === "string") throw new Error(`The store is ${this.#life}, not open`);
    return this.#life;
  }
}

/** One run of a unit of work. */
class Transaction extends TableReader implements port.Tx {
  changes: Change[] = [];
  /** The last batch that must be durable before this run may publish or return anything. */
  dependsOn: Batch | undefined;
  readonly messages = new Map<string, Set<string>>();
  /** Aborts the run with this error; undefined once it has ended. */
  abort: ((error: Error) => void) | undefined;
  #violation: UniqueViolation | undefined;

  constructor(private readonly opened: Opened) {
    super();
  }

  async ask<A>(from: Named, question: (table: Table) => A): Promise<A> {
    return question(this.#table(from));
  }

  async records(): Promise<TableDump> {
    const { tables } = this.opened;
    for (const table of tables.values()) this.#table(table);
    return dump(tables);
  }

  async put<R extends port.Entity>(into: port.Collection<R>, record: R): Promise<void> {
    // Records are JSON objects (domain/store.ts), so their fields can be looked at by name.
    const change = this.#table(into).put(unsafeCast<StoredRecord>(record));
    if (typeof change === "string") this.#violation = new UniqueViolation(change);
    else this.changes.push(change);
    if (this.#violation !== undefined) throw this.#violation;
  }

  async remove<R extends port.Entity>(from: port.Collection<R>, id: string): Promise<void> {
    const change = this.#table(from).remove(id);
    if (change !== undefined) this.changes.push(change);
  }

  publish(topic: string, subject: string): void {
    this.#assertRuns();
    this.messages.set(topic, (this.messages.get(topic) ?? new Set()).add(subject));
  }

  /** Resolves at the end of its turn: the writes are committed, or rolled back if the work failed. */
  async execute<T>(
    work: (run: Transaction) => Promise<T>,
  ): Promise<{ readonly value: T } | { readonly error: unknown }> {
    try {
      const value = await new Promise<T>((resolve, reject) => {
        this.abort = reject;
        work(this).then(resolve, reject);
      });
      if (this.#violation !== undefined) throw this.#violation;
      const batch = this.changes.length > 0 && this.opened.commits?.add(this.changes);
      if (batch) this.#need(batch);
      return { value };
    } catch (error) {
      Table.undo(this.changes);
      this.changes = [];
      this.messages.clear();
      return { error };
    } finally {
      this.abort = undefined;
    }
  }

  #table(from: Named): Table {
    this.#assertRuns();
    const table = lookup(this.opened.tables, from.name);
    if (table.batch !== undefined) this.#need(table.batch);
    return table;
  }

  #need(batch: Batch): void {
    if (batch.number > (this.dependsOn?.number ?? 0)) this.dependsOn = batch;
  }

  #assertRuns(): void {
    if (this.abort === undefined)
      throw new Error("This unit of work is over: its transaction answers no more");
  }
}
