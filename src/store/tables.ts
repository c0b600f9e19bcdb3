// All records in memory, with the lists and unique keys they are found by: the state that is committed. Everything here
// answers and changes at once; what is not committed yet lies in an Overlay on top. It keeps no promise about disks.
import type { Fields, Key, KeyRule, ListRule, Rules, TableRule } from "./rules.ts";
import { type Place, type Row, SortedRows } from "./sorted-rows.ts";
import { type Change, newStamp, type View } from "./view.ts";

interface Partition {
  readonly rows: SortedRows;
  stamp: number;
}

interface Table {
  /** In creation order: a Map keeps the place of a key that is set again. */
  readonly rows: Map<string, Row>;
  readonly lists: Map<ListRule, Map<Key, Partition>>;
  readonly holders: Map<KeyRule, Map<Key, Row>>;
}

export class Tables implements View {
  readonly #tables: ReadonlyMap<TableRule, Table>;
  #seq = 0;

  constructor(rules: Rules) {
    this.#tables = new Map(Array.from(rules.values(), (rule) => [rule, emptyTable(rule)]));
  }

  /** The sequence number that the next new record gets. */
  get nextSeq(): number {
    return this.#seq;
  }

  row(table: TableRule, id: string): Row | undefined {
    return this.#table(table).rows.get(id);
  }

  holder(table: TableRule, unique: KeyRule, key: Key): Row | undefined {
    return this.#table(table).holders.get(unique)?.get(key);
  }

  count(table: TableRule, list: ListRule, key: Key): number {
    return this.#partition(table, list, key)?.rows.length ?? 0;
  }

  slice(table: TableRule, list: ListRule, key: Key, offset: number, limit: number): readonly Fields[] {
    return this.#partition(table, list, key)?.rows.slice(offset, limit) ?? [];
  }

  rank(table: TableRule, list: ListRule, key: Key, place: Place): number {
    return this.#partition(table, list, key)?.rows.rank(place) ?? 0;
  }

  stamp(table: TableRule, list: ListRule, key: Key): number {
    return this.#partition(table, list, key)?.stamp ?? 0;
  }

  groups(table: TableRule, list: ListRule): readonly Key[] {
    return [...(this.#table(table).lists.get(list)?.keys() ?? [])];
  }

  /** All rows of a collection in creation order. */
  rows(table: TableRule): IterableIterator<Row> {
    return this.#table(table).rows.values();
  }

  /** Makes the changes, in their order. Whoever calls has seen to it that no unique key is held twice. */
  apply(changes: readonly Change[]): void {
    for (const { table, id, after } of changes) {
      if (after === undefined) this.remove(table, id);
      else this.put(table, after);
    }
  }

  put(rule: TableRule, record: Fields): void {
    const table = this.#table(rule);
    const row = table.rows.get(record.id);
    if (row !== undefined) {
      replace(table, row, record);
      return;
    }
    const added = { record, seq: this.#seq++ };
    table.rows.set(record.id, added);
    for (const [list, partitions] of table.lists) enter(list, partitions, added);
    for (const [unique, holders] of table.holders) hold(unique, holders, added);
  }

  /** Adds records of a collection that come from elsewhere, quickly; answers what is wrong with one, if anything is. */
  adder(rule: TableRule): (record: Fields) => string | undefined {
    const { rows, lists, holders } = this.#table(rule);
    const indexes = [...lists];
    let { size } = rows;
    const uniques = [...rule.uniques].map(([name, unique]) => ({
      name,
      unique,
      held: holders.get(unique) ?? new Map(),
    }));
    return (record) => {
      for (const { name, unique, held } of uniques)
        if (held.has(unique.keyOf(record))) return `a second record with the same ${name} in ${rule.name}`;
      const added = { record, seq: this.#seq++ };
      rows.set(record.id, added);
      if (rows.size === size) return `a second record with the id ${JSON.stringify(record.id)} in ${rule.name}`;
      size = rows.size;
      for (const [list, partitions] of indexes) enter(list, partitions, added);
      for (const { unique, held } of uniques) hold(unique, held, added);
      return undefined;
    };
  }

  remove(rule: TableRule, id: string): void {
    const { rows, lists, holders } = this.#table(rule);
    const row = rows.get(id);
    if (row === undefined) return;
    rows.delete(id);
    for (const [list, partitions] of lists) leave(list, partitions, row);
    for (const [unique, held] of holders) free(unique, held, row);
  }

  #table(rule: TableRule): Table {
    const table = this.#tables.get(rule);
    if (table === undefined) throw new Error(`The collection ${rule.name} belongs to another store`);
    return table;
  }

  #partition(table: TableRule, list: ListRule, key: Key): Partition | undefined {
    return this.#table(table).lists.get(list)?.get(key);
  }
}

function emptyTable(rule: TableRule): Table {
  return {
    rows: new Map(),
    lists: new Map([...rule.lists.values()].map((list) => [list, new Map()])),
    holders: new Map([...rule.uniques.values()].map((unique) => [unique, new Map()])),
  };
}

/** The row takes the new record; it leaves only those lists where its key or its order becomes another. */
function replace({ lists, holders }: Table, row: Row, record: Fields): void {
  const before = row.record;
  const stays = (list: ListRule) =>
    list.keyOf(before) === list.keyOf(record) && list.orderOf(before) === list.orderOf(record);
  const moved = [...lists].filter(([list]) => !stays(list));
  for (const [list, partitions] of moved) leave(list, partitions, row);
  for (const [unique, held] of holders) free(unique, held, row);
  row.record = record;
  for (const [list, partitions] of moved) enter(list, partitions, row);
  for (const [unique, held] of holders) hold(unique, held, row);
}

function enter(list: ListRule, partitions: Map<Key, Partition>, row: Row): void {
  const key = list.keyOf(row.record);
  if (key === undefined) return;
  let partition = partitions.get(key);
  if (partition === undefined) {
    partition = { rows: new SortedRows(list.orderOf), stamp: 0 };
    partitions.set(key, partition);
  }
  partition.rows.insert(row);
  partition.stamp = newStamp();
}

function leave(list: ListRule, partitions: Map<Key, Partition>, row: Row): void {
  const key = list.keyOf(row.record);
  const partition = key === undefined ? undefined : partitions.get(key);
  if (key === undefined || partition === undefined) return;
  partition.rows.delete({ order: list.orderOf(row.record), seq: row.seq });
  partition.stamp = newStamp();
  if (partition.rows.length === 0) partitions.delete(key);
}

function hold(unique: KeyRule, holders: Map<Key, Row>, row: Row): void {
  const key = unique.keyOf(row.record);
  if (key !== undefined) holders.set(key, row);
}

function free(unique: KeyRule, holders: Map<Key, Row>, row: Row): void {
  const key = unique.keyOf(row.record);
  if (key !== undefined) holders.delete(key);
}
