// All records of a store, with the indexes they are found by. Everything here answers and changes at once and can be
// undone, change by change; who may ask and write when is the engine's to say. It keeps no promise about disks.
import type { AnyCollection, Entity } from "../domain/store.ts";
import { unsafeCast } from "../lib/schema.ts";
import type { Chunked } from "../lib/tasks.ts";
import { Index, type Row, type StoredRecord } from "./indexes.ts";

/** One write. `before` is undefined where the record was created, `after` where it was removed. */
export interface Change {
  readonly table: Table;
  readonly row: Row;
  readonly before: StoredRecord | undefined;
  readonly after: StoredRecord | undefined;
}

/** Commits that are written together. One with a higher number ends later, and is lost where one before it is. */
export class Batch {
  readonly commits: (readonly Change[])[] = [];
  /** Why they are not kept. */
  lost: unknown;
  /** Resolves when that is known. */
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
  /** The latest with writes made here, as long as it is not known what comes of it. */
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

  /** In creation order: a row whose removal was undone stands late in the Map. */
  records(): readonly StoredRecord[] {
    const rows = [...this.#rows.values()].sort((a, b) => a.seq - b.seq);
    return rows.map(({ record }) => record);
  }

  /** Answers what forbids it, where another record holds one of its unique keys. */
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

  /** The latest change first: each finds its table as it left it. */
  static undo(changes: readonly Change[]): void {
    for (const { table, row, before, after } of changes.toReversed())
      table.#changed({ table, row, before: after, after: before });
  }

  /** Adds what comes from elsewhere; answers what is wrong with it, if anything is. */
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

/** Records that are taken or copied in one step. */
const STEP = 500;

/** Takes what comes from elsewhere; `refusal` tells what is wrong with a collection, or with its n-th record. */
export function* load(tables: Tables, lists: TableDump, error: Refusal): Chunked<void> {
  for (const [name, records] of lists) {
    const table = tables.get(name);
    if (table === undefined) throw error(`this version knows no collection "${name}"`, name);
    for (let n = 0; n < records.length; n += 1) {
      const fault = table.load(records[n]);
      if (fault !== undefined) throw error(fault, name, n);
      if (n % STEP === STEP - 1) yield;
    }
  }
}

/** The records as JSON has them. */
export function* clone(lists: TableDump): Chunked<[name: string, Entity[]][]> {
  const copies: [string, Entity[]][] = [];
  for (const [name, records] of lists) {
    const copy: Entity[] = [];
    for (const record of records)
      if (copy.push(JSON.parse(JSON.stringify(record))) % STEP === 0) yield;
    copies.push([name, copy]);
  }
  return copies;
}
