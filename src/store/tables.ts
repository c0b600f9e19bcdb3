// The records of a store in memory, with their indexes. Every operation is synchronous and can be undone.
import {
  type AnyCollection,
  type Entity,
  type Range,
  type StoreData,
  StoreOpenError,
  type Values,
} from "../domain/store.ts";

/** A record whose fields are read by name. */
interface StoredRecord extends Entity {
  readonly [field: string]: unknown;
}

/** A stored record and its place in creation order, which it keeps when it is replaced. */
interface Row {
  record: StoredRecord;
  readonly seq: number;
}

/** One write. `before` is undefined for a created record, `after` for a removed one. */
export interface Change {
  readonly table: Table;
  readonly row: Row;
  readonly before: StoredRecord | undefined;
  readonly after: StoredRecord | undefined;
}

export type Tables = ReadonlyMap<string, Table>;
export type Table = ReturnType<typeof createTable>;

/** The keys of one index have the same number of values. */
const toKey = (values: readonly unknown[]): unknown =>
  values.length === 1 ? values[0] : JSON.stringify(values);

/** Lists of rows with equal values in the fields `by`, sorted by the fields `order` and then by creation. */
function createIndex(by: readonly string[], order: readonly string[] = []) {
  const lists = new Map<unknown, Row[]>();
  const fields = [...by, ...order];
  const list = (values: Values): readonly Row[] => lists.get(toKey(values)) ?? [];

  /** Returns undefined if the record is not in the index, because one of its fields is null. */
  function getKey(record: StoredRecord): unknown {
    const hasNull = fields.some((field) => (record[field] ?? null) === null);
    return hasNull ? undefined : toKey(by.map((field) => record[field]));
  }

  function isBefore({ record, seq }: Row, other: Row): boolean {
    for (const field of order) {
      const value = record[field] as string | number;
      const otherValue = other.record[field] as string | number;
      if (value !== otherValue) return value < otherValue;
    }
    return seq < other.seq;
  }

  /** Binary search for the position of a row, or the position to insert it at. */
  function findPosition(row: Row, rows: readonly Row[]): number {
    let low = 0;
    let high = rows.length;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (isBefore(rows[middle] ?? row, row)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function insert(row: Row): void {
    const key = getKey(row.record);
    if (key === undefined) return;
    const rows = lists.get(key) ?? [];
    rows.splice(findPosition(row, rows), 0, row);
    lists.set(key, rows);
  }

  function remove(row: Row): void {
    const key = getKey(row.record);
    const rows = lists.get(key);
    if (rows === undefined) return;
    const position = findPosition(row, rows);
    // Events beyond the limit go oldest first; `splice` moves the 10,000 after them, for 8 of 90 µs of a create.
    if (position === 0) rows.shift();
    else rows.splice(position, 1);
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
  const rows = new Map<string, Row>();
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
    put(record: Entity): Change {
      const after = record as StoredRecord;
      const row = rows.get(record.id);
      return row
        ? apply({ table, row, before: row.record, after })
        : apply({ table, row: { record: after, seq: ++lastSeq }, before: undefined, after });
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
    undo: ({ row, before, after }: Change) => apply({ table, row, before: after, after: before }),
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
export function undoAll(changes: readonly Change[]): void {
  for (const change of changes.toReversed()) change.table.undo(change);
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

function findProblem(table: Table, record: Entity | null): string | undefined {
  if (typeof record?.id !== "string") return "not a record with an id";
  if (table.get(record.id)) return `a second record with the id "${record.id}"`;
  return table.findConflict(record);
}
