// Changes laid over a state without touching it: the writes of a transaction that runs, or of commits that are not
// durable yet. It answers every question as if they were made. What they do to a list is worked out when that list is
// first asked for, so that a transaction that only writes pays for no list.
import { UniqueViolation } from "../domain/store.ts";
import { compare, EditedPage, type Edits, edit, enter, growth, leave, NONE } from "./list-edits.ts";
import type { Fields, Key, ListRule, TableRule, UniqueRule } from "./rules.ts";
import type { Place, Row } from "./sorted-rows.ts";
import type { Change, Stamp, View } from "./view.ts";

/** So many changes are gone through one by one; a request makes two or three. */
const FEW = 16;

export class Overlay implements View {
  /** The state below. May be exchanged for an equal one: when the commits below have become durable. */
  base: View;
  readonly changes: Change[] = [];
  // Most transactions write a record or two of collections without unique keys, and look at no list that they changed.
  /** The last change of each record, once there are more than a few. */
  #latest: Map<TableRule, Map<string, Change>> | undefined;
  #holders: Map<UniqueRule, Map<Key, Row | null>> | undefined;
  #lists: Map<ListRule, { seen: number; readonly edits: Map<Key, Edits> }> | undefined;
  #seq: number;

  constructor(base: View, firstSeq: number) {
    this.base = base;
    this.#seq = firstSeq;
  }

  get nextSeq(): number {
    return this.#seq;
  }

  row(table: TableRule, id: string): Row | undefined {
    const own = this.#lastOf(table, id);
    if (own === undefined) return this.base.row(table, id);
    return own.after && { record: own.after, seq: own.seq };
  }

  holder(table: TableRule, unique: UniqueRule, key: Key): Row | undefined {
    const own = this.#holders?.get(unique)?.get(key);
    return own === undefined ? this.base.holder(table, unique, key) : (own ?? undefined);
  }

  count(table: TableRule, list: ListRule, key: Key): number {
    const { all } = this.#edits(table, list, key);
    return all.reduce((count, edit) => count + growth(edit), this.base.count(table, list, key));
  }

  slice(table: TableRule, list: ListRule, key: Key, offset: number, limit: number): readonly Fields[] {
    const { all } = this.#edits(table, list, key);
    if (all.length === 0) return this.base.slice(table, list, key, offset, limit);
    const page = new EditedPage(offset, limit, (from, count) => this.base.slice(table, list, key, from, count));
    for (const edit of all) {
      if (page.full) break;
      page.pass(this.base.rank(table, list, key, edit));
      if (edit.record === undefined) page.leaveOut();
      else page.add(edit.record);
    }
    if (!page.full) page.pass(this.base.count(table, list, key));
    return page.records;
  }

  rank(table: TableRule, list: ListRule, key: Key, place: Place): number {
    let rank = this.base.rank(table, list, key, place);
    for (const edit of this.#edits(table, list, key).all) if (compare(edit, place) < 0) rank += growth(edit);
    return rank;
  }

  stamp(table: TableRule, list: ListRule, key: Key): Stamp {
    return this.#edits(table, list, key).stamp || this.base.stamp(table, list, key);
  }

  groups(table: TableRule, list: ListRule): readonly Key[] {
    const edited = [...(this.#effects(table, list)?.keys() ?? [])];
    const keys = new Set([...this.base.groups(table, list), ...edited]);
    for (const key of edited) if (this.count(table, list, key) === 0) keys.delete(key);
    return [...keys];
  }

  put(table: TableRule, record: Fields): void {
    const before = this.row(table, record.id);
    for (const unique of table.uniqueRules) this.#claim(table, unique, record);
    const seq = before?.seq ?? this.#seq++;
    for (const unique of table.uniqueRules) this.#hold(unique, before?.record, { record, seq });
    this.#change({ table, id: record.id, before: before?.record, after: record, seq });
  }

  remove(table: TableRule, id: string): void {
    const before = this.row(table, id);
    if (before === undefined) return;
    for (const unique of table.uniqueRules) this.#hold(unique, before.record, undefined);
    this.#change({ table, id, before: before.record, after: undefined, seq: before.seq });
  }

  /** Makes the changes of another overlay in this one, where new records get their real sequence numbers. */
  replay(changes: readonly Change[]): void {
    for (const { table, id, after } of changes) {
      if (after === undefined) this.remove(table, id);
      else this.put(table, after);
    }
  }

  #claim(table: TableRule, unique: UniqueRule, record: Fields): void {
    const key = unique.keyOf(record);
    const holder = key === undefined ? undefined : this.holder(table, unique, key);
    if (holder !== undefined && holder.record.id !== record.id)
      throw new UniqueViolation(`${table.name}.${unique.name}: ${String(key)} is held by ${holder.record.id}`);
  }

  #hold(unique: UniqueRule, before: Fields | undefined, row: Row | undefined): void {
    this.#holders ??= new Map();
    const own = this.#holders.get(unique) ?? new Map<Key, Row | null>();
    this.#holders.set(unique, own);
    const freed = before && unique.keyOf(before);
    if (freed !== undefined) own.set(freed, null);
    const key = row && unique.keyOf(row.record);
    if (key !== undefined && row !== undefined) own.set(key, row);
  }

  #change(change: Change): void {
    this.changes.push(change);
    if (this.#latest !== undefined) noteLatest(this.#latest, change);
    else if (this.changes.length > FEW) {
      this.#latest = new Map();
      for (const each of this.changes) noteLatest(this.#latest, each);
    }
  }

  #lastOf(table: TableRule, id: string): Change | undefined {
    if (this.#latest !== undefined) return this.#latest.get(table)?.get(id);
    for (let at = this.changes.length - 1; at >= 0; at -= 1) {
      const change = this.changes[at];
      if (change?.id === id && change.table === table) return change;
    }
    return undefined;
  }

  #touches(table: TableRule): boolean {
    return this.#latest?.has(table) ?? this.changes.some((change) => change.table === table);
  }

  #edits(table: TableRule, list: ListRule, key: Key): Edits {
    return this.#effects(table, list)?.get(key) ?? NONE;
  }

  /** What the changes so far do to the lists of one index; undefined where none is of its collection. */
  #effects(table: TableRule, list: ListRule): ReadonlyMap<Key, Edits> | undefined {
    if (!this.#touches(table)) return undefined;
    this.#lists ??= new Map();
    const known = this.#lists.get(list) ?? { seen: 0, edits: new Map<Key, Edits>() };
    this.#lists.set(list, known);
    for (; known.seen < this.changes.length; known.seen += 1) {
      const change = this.changes[known.seen];
      if (change?.table !== table) continue;
      if (change.before !== undefined) edit(known.edits, list, change.before, change.seq, leave);
      if (change.after !== undefined) edit(known.edits, list, change.after, change.seq, enter);
    }
    return known.edits;
  }
}

function noteLatest(latest: Map<TableRule, Map<string, Change>>, change: Change): void {
  const own = latest.get(change.table);
  if (own === undefined) latest.set(change.table, new Map([[change.id, change]]));
  else own.set(change.id, change);
}
