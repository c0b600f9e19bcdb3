// One index of a collection: for each key its rows, in order. A unique key is an index with at most one row per key.
// The table checks uniqueness and inserts each row only once.
import type { Entity, Range, Values } from "../domain/store.ts";

/** A record whose fields the store may read by name. */
export interface StoredRecord extends Entity {
  readonly [field: string]: unknown;
}

/** A record and its creation order. Replacing the record keeps the position. */
export interface Row {
  record: StoredRecord;
  readonly seq: number;
}

/** Up to this size, searching, inserting and deleting in a chunk cost next to nothing. */
const CHUNK_MAX = 1024;

/** Rows sorted by (text of the order field, creation). Operations cost the same for 10 rows as for 100,000. */
type Chunks = Row[][];

/** Nested by the value of each field. Joining the values into one text costs ten times as much. */
type Lists = Map<unknown, Lists | Chunks>;

export class Index {
  readonly #fields: readonly string[];
  readonly #order: readonly string[];
  readonly #lists: Lists = new Map();

  constructor(
    private readonly by: readonly string[],
    order: string | readonly string[] = [],
  ) {
    this.#order = [order].flat();
    this.#fields = [...by, ...this.#order];
  }

  /** Returns no values if the record is not indexed, because a field is null. */
  #valuesOf(record: StoredRecord): unknown[] {
    const values: unknown[] = [];
    // A loop because a start calls this for every record and index, and `map` takes three times as long.
    for (const field of this.#fields) {
      const value = record[field] ?? null;
      if (value === null) return [];
      if (values.length < this.by.length) values.push(value);
    }
    return values;
  }

  insert(row: Row): void {
    const values = this.#valuesOf(row.record);
    if (values.length === 0) return;
    const chunks = listOf(this.#lists, values);
    if (chunks === undefined) return void setList(this.#lists, values, [[row]]);
    const at = this.#chunkOf(row, chunks);
    const chunk = chunks[at] ?? [];
    const within = this.#placeOf(row, chunk);
    if (within === chunk.length) chunk.push(row);
    else chunk.splice(within, 0, row);
    if (chunk.length <= CHUNK_MAX) return;
    // After an append the full chunk stays and a new one begins, because lists mostly grow at the end.
    chunks.splice(at + 1, 0, chunk.splice(within === CHUNK_MAX ? within : CHUNK_MAX / 2));
  }

  delete(row: Row): void {
    const values = this.#valuesOf(row.record);
    const chunks = listOf(this.#lists, values);
    if (chunks === undefined) return;
    const at = this.#chunkOf(row, chunks);
    const chunk = chunks[at] ?? [];
    const within = this.#placeOf(row, chunk);
    // Mostly the oldest rows are deleted first, and `shift` is cheap.
    if (within === 0) chunk.shift();
    else chunk.splice(within, 1);
    if (chunk.length === 0) chunks.splice(at, 1);
    if (chunks.length === 0) setList(this.#lists, values, undefined);
  }

  /** Whether replacing the record changes its position in the index. */
  isMoved(before: StoredRecord, after: StoredRecord): boolean {
    return this.#fields.some((field) => before[field] !== after[field]);
  }

  /** Returns the row with the record's unique key, which may be the record's own. */
  findConflict(record: StoredRecord): Row | undefined {
    return listOf(this.#lists, this.#valuesOf(record))?.[0]?.[0];
  }

  /** Returns the record with these values of a unique key. */
  find(values: Values): StoredRecord | undefined {
    return listOf(this.#lists, values)?.[0]?.[0]?.record;
  }

  page(values: Values, { offset, limit }: Range): readonly StoredRecord[] {
    const found: StoredRecord[] = [];
    let skip = offset;
    for (const chunk of listOf(this.#lists, values) ?? []) {
      for (const { record } of chunk.slice(skip, skip + limit - found.length)) found.push(record);
      if (found.length >= limit) break;
      skip = Math.max(0, skip - chunk.length);
    }
    return found;
  }

  count(values: Values): number {
    return (listOf(this.#lists, values) ?? []).reduce((sum, chunk) => sum + chunk.length, 0);
  }

  /** Returns the last chunk that does not begin after the row, or the first. */
  #chunkOf(row: Row, chunks: Chunks): number {
    let at = chunks.length - 1;
    while (at > 0 && this.#isBefore(row, chunks[at]?.[0])) at -= 1;
    return at;
  }

  /** Binary search for the row's position, which is mostly the end. */
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
    for (const field of this.#order) {
      const [text, others] = [String(one.record[field]), String(other.record[field])];
      if (text !== others) return text < others;
    }
    return one.seq < other.seq;
  }
}

function listOf(lists: Lists, values: readonly unknown[]): Chunks | undefined {
  let found: Lists | Chunks | undefined = lists;
  for (const value of values) found = found instanceof Map ? found.get(value) : undefined;
  return Array.isArray(found) ? found : undefined;
}

/** Sets or deletes a list, and deletes maps that become empty. */
function setList(
  lists: Lists,
  [value, ...rest]: readonly unknown[],
  list: Chunks | undefined,
): void {
  let there: Lists | Chunks | undefined = list;
  if (rest.length > 0) {
    const known = lists.get(value);
    there = known instanceof Map ? known : new Map();
    setList(there, rest, list);
    if (there.size === 0) there = undefined;
  }
  if (there) lists.set(value, there);
  else lists.delete(value);
}
