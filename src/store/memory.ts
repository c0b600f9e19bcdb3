// The in-memory store: the records in tables with their indexes. Units of work run one after the other and change the
// tables in place; a failed one is undone. A `Storage` persists the changes of all waiting calls as one batch (group
// commit).
import {
  type AnyCollection,
  type Collection,
  type Entity,
  type Range,
  type Reader,
  type Store,
  type StoreData,
  StoreOpenError,
  type Tx,
  UniqueViolation,
  type Values,
} from "../domain/store.ts";
import { after, type Timer } from "../lib/clock.ts";
import { Mutex } from "../lib/tasks.ts";

/**
 * Calls of a transaction resolve at once, so that correct work ends before any timer runs. AsyncLocalStorage could
 * detect a call to the store itself, but costs 20 % of a request (9 of 44 µs for a GET, Node 20).
 */
const WORK_MS_MAX = 100;
const GIVEN_UP =
  "A unit of work may await only its own transaction; this one waited for something else and was rolled back";

/** The format of snapshots and data files. */
export const DATA_FORMAT = 2;

/** Where a store keeps its data besides memory. A rejected `append` or `replace` has stored nothing. */
interface Storage {
  load(collections: readonly AnyCollection[]): Promise<Tables>;
  /** Stores the changes, which the tables already have. */
  append(changes: readonly Change[], tables: Tables): Promise<void>;
  replace(tables: Tables): Promise<void>;
  close(tables: Tables): Promise<void>;
}

/** A call that waits for its turn. */
interface Call {
  readonly work: () => Promise<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export const memoryStore = (): Store =>
  createStore({
    load: async (collections) => loadTables(collections, {}, "The data"),
    append: async () => undefined,
    replace: async () => undefined,
    close: async () => undefined,
  });

type Read = <T>(from: AnyCollection, query: (table: StoreTable) => T) => Promise<T>;

const createReader = (read: Read): Reader => ({
  get: (from, id) => read(from, (table) => table.get(id)),
  find: (from, unique, values) => read(from, (table) => table.find(unique, values)),
  page: (from, index, values, range) => read(from, (table) => table.page(index, values, range)),
  count: (from, index, values) => read(from, (table) => table.count(index, values)),
});

export function createStore(storage: Storage): Store {
  const mutex = new Mutex();
  let state: "not open" | "open" | "closed" = "not open";
  let collections: readonly AnyCollection[] = [];
  let tables: Tables = new Map();
  let waiting: Call[] = [];
  /** The changes that are in the tables, but not yet in the storage. */
  let unsaved: readonly Change[] = [];
  /** Rejects the unit of work that runs; undefined between units of work. */
  let rejectRunning: ((error: Error) => void) | undefined;
  let timer: Timer | undefined;

  /** Runs `work` in the next batch. */
  function run<T>(work: () => Promise<T>): Promise<T> {
    return new Promise<unknown>((resolve, reject) => {
      if (state !== "open") throw new Error(`The store is ${state}`);
      enqueue({ work, resolve, reject });
      // The unit of work that runs may wait for just this call.
      if (rejectRunning) timer ??= after(WORK_MS_MAX, rejectAll);
    }) as Promise<T>;
  }

  function enqueue(call: Call): void {
    waiting.push(call);
    if (waiting.length === 1) void mutex.run(runBatch);
  }

  /** Rejects the unit of work, and the calls that it may have made itself. They must not run after its end. */
  function rejectAll(): void {
    const error = new Error(GIVEN_UP);
    for (const call of waiting.splice(0)) call.reject(error);
    rejectRunning?.(error);
  }

  /** Runs all waiting calls one after the other, then saves their changes together. */
  async function runBatch(): Promise<void> {
    const calls = waiting;
    waiting = [];
    const outcomes = [];
    for (const call of calls) {
      const count = unsaved.length;
      const resolveCall = await call.work().then(
        (result) => () => call.resolve(result),
        (error) => () => call.reject(error),
      );
      outcomes.push({ call, settle: resolveCall, hasChanges: unsaved.length > count });
    }
    try {
      if (unsaved.length > 0) await storage.append(unsaved, tables);
      for (const { settle } of outcomes) settle();
    } catch (error) {
      undoAll(unsaved);
      for (const { call, hasChanges } of outcomes) {
        if (hasChanges) call.reject(error);
        else enqueue(call); // it may have read what is undone now
      }
    }
    unsaved = [];
  }

  /** Runs a unit of work, and undoes its changes if it fails. */
  async function execute<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const tx = new Transaction(tables);
    try {
      const result = await new Promise<T>((resolve, reject) => {
        rejectRunning = reject;
        work(tx).then(resolve, reject);
      });
      if (tx.violation !== undefined) throw tx.violation;
      unsaved = unsaved.concat(tx.changes);
      return result;
    } catch (error) {
      undoAll(tx.changes);
      throw error;
    } finally {
      tx.isOpen = false;
      rejectRunning = undefined;
      timer?.cancel();
      timer = undefined;
    }
  }

