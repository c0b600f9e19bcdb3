// One index of a collection: for each key the rows that have it, in list order. Some indexes have many lists of one row
// (the one delivery of an event, the one deployment of an app); such a list is the row itself.
import type { Key, ListRule } from "./rules.ts";
import { type Place, type Row, SortedRows } from "./sorted-rows.ts";
import type { Stamp } from "./view.ts";

/** A row alone stands for its list only where nothing but creation orders it: then it cannot move. */
type List = SortedRows | Row;

export class ListIndex {
  readonly rule: ListRule;
  readonly #lists = new Map<Key, List>();

  constructor(rule: ListRule) {
    this.rule = rule;
  }

  enter(row: Row): void {
    const { rule } = this;
    const key = rule.keyOf(row.record);
    if (key === undefined) return;
    const list = this.#lists.get(key);
    if (list instanceof SortedRows) list.insert(row);
    else if (list === undefined && !rule.ordered) this.#lists.set(key, row);
    else this.#lists.set(key, sorted(rule, list, row));
  }

  leave(row: Row): void {
    const { rule } = this;
    const key = rule.keyOf(row.record);
    const list = key === undefined ? undefined : this.#lists.get(key);
    if (key === undefined || list === undefined) return;
    if (list instanceof SortedRows) list.delete({ order: rule.orderOf(row.record), seq: row.seq });
    if (!(list instanceof SortedRows) || list.length === 0) this.#lists.delete(key);
  }

  count(key: Key): number {
    const list = this.#lists.get(key);
    if (list instanceof SortedRows) return list.length;
    return list === undefined ? 0 : 1;
  }

  slice(key: Key, offset: number, limit: number): Row["record"][] {
    const list = this.#lists.get(key);
    if (list instanceof SortedRows) return list.slice(offset, limit);
    return list !== undefined && offset === 0 && limit > 0 ? [list.record] : [];
  }

  rank(key: Key, place: Place): number {
    const list = this.#lists.get(key);
    if (list instanceof SortedRows) return list.rank(place);
    return list !== undefined && list.seq < place.seq ? 1 : 0;
  }

  stamp(key: Key): Stamp {
    const list = this.#lists.get(key);
    return list instanceof SortedRows ? list.stamp : (list ?? 0);
  }

  keys(): readonly Key[] {
    return [...this.#lists.keys()];
  }
}

function sorted(rule: ListRule, first: Row | undefined, row: Row): SortedRows {
  const rows = new SortedRows(rule.orderOf);
  if (first !== undefined) rows.insert(first);
  rows.insert(row);
  return rows;
}
