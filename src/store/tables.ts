// All records in memory, with the lists and unique keys they are found by: the state that is committed. Everything here
// answers and changes at once; what is not committed yet lies in an Overlay on top. It keeps no promise about disks.
import { Frozen } from "./frozen.ts";
import { ListIndex } from "./list-index.ts";
import type { Fields, Key, ListRule, Rules, TableRule, UniqueRule } from "./rules.ts";
import type { Place, Row } from "./sorted-rows.ts";
import type { Change, Stamp, View } from "./view.ts";

interface Table {
  readonly rule: TableRule;
  /** In creation order: a Map keeps the place of a key that is set again. */
  readonly rows: Map<string, Row>;
  readonly lists: readonly ListIndex[];
  readonly holders: readonly Holders[];
}

/** Who holds each key of a unique rule. */
interface Holders {
  readonly rule: UniqueRule;
  readonly held: Map<Key, Row>;
}

export class Tables implements View {
  readonly #tables: readonly Table[];
  #frozen: Frozen | undefined;
  #seq = 0;

  constructor(rules: Rules) {
    this.#tables = Array.from(rules.values(), emptyTable);
  }

  /** The sequence number that the next new record gets. */
  get nextSeq(): number {
    return this.#seq;
  }

  row(table: TableRule, id: string): Row | undefined {
    return this.#table(table).rows.get(id);
  }

  holder(table: TableRule, unique: UniqueRule, key: Key): Row | undefined {
    return this.#table(table).holders[unique.at]?.held.get(key);
  }

  count(table: TableRule, list: ListRule, key: Key): number {
    return this.#list(table, list)?.count(key) ?? 0;
  }

  slice(table: TableRule, list: ListRule, key: Key, offset: number, limit: number): readonly Fields[] {
    return this.#list(table, list)?.slice(key, offset, limit) ?? [];
  }

  rank(table: TableRule, list: ListRule, key: Key, place: Place): number {
    return this.#list(table, list)?.rank(key, place) ?? 0;
  }

  stamp(table: TableRule, list: ListRule, key: Key): Stamp {
    return this.#list(table, list)?.stamp(key) ?? 0;
  }

  groups(table: TableRule, list: ListRule): readonly Key[] {
    return this.#list(table, list)?.keys() ?? [];
  }

  /** All rows of a collection in creation order. */
  rows(table: TableRule): IterableIterator<Row> {
    return this.#table(table).rows.values();
  }

  /** All records as they are now, to be read while changes go on, until `thaw`. */
  freeze(): Frozen {
    this.#frozen = new Frozen(this.#tables.map(({ rule, rows }) => [rule.name, rows.values()]));
    return this.#frozen;
  }

  thaw(): void {
    this.#frozen = undefined;
  }

  /** Makes the changes, in their order. Whoever calls has seen to it that no unique key is held twice. */
  apply(changes: readonly Change[]): void {
    for (const { table, id, before, after } of changes) {
      if (after === undefined) this.remove(table, id);
      else if (before === undefined) this.#add(this.#table(table), after);
      else this.put(table, after);
    }
  }

  put(rule: TableRule, record: Fields): void {
    const table = this.#table(rule);
    const row = table.rows.get(record.id);
    if (row === undefined) this.#add(table, record);
    else {
      this.#frozen?.keep(row);
      replace(table, row, record);
    }
  }

  /** Adds records of a collection that come from elsewhere, quickly; answers what is wrong with one, if anything is. */
  adder(rule: TableRule): (record: Fields) => string | undefined {
    const table = this.#table(rule);
    const { rows, holders } = table;
    let { size } = rows;
    return (record) => {
      for (const { rule: unique, held } of holders) {
        const key = unique.keyOf(record);
        if (key !== undefined && held.has(key)) return `a second record with the same ${unique.name} in ${rule.name}`;
      }
      this.#add(table, record);
      if (rows.size === size) return `a second record with the id ${JSON.stringify(record.id)} in ${rule.name}`;
      size = rows.size;
      return undefined;
    };
  }

  remove(rule: TableRule, id: string): void {
    const { rows, lists, holders } = this.#table(rule);
    const row = rows.get(id);
    if (row === undefined) return;
    rows.delete(id);
    for (const list of lists) list.leave(row);
    for (const unique of holders) free(unique, row);
  }

  #add({ rows, lists, holders }: Table, record: Fields): void {
    const added = { record, seq: this.#seq++ };
    rows.set(record.id, added);
    for (const list of lists) list.enter(added);
    for (const unique of holders) hold(unique, added);
  }

  #table(rule: TableRule): Table {
    const table = this.#tables[rule.at];
    if (table?.rule !== rule) throw new Error(`The collection ${rule.name} belongs to another store`);
    return table;
  }

  #list(table: TableRule, list: ListRule): ListIndex | undefined {
    return this.#table(table).lists[list.at];
  }
}

const emptyTable = (rule: TableRule): Table => ({
  rule,
  rows: new Map(),
  lists: rule.listRules.map((list) => new ListIndex(list)),
  holders: rule.uniqueRules.map((unique) => ({ rule: unique, held: new Map() })),
});

/** The row takes the new record; it leaves only those lists where its key or its order becomes another. */
function replace({ lists, holders }: Table, row: Row, record: Fields): void {
  const before = row.record;
  const moved = lists.filter(
    ({ rule }) => rule.keyOf(before) !== rule.keyOf(record) || rule.orderOf(before) !== rule.orderOf(record),
  );
  for (const list of moved) list.leave(row);
  for (const unique of holders) free(unique, row);
  row.record = record;
  for (const list of moved) list.enter(row);
  for (const unique of holders) hold(unique, row);
}

function hold({ rule, held }: Holders, row: Row): void {
  const key = rule.keyOf(row.record);
  if (key !== undefined) held.set(key, row);
}

function free({ rule, held }: Holders, row: Row): void {
  const key = rule.keyOf(row.record);
  if (key !== undefined) held.delete(key);
}
