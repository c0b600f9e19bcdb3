// The records of a store in memory, with their indexes. Every operation is synchronous and can be undone.
import {
  type AnyCollection,
  type Entity,
  type Range,
  StoreOpenError,
  type Values,
} from "../domain/store.ts";

/** A record whose fields are read by name. */
interface StoredRecord extends Entity {
  readonly [field: string]: unknown;
}

/** A stored record and its place in creation order, which it keeps when the record is replaced. */
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

/** Lists of rows with equal values in the fields `by`, sorted by the fields `order` and then by creation. */
class Index {
  readonly #fields: readonly string[];
  readonly #lists = new Map<unknown, Row[]>();

  constructor(
    private readonly by: readonly string[],
    private readonly order: readonly string[] = [],
  ) {
    this.#fields = [...by, ...order];
  }

  list(values: Values): readonly Row[] {
    return this.#lists.get(toKey(values)) ?? [];
  }

  /** Returns the row with the record's values, which may be the record's own. */
  findEqual(record: StoredRecord): Row | undefined {
    return this.#lists.get(this.#getKey(record))?.[0];
  }

  insert(row: Row): void {
    const key = this.#getKey(row.record);
    if (key === undefined) return;
    const list = this.#lists.get(key);
    if (list === undefined) this.#lists.set(key, [row]);
    else list.splice(this.#findPosition(row, list), 0, row);
  }

  delete(row: Row): void {
    const key = this.#getKey(row.record);
    const list = this.#lists.get(key);
    if (list === undefined) return;
    list.splice(this.#findPosition(row, list), 1);
    if (list.length === 0) this.#lists.delete(key);
  }

  /** Whether replacing a record changes its place in the index. */
  isMoved(before: StoredRecord, after: StoredRecord): boolean {
    return this.#fields.some((field) => before[field] !== after[field]);
  }

  /** Returns undefined if the record is not in the index, because one of its fields is null. */
  #getKey(record: StoredRecord): unknown {
    const hasNull = this.#fields.some((field) => (record[field] ?? null) === null);
    return hasNull ? undefined : toKey(this.by.map((field) => record[field]));
  }

  /** Binary search for the position of a row, or the position to insert it at. */
  #findPosition(row: Row, list: readonly Row[]): number {
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.#isBefore(list[middle] ?? row, row)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #isBefore(one: Row, other: Row): boolean {
    for (const field of this.order) {
      const value = one.record[field] as string | number;
      const otherValue = other.record[field] as string | number;
      if (value !== otherValue) return value < otherValue;
    }
    return one.seq < other.seq;
  }
}

/** A single value is its own key; several values are joined as JSON, which keeps their types apart. */
const toKey = (values: readonly unknown[]): unknown =>
  values.length === 1 ? values[0] : JSON.stringify(values);

export class Table {
  readonly name: string;
  readonly #indexes = new Map<string, Index>();
  readonly #uniques = new Map<string, Index>();
  readonly #rows = new Map<string, Row>();
  #lastSeq = 0;

  constructor({ name, indexes, unique }: AnyCollection) {
    this.name = name;
    for (const [index, { by, order }] of Object.entries(indexes))
      this.#indexes.set(index, new Index(by, [order ?? []].flat()));
    for (const [key, by] of Object.entries(unique)) this.#uniques.set(key, new Index(by));
  }

  // The type of a collection determines the type of its records.
  get<R>(id: string): R | undefined {
    return this.#rows.get(id)?.record as R | undefined;
  }

  find<R>(unique: string, values: Values): R | undefined {
    return getDeclared(this.#uniques, unique).list(values)[0]?.record as R | undefined;
  }

  page<R>(index: string, values: Values, { offset, limit }: Range): readonly R[] {
    const rows = getDeclared(this.#indexes, index)
      .list(values)
      .slice(offset, offset + limit);
    return rows.map(({ record }) => record as R);
  }

  count(index: string, values: Values): number {
    return getDeclared(this.#indexes, index).list(values).length;
  }

  /** Returns all records in creation order. Undoing a removal leaves the map in another order. */
  records(): StoredRecord[] {
    const rows = [...this.#rows.values()].sort((a, b) => a.seq - b.seq);
    return rows.map(({ record }) => record);
  }

  /** Returns a description if another record holds one of the record's unique keys. */
  findConflict(record: Entity): string | undefined {
    for (const [key, unique] of this.#uniques) {
      const holder = unique.findEqual(record as StoredRecord);
      if (holder !== undefined && holder.record.id !== record.id)
        return `a second record with the same ${key} in ${this.name}`;
    }
    return undefined;
  }

  put(record: Entity): Change {
    const after = record as StoredRecord;
    const existing = this.#rows.get(record.id);
    const row = existing ?? { record: after, seq: ++this.#lastSeq };
    return this.#apply({ table: this, row, before: existing?.record, after });
  }

  /** Returns no change if the record does not exist. */
  remove(id: string): Change[] {
    const row = this.#rows.get(id);
    if (row === undefined) return [];
    return [this.#apply({ table: this, row, before: row.record, after: undefined })];
  }

  undo({ row, before, after }: Change): void {
    this.#apply({ table: this, row, before: after, after: before });
  }

  #apply(change: Change): Change {
    const { row, before, after } = change;
    const indexes = [...this.#indexes.values(), ...this.#uniques.values()].filter(
      (index) => !before || !after || index.isMoved(before, after),
    );
    if (before) for (const index of indexes) index.delete(row);
    if (after) {
      row.record = after;
      this.#rows.set(after.id, row);
      for (const index of indexes) index.insert(row);
    } else this.#rows.delete(row.record.id);
    return change;
  }
}

export type Tables = ReadonlyMap<string, Table>;

export const createTables = (collections: readonly AnyCollection[]): Tables =>
  new Map(collections.map((collection) => [collection.name, new Table(collection)]));

/** Returns a table, index or unique key by its name. */
export function getDeclared<T>(all: ReadonlyMap<string, T>, name: string): T {
  const found = all.get(name);
  if (found === undefined) throw new Error(`${name} was not declared when the store was opened`);
  return found;
}

/** Records by collection name, in creation order. */
export const listRecords = (tables: Tables): Record<string, StoredRecord[]> =>
  Object.fromEntries(Array.from(tables, ([name, table]) => [name, table.records()]));

/** Undoes changes, the latest first, so that each one finds its table as it left it. */
export function undoAll(changes: readonly Change[]): void {
  for (const change of changes.toReversed()) change.table.undo(change);
}

const CORRECT = "Correct the data, or use the version that wrote it.";

/** Creates tables with unvalidated data. `source` names the data in the error message. */
export function loadTables(
  collections: readonly AnyCollection[],
  data: Readonly<Record<string, unknown>>,
  source: string,
): Tables {
  const tables = createTables(collections);
  for (const [name, records] of Object.entries(data)) {
    const fail = (problem: string): never => {
      throw new StoreOpenError(`${source}: ${name}${problem}. ${CORRECT}`);
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