  return {
    /** A read of saved data runs at once. */
    ...createReader(async (from, query) => {
      const isSaved = !rejectRunning && !unsaved.some(({ table }) => table.name === from.name);
      return isSaved && state === "open"
        ? query(getDeclared(tables, from.name))
        : run(async () => query(getDeclared(tables, from.name)));
    }),

    async open(declared) {
      if (state !== "not open") throw new Error("A store can be opened only once");
      state = "closed";
      tables = await storage.load(declared);
      collections = declared;
      state = "open";
    },

    transact: (work) => run(() => execute(work)),

    snapshot: () =>
      run(async () => ({ format: DATA_FORMAT, collections: copy(listRecords(tables)) })),

    restore: (data: StoreData) =>
      run(async () => {
        const loaded = loadTables(collections, copy(data.collections), "The data");
        await storage.replace(loaded);
        tables = loaded;
        unsaved = [];
      }),

    /** Calls made before run to completion. */
    async close() {
      state = "closed";
      await mutex.run(() => storage.close(tables));
    },
  };
}

class Transaction implements Tx {
  readonly changes: Change[] = [];
  isOpen = true;
  violation: UniqueViolation | undefined;

  constructor(private readonly tables: Tables) {}

  private getTable({ name }: AnyCollection): StoreTable {
    if (!this.isOpen) throw new Error("This unit of work has ended");
    return getDeclared(this.tables, name);
  }
  async get<R extends Entity>(from: Collection<R>, id: string) {
    return this.getTable(from).get<R>(id);
  }
  async find<R extends Entity>(from: Collection<R>, unique: string, values: Values) {
    return this.getTable(from).find<R>(unique, values);
  }
  async page<R extends Entity>(from: Collection<R>, index: string, values: Values, range: Range) {
    return this.getTable(from).page<R>(index, values, range);
  }
  async count<R extends Entity>(from: Collection<R>, index: string, values: Values) {
    return this.getTable(from).count(index, values);
  }
  async put<R extends Entity>(into: Collection<R>, record: R) {
    const table = this.getTable(into);
    const conflict = table.findConflict(record);
    if (conflict !== undefined) this.violation = new UniqueViolation(conflict);
    if (this.violation !== undefined) throw this.violation;
    this.changes.push(table.put(record));
  }
  async remove<R extends Entity>(from: Collection<R>, id: string) {
    const change = this.getTable(from).remove(id);
    if (change) this.changes.push(change);
  }
}

/** Copies records, so that neither side can change the other's. */
const copy = <T>(data: T): T => JSON.parse(JSON.stringify(data));

/** A record whose fields are read by name. */
interface StoredRecord extends Entity {
  readonly [field: string]: unknown;
}

/** A stored record and its place in creation order, which it keeps when it is replaced. */
interface StoredRow {
  record: StoredRecord;
  readonly seq: number;
}

/** One write. `before` is undefined for a created record, `after` for a removed one. */
export interface Change {
  readonly table: StoreTable;
  readonly row: StoredRow;
  readonly before: StoredRecord | undefined;
  readonly after: StoredRecord | undefined;
}

export type Tables = ReadonlyMap<string, StoreTable>;
type StoreTable = ReturnType<typeof createTable>;

/** The keys of one index have the same number of values. */
const toKey = (values: readonly unknown[]): unknown =>
  values.length === 1 ? values[0] : JSON.stringify(values);

