// The in-memory store. Units of work run one after the other and change the tables in place; a failed one is undone.
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type AnyCollection,
  type Collection,
  type Entity,
  type Range,
  type Reader,
  type Store,
  type StoreData,
  type Tx,
  UniqueViolation,
  type Values,
} from "../domain/store.ts";
import { Mutex } from "../lib/tasks.ts";
import {
  type Change,
  createTables,
  getDeclared,
  listRecords,
  loadTables,
  type StoredRecord,
  type Table,
  type Tables,
  undoAll,
} from "./tables.ts";

/** Implements the port's queries on tables. A collection's type determines the type of its records. */
abstract class TableReader implements Reader {
  protected abstract read<T>(from: AnyCollection, query: (table: Table) => T): Promise<T>;

  get<R extends Entity>(from: Collection<R>, id: string): Promise<R | undefined> {
    return this.read(from, (table) => table.get(id) as R | undefined);
  }

  find<R extends Entity>(
    from: Collection<R>,
    unique: string,
    values: Values,
  ): Promise<R | undefined> {
    return this.read(from, (table) => table.find(unique, values) as R | undefined);
  }

  page<R extends Entity>(
    from: Collection<R>,
    index: string,
    values: Values,
    range: Range,
  ): Promise<readonly R[]> {
    return this.read(from, (table) => table.page(index, values, range) as Entity[] as R[]);
  }

  count<R extends Entity>(from: Collection<R>, index: string, values: Values): Promise<number> {
    return this.read(from, (table) => table.count(index, values));
  }
}

export const memoryStore = (): Store => new MemoryStore();

export class MemoryStore extends TableReader implements Store {
  protected collections: readonly AnyCollection[] = [];
  protected tables: Tables = new Map();
  #state: "not open" | "open" | "closed" = "not open";
  readonly #mutex = new Mutex();
  /** The transaction that the calling code runs in. */
  readonly #current = new AsyncLocalStorage<Transaction>();

  async open(collections: readonly AnyCollection[]): Promise<void> {
    if (this.#state !== "not open") throw new Error("A store can be opened only once");
    this.#state = "open";
    this.collections = collections;
    this.tables = createTables(collections);
  }

  protected read<T>(from: AnyCollection, query: (table: Table) => T): Promise<T> {
    return this.run(async () => query(getDeclared(this.tables, from.name)), from);
  }

  transact<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.run(() => this.#execute(work));
  }

  snapshot(): Promise<StoreData> {
    return this.run(async () => ({ format: 2, collections: copy(listRecords(this.tables)) }));
  }

  async restore({ collections }: StoreData): Promise<void> {
    this.#assertUsable();
    await this.replaceTables(
      loadTables(this.collections, copy(collections), "The data cannot be used"),
    );
  }

  /** Calls made before run to completion. */
  async close(): Promise<void> {
    this.#state = "closed";
    await this.exclusive(async () => undefined);
  }

  /** Runs a call to the store alone, after all earlier ones. `from` is the only collection that it reads, if any. */
  protected async run<T>(work: () => Promise<T>, _from?: AnyCollection): Promise<T> {
    this.#assertUsable();
    return this.exclusive(work);
  }

  protected exclusive<T>(work: () => Promise<T>): Promise<T> {
    return this.#mutex.run(work);
  }

  /** Called at the end of a unit of work, before the next one starts. */
  protected commit(_changes: readonly Change[]): void {}

  protected replaceTables(tables: Tables): Promise<void> {
    return this.exclusive(async () => {
      this.tables = tables;
    });
  }

  #assertUsable(): void {
    if (this.#state !== "open") throw new Error(`The store is ${this.#state}`);
    if (this.#current.getStore()?.isOpen)
      throw new Error("A unit of work must use its own transaction, not the store");
  }

  /** Runs a unit of work, and undoes its changes if it fails. */
  async #execute<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const tx = new Transaction(this.tables);
    try {
      const value = await this.#current.run(tx, () => work(tx));
      if (tx.violation !== undefined) throw tx.violation;
      if (tx.changes.length > 0) this.commit(tx.changes);
      return value;
    } catch (error) {
      undoAll(tx.changes);
      throw error;
    } finally {
      tx.isOpen = false;
    }
  }
}

class Transaction extends TableReader implements Tx {
  readonly changes: Change[] = [];
  isOpen = true;
  violation: UniqueViolation | undefined;

  constructor(private readonly tables: Tables) {
    super();
  }

  protected async read<T>(from: AnyCollection, query: (table: Table) => T): Promise<T> {
    return query(this.#getTable(from));
  }

  async put<R extends Entity>(into: Collection<R>, record: R): Promise<void> {
    const table = this.#getTable(into);
    const stored = record as Entity as StoredRecord;
    const conflict = table.findConflict(stored);
    if (conflict !== undefined) this.violation = new UniqueViolation(conflict);
    if (this.violation !== undefined) throw this.violation;
    this.changes.push(table.put(stored));
  }

  async remove<R extends Entity>(from: Collection<R>, id: string): Promise<void> {
    const change = this.#getTable(from).remove(id);
    if (change !== undefined) this.changes.push(change);
  }

  #getTable({ name }: { readonly name: string }): Table {
    if (!this.isOpen) throw new Error("This unit of work has ended");
    return getDeclared(this.tables, name);
  }
}

/** Copies records, so that neither side can change the other's. */
const copy = <T>(data: T): T => JSON.parse(JSON.stringify(data));
