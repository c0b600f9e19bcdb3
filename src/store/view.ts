// The questions that can be put to a state of the data: to the committed one (Tables), to one with changes laid over it
// (Overlay), and to one that remembers what it was asked (ReadSet). They answer at once; only the port is asynchronous.
import type { Fields, Key, ListRule, TableRule, UniqueRule } from "./rules.ts";
import type { Place, Row } from "./sorted-rows.ts";

export interface View {
  row(table: TableRule, id: string): Row | undefined;
  holder(table: TableRule, unique: UniqueRule, key: Key): Row | undefined;
  count(table: TableRule, list: ListRule, key: Key): number;
  slice(table: TableRule, list: ListRule, key: Key, offset: number, limit: number): readonly Fields[];
  /** How many rows of the list stand before the place. */
  rank(table: TableRule, list: ListRule, key: Key, place: Place): number;
  stamp(table: TableRule, list: ListRule, key: Key): Stamp;
  groups(table: TableRule, list: ListRule): readonly Key[];
}

/**
 * What a list is told by: another one after a row has entered, left or moved in it; 0 where it has none. A list that is
 * one row and nothing else is told by the row.
 */
export type Stamp = number | Row;

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
