// One index of a collection: for each key the rows that have it, in order. A unique key is an index whose lists have one
// row at most. It refuses nothing: that a row is in it once, and who may hold a key, is the table's to see to.
import type { Span, Stored, Values } from "../domain/store.ts";

/** A record as the store sees it: a JSON object with fields it may look at by name. */
export interface Fields extends Stored {
  readonly [field: string]: unknown;
}

/** A record and when it was created. The record is exchanged when it is replaced, and its place stays. */
export interface Row {
  record: Fields;
  readonly seq: number;
}

/** Up to this size it costs next to nothing to find a place in a chunk, and to put in and take out there. */
const CHUNK_MAX = 1024;

export class Index {
  readonly #fields: readonly string[];
  /** Many indexes have mostly lists of one (the one deployment of an app): such a list is the row itself. */
  readonly #lists = new Map<unknown, Row | SortedRows>();

  constructor(
    private readonly by: readonly string[],
    private readonly order?: string,
  ) {
    this.#fields = order === undefined ? by : [...by, order];
  }

  /** Undefined where the record is left out. */
  #keyOf(record: Fields): unknown {
    let key: unknown;
    // A loop: a start asks this for every record and index, and `map` takes three times as long.
    for (let at = 0; at < this.#fields.length; at += 1) {
      const value = record[this.#fields[at] ?? ""] ?? null;
      if (value === null) return undefined;
      if (at < this.by.length) key = at === 0 ? value : joined(key, value);
    }
    return key;
  }

  enter(row: Row): void {
    const key = this.#keyOf(row.record);
    if (key === undefined) return;
    const list = this.#lists.get(key);
    if (list instanceof SortedRows) list.insert(row);
    else this.#lists.set(key, list === undefined ? row : new SortedRows(this.order, list, row));
  }

  leave(row: Row): void {
    const key = this.#keyOf(row.record);
    const list = this.#lists.get(key);
    if (list instanceof SortedRows && list.length > 1) list.delete(row);
    else this.#lists.delete(key);
  }

  /** Whether a row whose record is replaced has to leave its list and enter again. */
  isMoved(before: Fields, after: Fields): boolean {
    return this.#fields.some((field) => before[field] !== after[field]);
  }

  /** The one row of a unique key that the record has or would have. */
  holderBeside(record: Fields): Row | undefined {
    const list = this.#lists.get(this.#keyOf(record));
    return list instanceof SortedRows ? undefined : list;
  }

  page(values: Values, { offset, limit }: Span): readonly Fields[] {
    const list = this.#lists.get(keyOf(values));
    if (list instanceof SortedRows) return list.slice(offset, limit).map(({ record }) => record);
    return list !== undefined && offset === 0 && limit > 0 ? [list.record] : [];
  }

  count(values: Values): number {
    const list = this.#lists.get(keyOf(values));
    return list instanceof SortedRows ? list.length : Number(list !== undefined);
  }
}

/** A value alone stands for itself; of several it is told where each ends. JSON takes twice as long. */
const keyOf = (values: readonly unknown[]): unknown => values.reduce(joined);
const joined = (key: unknown, value: unknown): string => `${ended(key)}${ended(value)}`;
const ended = (value: unknown): string => (typeof value === "string" ? `${value.length}:${value}` : `${value};`);

/** Rows by (text of a field, creation), in chunks: to insert, delete and read anywhere costs the same among ten and a million. */
class SortedRows {
  length = 0;
  readonly #chunks: Row[][] = [[]];

  constructor(
    private readonly order: string | undefined,
    ...rows: readonly Row[]
  ) {
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
    // What is too old goes first: to take the first away needs no move of the others.
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
    const before = countBefore(this.#chunks, (chunk) => this.#isBefore(chunk?.at(-1), row));
    const at = Math.min(before, this.#chunks.length - 1);
    const chunk = this.#chunks[at] ?? [];
    return { at, chunk, within: countBefore(chunk, (other) => this.#isBefore(other, row)) };
  }

  #isBefore(one: Row | undefined, other: Row): boolean {
    if (one === undefined) return false;
    if (this.order === undefined) return one.seq < other.seq;
    const text = String(one.record[this.order]);
    const others = String(other.record[this.order]);
    return text === others ? one.seq < other.seq : text < others;
  }
}

/** How many come before, where those that do are the first ones; mostly it is all of them. */
function countBefore<T>(all: readonly T[], isBefore: (one: T | undefined) => boolean): number {
  let high = all.length;
  let low = isBefore(all.at(-1)) ? high : 0;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(all[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}
