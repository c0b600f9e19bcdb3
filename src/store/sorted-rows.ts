// One list of an index: rows in the order (order text, creation sequence), in chunks, so that adding, deleting and
// reading at any offset cost about the same in a list of ten as in one of a million. It refuses nothing: that a row is
// there once is the table's to see to.
import type { Fields } from "./rules.ts";
import { newStamp } from "./view.ts";

/** A record and when it was created. The record is exchanged when it is replaced and its place stays. */
export interface Row {
  record: Fields;
  readonly seq: number;
}

/** Where a row stands in a list. */
export interface Place {
  readonly order: string;
  readonly seq: number;
}

const CHUNK_MAX = 1024;

export class SortedRows {
  readonly #orderOf: (record: Fields) => string;
  readonly #chunks: Row[][] = [];
  #length = 0;
  #stamp = 0;

  constructor(orderOf: (record: Fields) => string) {
    this.#orderOf = orderOf;
  }

  get length(): number {
    return this.#length;
  }

  /** Another one after each insertion and deletion. */
  get stamp(): number {
    return this.#stamp;
  }

  insert(row: Row): void {
    this.#length += 1;
    this.#stamp = newStamp();
    const place = { order: this.#orderOf(row.record), seq: row.seq };
    const last = this.#chunks[this.#chunks.length - 1];
    // Nearly always a row comes last; loading a million goes this way, without `at`.
    if (last !== undefined && last.length < CHUNK_MAX && this.#before(last[last.length - 1], place)) {
      last.push(row);
      return;
    }
    const at = Math.min(this.#chunkOf(place), this.#chunks.length - 1);
    const chunk = this.#chunks[at];
    if (chunk === undefined) this.#chunks.push([row]);
    else if (chunk.length < CHUNK_MAX) chunk.splice(this.#within(chunk, place), 0, row);
    else this.#split(at, chunk, place, row);
  }

  delete(place: Place): void {
    // Mostly the oldest goes (domain/retention): looking for it would touch some twenty rows that nobody has used lately.
    const isFirst = this.#chunks[0]?.[0]?.seq === place.seq;
    const at = isFirst ? 0 : this.#chunkOf(place);
    const chunk = this.#chunks[at];
    if (chunk === undefined) return;
    const within = isFirst ? 0 : this.#within(chunk, place);
    // V8 need not move the others for `shift`.
    if (within === 0) chunk.shift();
    else chunk.splice(within, 1);
    if (chunk.length === 0) this.#chunks.splice(at, 1);
    this.#length -= 1;
    this.#stamp = newStamp();
  }

  /** How many rows stand before the place. */
  rank(place: Place): number {
    const at = this.#chunkOf(place);
    const chunk = this.#chunks[at];
    if (chunk === undefined) return this.#length;
    let before = this.#within(chunk, place);
    for (let i = 0; i < at; i += 1) before += this.#chunks[i]?.length ?? 0;
    return before;
  }

  slice(offset: number, limit: number): Fields[] {
    const found: Fields[] = [];
    let skip = offset;
    let at = 0;
    if (skip >= this.#length) return found;
    for (let size = this.#size(at); skip >= size; size = this.#size(at)) {
      skip -= size;
      at += 1;
    }
    for (let chunk = this.#chunks[at]; chunk !== undefined && found.length < limit; chunk = this.#chunks[at]) {
      for (const row of chunk.slice(skip, skip + limit - found.length)) found.push(row.record);
      skip = 0;
      at += 1;
    }
    return found;
  }

  #size(at: number): number {
    return this.#chunks[at]?.length ?? Number.POSITIVE_INFINITY;
  }

  /** A full chunk that is appended to stays full and a new one begins: lists mostly grow at the end. */
  #split(at: number, chunk: Row[], place: Place, row: Row): void {
    const within = this.#within(chunk, place);
    if (within === chunk.length) {
      this.#chunks.splice(at + 1, 0, [row]);
      return;
    }
    const upper = chunk.splice(CHUNK_MAX / 2);
    this.#chunks.splice(at + 1, 0, upper);
    const home = within <= chunk.length ? chunk : upper;
    home.splice(this.#within(home, place), 0, row);
  }

  /** The first chunk whose last row is not before the place; the number of chunks when all are. */
  #chunkOf(place: Place): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#before(this.#chunks[middle]?.at(-1), place)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #within(chunk: readonly Row[], place: Place): number {
    let low = 0;
    let high = chunk.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#before(chunk[middle], place)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #before(row: Row | undefined, place: Place): boolean {
    if (row === undefined) return false;
    const order = this.#orderOf(row.record);
    return order === place.order ? row.seq < place.seq : order < place.order;
  }
}