/** Lists of rows with equal values in the fields `by`, sorted by the fields `order` and then by creation. */
function createIndex(by: readonly string[], order: readonly string[] = []) {
  const lists = new Map<unknown, StoredRow[]>();
  const fields = [...by, ...order];
  const list = (values: Values): readonly StoredRow[] => lists.get(toKey(values)) ?? [];

  /** Returns undefined if the record is not in the index, because one of its fields is null. */
  function getKey(record: StoredRecord): unknown {
    const hasNull = fields.some((field) => (record[field] ?? null) === null);
    return hasNull ? undefined : toKey(by.map((field) => record[field]));
  }

  function isBefore({ record, seq }: StoredRow, other: StoredRow): boolean {
    for (const field of order) {
      const value = record[field] as string | number;
      const otherValue = other.record[field] as string | number;
      if (value !== otherValue) return value < otherValue;
    }
    return seq < other.seq;
  }

  /** Binary search for the position of a row, or the position to insert it at. */
  function findPosition(row: StoredRow, rows: readonly StoredRow[]): number {
    let low = 0;
    let high = rows.length;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (isBefore(rows[middle] ?? row, row)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function insert(row: StoredRow): void {
    const key = getKey(row.record);
    if (key === undefined) return;
    const rows = lists.get(key);
    const last = rows?.at(-1);
    if (rows === undefined) lists.set(key, [row]);
    // Most rows come last: a search reads a dozen others, for 2 of 40 µs of a create.
    else if (last && isBefore(last, row)) rows.push(row);
    else rows.splice(findPosition(row, rows), 0, row);
  }

  function remove(row: StoredRow): void {
    const key = getKey(row.record);
    const rows = lists.get(key);
    if (rows === undefined) return;
    // Events beyond the limit go oldest first; `splice` moves the 10,000 after them, for 8 of 90 µs of a create.
    if (rows[0] === row) rows.shift();
    else rows.splice(findPosition(row, rows), 1);
    if (rows.length === 0) lists.delete(key);
  }

  /** Whether a record that replaces another one has another key or place. */
  const isMoved = (before: StoredRecord, after: StoredRecord): boolean =>
    fields.some((field) => before[field] !== after[field]);

  /** Returns the first record with the same values, which may be the record itself. */
  const findEqual = (record: StoredRecord) => lists.get(getKey(record))?.[0]?.record;
  return { list, insert, remove, isMoved, findEqual };
}

function createTable({ name, indexes, unique }: AnyCollection) {
  const rows = new Map<string, StoredRow>();
  const lists = new Map(
    Object.entries(indexes).map(([index, { by, order }]) => [index, createIndex(by, order)]),
  );
  const uniques = new Map(Object.entries(unique).map(([key, by]) => [key, createIndex(by)]));
  const all = [...lists.values(), ...uniques.values()];
  const list = (index: string, values: Values) => getDeclared(lists, index).list(values);
  let lastSeq = 0;

  function apply(change: Change): Change {
    const { row, before, after } = change;
    const changed = before && after ? all.filter((index) => index.isMoved(before, after)) : all;
    if (before) for (const index of changed) index.remove(row);
    if (after) {
      row.record = after;
      rows.set(after.id, row);
      for (const index of changed) index.insert(row);
    } else rows.delete(row.record.id);
    return change;
  }

  const table = {
    name,
    apply,
    put(record: Entity): Change {
      const after = record as StoredRecord;
      const known = rows.get(record.id);
      const row = known ?? { record: after, seq: ++lastSeq };
      return apply({ table, row, before: known?.record, after });
    },
    remove(id: string): Change | undefined {
      const row = rows.get(id);
      return row && apply({ table, row, before: row.record, after: undefined });
    },
    // The type of a collection determines the type of its records.
    get: <R>(id: string) => rows.get(id)?.record as R | undefined,
    find: <R>(key: string, values: Values) =>
      getDeclared(uniques, key).list(values)[0]?.record as R | undefined,
    page: <R>(index: string, values: Values, { offset, limit }: Range) =>
      list(index, values)
        .slice(offset, offset + limit)
        .map(({ record }) => record as R),
    count: (index: string, values: Values) => list(index, values).length,
    /** Returns all records in creation order. Undoing a removal leaves the map in another order. */
    records: () =>
      [...rows.values()].sort((a, b) => a.seq - b.seq).map(({ record }): Entity => record),
    /** Returns a description if another record holds one of the record's unique keys. */
    findConflict(record: Entity): string | undefined {
      for (const [key, index] of uniques) {
        const holder = index.findEqual(record as StoredRecord);
        if (holder !== undefined && holder.id !== record.id)
          return `a second record with the same ${key} in ${name}`;
      }
      return undefined;
    },
  };
  return table;
}

/** Returns a table, index or unique key by its name. */
export function getDeclared<T>(all: ReadonlyMap<string, T>, name: string): T {
  const found = all.get(name);
  if (found === undefined) throw new Error(`${name} was not declared when the store was opened`);
  return found;
}

export const listRecords = (tables: Tables): StoreData["collections"] =>
  Object.fromEntries(Array.from(tables, ([name, table]) => [name, table.records()]));

/** Undoes changes, the latest first, so that each one finds its table as it left it. */
function undoAll(changes: readonly Change[]): void {
  for (const { table, row, before, after } of changes.toReversed())
    table.apply({ table, row, before: after, after: before });
}

/** Creates tables with unvalidated data. `source` names the data in the error message. */
export function loadTables(
  collections: readonly AnyCollection[],
  data: Readonly<Record<string, unknown>>,
  source: string,
): Tables {
  const tables = new Map(collections.map((each) => [each.name, createTable(each)]));
  for (const [name, records] of Object.entries(data)) {
    const fail = (problem: string): never => {
      throw new StoreOpenError(
        `${source}: ${name}${problem}. Correct the data, or use the version that wrote it.`,
      );
    };
    const table = tables.get(name) ?? fail(" is a collection that this version does not have");
    if (!Array.isArray(records)) return fail(" is not an array of records");
    for (const [n, record] of records.entries()) {
      const problem = findProblem(table, record);
      if (problem !== undefined) fail(`[${n}] is ${problem}`);
      table.put(record);
    }
  }
  return tables;
}

function findProblem(table: StoreTable, record: Entity | null): string | undefined {
  if (typeof record?.id !== "string") return "not a record with an id";
  if (table.get(record.id)) return `a second record with the id "${record.id}"`;
  return table.findConflict(record);
}
