// One index of a collection: for each key the rows that have it, in order. A unique key is an index whose lists have one
// row at most. It refuses nothing: that a row is in it once, and who may hold a key, is the table's to see to.
import type { Scalar, Stored } from "../domain/store.ts";

/** A record as the store sees it: a JSON object with fields it may look at by name. */
export interface Fields extends Stored {
  readonly [field: string]: unknown;
}

/** A record and when it was created. The record is exchanged when it is replaced, and its place stays. */
export interface Row {
  record: Fields;
  readonly seq: number;
}

/** Many indexes have mostly lists of one (the one deployment of an app): such a list is the row itself. */
type List = Row | SortedRows;

/** The lists of rows that share their first values: a step for each value of the key. */
type Branch = Map<unknown, Branch | List>;

/** Up to this size it costs next to nothing to find a place in a chunk, and to put in and take out there. */
const CHUNK_MAX = 1024;

export class Index {
  readonly #by: readonly string[];
  readonly #order: string | undefined;
  readonly #fields: readonly string[];
  readonly #root: Branch = new Map();
  /** The text that a list is ordered by before creation; the same for all where no field is named. */
  readonly #orderOf = ({ record }: Row): string => (this.#order === undefined ? "" : String(record[this.#order]));

  constructor(by: readonly string[], order?: string) {
    this.#by = by;
    this.#order = order;
    this.#fields = order === undefined ? by : [...by, order];
  }

  /** Undefined where the record is left out. */
  #keyOf(record: Fields): readonly unknown[] | undefined {
    const key: unknown[] = [];
    // A loop: a start asks this for every record and index, and `map` takes three times as long.
    for (const field of this.#fields) {
      const value = record[field] ?? null;
      if (value === null) return undefined;
      if (key.length < this.#by.length) key.push(value);
    }
    return key;
  }

  enter(row: Row): void {
    const key = this.#keyOf(row.record);
    if (key === undefined) return;
    const list = this.#at(key);
    if (list instanceof SortedRows) list.insert(row);
    else this.#set(key, list === undefined ? row : new SortedRows(this.#orderOf, list, row));
  }

  leave(row: Row): void {
    const key = this.#keyOf(row.record) ?? [];
    const list = this.#at(key);
    if (list instanceof SortedRows && list.length > 1) list.delete(row);
    else this.#set(key, undefined);
  }

  /** Whether a row whose record is replaced has to leave its list and enter again. */
  isMoved(before: Fields, after: Fields): boolean {
    return this.#fields.some((field) => before[field] !== after[field]);
  }

  /** The first row of the list where the record is or would be. */
  firstBeside(record: Fields): Row | undefined {
    const list = this.#at(this.#keyOf(record) ?? []);
    return list instanceof SortedRows ? list.slice(0, 1)[0] : list;
  }

  page(values: readonly Scalar[], offset: number, limit: number): readonly Fields[] {
    const list = this.#at(values);
    if (list instanceof SortedRows) return list.slice(offset, limit).map(({ record }) => record);
    return list !== undefined && offset === 0 && limit > 0 ? [list.record] : [];
  }

  count(values: readonly Scalar[]): number {
    const list = this.#at(values);
    return list instanceof SortedRows ? list.length : Number(list !== undefined);
  }

  #at(key: readonly unknown[]): List | undefined {
    let there: Branch | List | undefined = this.#root;
    for (const value of key) if (there instanceof Map) there = there.get(value);
    return there instanceof Map ? undefined : there;
  }

  /** Without a list the place goes, and with it the branches that lead to nothing more. */
  #set([value, ...rest]: readonly unknown[], list: List | undefined, from = this.#root): void {
    const next = rest.length > 0 ? (from.get(value) ?? new Map()) : list;
    if (next instanceof Map) this.#set(rest, list, next);
    if (next === undefined || (next instanceof Map && next.size === 0)) from.delete(value);
    else from.set(value, next);
  }
}

/** Rows by (order text, creation), in chunks: to insert, delete and read anywhere costs the same among ten and a million. */
class SortedRows {
  length = 0;
  readonly #orderOf: (row: Row) => string;
  readonly #chunks: Row[][] = [[]];

  constructor(orderOf: (row: Row) => string, ...rows: readonly Row[]) {
    this.#orderOf = orderOf;
    for (const row of rows) this.insert(row);
  }

  insert(row: Row): void {
    const { at, chunk, within } = this.#placeOf(row);
    if (within === chunk.length) chunk.push(row);
    else chunk.splice(within, 0, row);
    this.length += 1;
    if (chunk.length <= CHUNK_MAX) return;
    // One that was appended to stays full and a new one begins: lists mostly grow at the end.
    const rest = chunk.splice(within === CHUNK_MAX ? within : CHUNK_MAX / 2);
    this.#chunks.splice(at + 1, 0, rest);
  }

  delete(row: Row): void {
    const { at, chunk, within } = this.#placeOf(row);
    // Mostly the oldest goes, and then V8 need not move the others.
    if (within === 0) chunk.shift();
    else chunk.splice(within, 1);
    this.length -= 1;
    if (chunk.length === 0) this.#chunks.splice(at, 1);
  }

  slice(offset: number, limit: number): readonly Row[] {
    const found: Row[] = [];
    let skip = offset;
    for (const chunk of this.#chunks) {
      if (found.length >= limit) break;
      if (skip < chunk.length) found.push(...chunk.slice(skip, skip + limit - found.length));
      skip = Math.max(0, skip - chunk.length);
    }
    return found;
  }

  #placeOf(row: Row): { readonly at: number; readonly chunk: Row[]; readonly within: number } {
    const last = this.#chunks.length - 1;
    const isLast = this.#isBefore(this.#chunks[last]?.at(-1), row);
    const at = isLast ? last : firstOf(last, (n) => !this.#isBefore(this.#chunks[n]?.at(-1), row));
    const chunk = this.#chunks[at] ?? [];
    return { at, chunk, within: isLast ? chunk.length : firstOf(chunk.length, (n) => !this.#isBefore(chunk[n], row)) };
  }

  #isBefore(one: Row | undefined, other: Row): boolean {
    if (one === undefined) return false;
    const order = this.#orderOf(one);
    const others = this.#orderOf(other);
    return order === others ? one.seq < other.seq : order < others;
  }
}

/** The first number below `length` that fits, where all after it fit, too; `length` where none does. */
function firstOf(length: number, fits: (n: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (fits(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
