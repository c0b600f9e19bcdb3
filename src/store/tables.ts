// All records of a store and their indexes. Every operation is synchronous and can be rolled back, change by change.
// Concurrency is up to the engine, and durability to the disk stores.
import type { AnyCollection, Entity } from "../domain/store.ts";
import { unsafeCast } from "../lib/schema.ts";
import { Index, type Row, type StoredRecord } from "./indexes.ts";

/** One write. `before` is undefined for a created record, `after` for a removed one. */
export interface Change {
  readonly table: Table;
  readonly row: Row;
  readonly before: StoredRecord | undefined;
  readonly after: StoredRecord | undefined;
}

/** Commits that are written together. A later number ends later, and is lost if an earlier batch is lost. */
export class Batch {
  readonly commits: (readonly Change[])[] = [];
  /** The error, if the batch could not be written. */
  lost: unknown;
  /** Resolves with `lost` once the batch is written or has failed. */
  readonly ended: Promise<unknown>;

  constructor(
    readonly number: number,
    write: (batch: Batch) => Promise<void>,
  ) {
    this.ended = write(this).then(() => this.lost);
  }

  end(lost: unknown): void {
    const changes = this.commits.flat();
    if (lost !== undefined) Table.undo(changes);
    for (const { table } of changes) if (table.batch === this) table.batch = undefined;
    this.lost = lost;
  }
}

/** The records of each collection in creation order. */
export type TableDump = readonly (readonly [name: string, records: readonly unknown[]])[];

export class Table {
  readonly name: string;
  /** The latest batch with writes to this table, until it is durable or lost. */
  batch: Batch | undefined;
  readonly indexes: ReadonlyMap<string, Index>;
  readonly uniques: ReadonlyMap<string, Index>;
  readonly #rows = new Map<string, Row>();
  readonly #all: readonly Index[];
  #seq = 0;

  constructor({ name, indexes, unique }: AnyCollection) {
    this.name = name;
    this.indexes = new Map(
      Object.entries(indexes).map(([key, { by, order }]) => [key, new Index(by, order)]),
    );
    this.uniques = new Map(Object.entries(unique).map(([key, by]) => [key, new Index(by)]));
    this.#all = [...this.indexes.values(), ...this.uniques.values()];
  }

  get(id: string): StoredRecord | undefined {
    return this.#rows.get(id)?.record;
  }

  /** In creation order. Sorted, because a row whose removal was rolled back is late in the Map. */
  records(): readonly StoredRecord[] {
    const rows = [...this.#rows.values()].sort((a, b) => a.seq - b.seq);
    return rows.map(({ record }) => record);
  }

  /** Returns a message if another record holds one of its unique keys. */
  put(record: StoredRecord): Change | string {
    const known = this.#rows.get(record.id);
    for (const [name, unique] of this.uniques) {
      const holder = unique.findConflict(record);
      if (holder !== undefined && holder !== known)
        return `a second record with the same ${name} in ${this.name}`;
    }
    const row = known ?? { record, seq: ++this.#seq };
    return this.#changed({ table: this, row, before: known?.record, after: record });
  }

  remove(id: string): Change | undefined {
    const row = this.#rows.get(id);
    return row && this.#changed({ table: this, row, before: row.record, after: undefined });
  }

  /** Rolls back, latest change first, so that each finds its table as it left it. */
  static undo(changes: readonly Change[]): void {
    for (const { table, row, before, after } of changes.toReversed())
      table.#changed({ table, row, before: after, after: before });
  }

  /** Adds an unvalidated record; returns a message if it is invalid. */
  load(given: unknown): string | undefined {
    if (typeof Object(given).id !== "string") return "not a record with an id";
    const change = this.put(unsafeCast<StoredRecord>(given));
    if (typeof change === "string") return change;
    return change.before && `a second record with the id "${change.before.id}" in ${this.name}`;
  }

  #changed(change: Change): Change {
    const { row, before, after } = change;
    const moved =
      before && after ? this.#all.filter((index) => index.isMoved(before, after)) : this.#all;
    if (before) for (const index of moved) index.delete(row);
    if (after) {
      row.record = after;
      this.#rows.set(after.id, row);
      for (const index of moved) index.insert(row);
    } else this.#rows.delete(row.record.id);
    return change;
  }
}

export type Tables = Map<string, Table>;

export const createTables = (collections: readonly AnyCollection[]): Tables =>
  new Map(collections.map((collection) => [collection.name, new Table(collection)]));

export function lookup<T>(all: ReadonlyMap<string, T>, name: string): T {
  const one = all.get(name);
  if (one === undefined) throw new Error(`${name} was not declared when the store was opened`);
  return one;
}

export const dump = (tables: Tables): TableDump =>
  Array.from(tables, ([name, table]) => [name, table.records()]);

type Refusal = (fault: string, name: string, n?: number) => Error;

/** Loads unvalidated data; `error` creates the error for a collection, or for its n-th record. */
export function load(tables: Tables, lists: TableDump, error: Refusal): void {
  for (const [name, records] of lists) {
    const table = tables.get(name);
    if (table === undefined) throw error(`this version knows no collection "${name}"`, name);
    for (let n = 0; n < records.length; n += 1) {
      const fault = table.load(records[n]);
      if (fault !== undefined) throw error(fault, name, n);
    }
  }
}

/** Returns copies of the records, made through JSON. */
export const clone = (lists: TableDump): [name: string, Entity[]][] =>
  lists.map(([name, records]) => [name, JSON.parse(JSON.stringify(records))]);
