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

/** Rows by (text of a field, creation): to insert, delete and read anywhere costs the same among ten and 100,000. */
type Chunks = Row[][];

export class Index {
  readonly #fields: readonly string[];
  readonly #lists = new Map<unknown, Chunks>();

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
    const chunks = this.#lists.get(key);
    if (chunks === undefined) return void this.#lists.set(key, [[row]]);
    const at = this.#chunkOf(row, chunks);
    const chunk = chunks[at] ?? [];
    const within = this.#placeOf(row, chunk);
    if (within === chunk.length) chunk.push(row);
    else chunk.splice(within, 0, row);
    if (chunk.length <= CHUNK_MAX) return;
    // One that was appended to stays full and a new one begins: lists mostly grow at the end.
    chunks.splice(at + 1, 0, chunk.splice(within === CHUNK_MAX ? within : CHUNK_MAX / 2));
  }

  leave(row: Row): void {
    const key = this.#keyOf(row.record);
    const chunks = this.#lists.get(key);
    if (chunks === undefined) return;
    const at = this.#chunkOf(row, chunks);
    const chunk = chunks[at] ?? [];
    const within = this.#placeOf(row, chunk);
    // The oldest go first, mostly: to shift an array costs nothing.
    if (within === 0) chunk.shift();
    else chunk.splice(within, 1);
    if (chunk.length === 0) chunks.splice(at, 1);
    if (chunks.length === 0) this.#lists.delete(key);
  }

  /** Whether a row whose record is replaced has to leave its list and enter again. */
  isMoved(before: Fields, after: Fields): boolean {
    return this.#fields.some((field) => before[field] !== after[field]);
  }

  /** The one row of a unique key that the record has or would have. */
  holderBeside(record: Fields): Row | undefined {
    return this.#lists.get(this.#keyOf(record))?.[0]?.[0];
  }

  /** The one record of a unique key that has these values. */
  holder(values: Values): Fields | undefined {
    return this.#lists.get(keyOf(values))?.[0]?.[0]?.record;
  }

  page(values: Values, { offset, limit }: Span): readonly Fields[] {
    const found: Fields[] = [];
    let skip = offset;
    for (const chunk of this.#lists.get(keyOf(values)) ?? []) {
      for (const { record } of chunk.slice(skip, skip + limit - found.length)) found.push(record);
      if (found.length >= limit) break;
      skip = Math.max(0, skip - chunk.length);
    }
    return found;
  }

  count(values: Values): number {
    return (this.#lists.get(keyOf(values)) ?? []).reduce((sum, chunk) => sum + chunk.length, 0);
  }

  /** The last that does not begin behind it, or the first. */
  #chunkOf(row: Row, chunks: Chunks): number {
    let at = chunks.length - 1;
    while (at > 0 && this.#isBefore(row, chunks[at]?.[0])) at -= 1;
    return at;
  }

  /** Where it stands or belongs; mostly that is the end. */
  #placeOf(row: Row, chunk: readonly Row[]): number {
    let high = chunk.length;
    let low = this.#isBefore(chunk.at(-1), row) ? high : 0;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#isBefore(chunk[middle], row)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #isBefore(one: Row | undefined, other: Row | undefined): boolean {
    if (one === undefined || other === undefined) return false;
    if (this.order === undefined) return one.seq < other.seq;
    const text = String(one.record[this.order]);
    const others = String(other.record[this.order]);
    return text === others ? one.seq < other.seq : text < others;
  }
}

/** A value alone stands for itself; of several it is told where each ends. JSON takes twice as long. */
const keyOf = (values: readonly unknown[]): unknown => values.reduce(joined);
const joined = (key: unknown, value: unknown): string => `${ended(key)}${ended(value)}`;
const ended = (value: unknown): string => (typeof value === "string" ? `${value.length}:${value}` : `${value};`);
