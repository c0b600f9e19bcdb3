// The questions that can be put to a state of the data: to the committed one (Tables), to one with changes laid over it
// (Overlay), and to one that remembers what it was asked (ReadSet). They answer at once; only the port is asynchronous.
import type { Fields, Key, KeyRule, ListRule, TableRule } from "./rules.ts";
import type { Place, Row } from "./sorted-rows.ts";

export interface View {
  row(table: TableRule, id: string): Row | undefined;
  holder(table: TableRule, unique: KeyRule, key: Key): Row | undefined;
  count(table: TableRule, list: ListRule, key: Key): number;
  slice(table: TableRule, list: ListRule, key: Key, offset: number, limit: number): readonly Fields[];
  /** How many rows of the list stand before the place. */
  rank(table: TableRule, list: ListRule, key: Key, place: Place): number;
  /** Differs after a row has entered, left or moved in the list; 0 while the list has never had a row or is empty. */
  stamp(table: TableRule, list: ListRule, key: Key): number;
  groups(table: TableRule, list: ListRule): readonly Key[];
}

/** One write. `after` is undefined where the record was removed. */
export interface Change {
  readonly table: TableRule;
  readonly id: string;
  readonly before: Fields | undefined;
  readonly after: Fields | undefined;
  /** Where the record stands in creation order. */
  readonly seq: number;
}

let stamps = 0;
/** Never the same twice in a process, so that two different states of a list cannot carry the same one. */
export function newStamp(): number {
  stamps += 1;
  return stamps;
}
