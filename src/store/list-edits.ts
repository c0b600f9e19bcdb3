// What changes do to one list of the state below them, and a page of that list with the changes made. Nothing is known
// here of transactions, nor of where the rows below lie.
import type { Fields, Key, ListRule } from "./rules.ts";
import type { Place } from "./sorted-rows.ts";
import { newStamp } from "./view.ts";

/** A row that came into a list (`record`) or went out of it (none). */
export interface Edit extends Place {
  readonly record: Fields | undefined;
}

/** What the changes do to one list: its edits in list order, a row that went before one that came to its place. */
export interface Edits {
  readonly all: Edit[];
  stamp: number;
}

export const NONE: Edits = { all: [], stamp: 0 };

/** Gathers a page while the base and the edits are gone through in list order. */
export class EditedPage {
  readonly records: Fields[] = [];
  readonly #limit: number;
  readonly #read: (from: number, count: number) => readonly Fields[];
  #skip: number;
  #from = 0;

  constructor(offset: number, limit: number, read: (from: number, count: number) => readonly Fields[]) {
    this.#skip = offset;
    this.#limit = limit;
    this.#read = read;
  }

  get full(): boolean {
    return this.records.length >= this.#limit;
  }

  /** Goes through the rows of the base up to the one at `to`. */
  pass(to: number): void {
    // A row that took the place of one left out ranks before it: there is nothing to go back for.
    if (to <= this.#from) return;
    const skipped = Math.min(this.#skip, to - this.#from);
    const wanted = Math.min(to - this.#from - skipped, this.#limit - this.records.length);
    if (wanted > 0) this.records.push(...this.#read(this.#from + skipped, wanted));
    this.#skip -= skipped;
    this.#from = to;
  }

  leaveOut(): void {
    this.#from += 1;
  }

  add(record: Fields): void {
    if (this.#skip > 0) this.#skip -= 1;
    else if (!this.full) this.records.push(record);
  }
}

export const growth = (edit: Edit): number => (edit.record === undefined ? -1 : 1);

/** List order. */
export function compare(a: Place, b: Place): number {
  if (a.order !== b.order) return a.order < b.order ? -1 : 1;
  return a.seq - b.seq;
}

type Edited = (all: Edit[], place: Place, record: Fields) => void;

export function edit(lists: Map<Key, Edits>, list: ListRule, record: Fields, seq: number, how: Edited): void {
  const key = list.keyOf(record);
  if (key === undefined) return;
  const edits = lists.get(key) ?? { all: [], stamp: 0 };
  lists.set(key, edits);
  how(edits.all, { order: list.orderOf(record), seq }, record);
  edits.stamp = newStamp();
}

export const enter: Edited = (all, place, record) => {
  all.splice(behind(all, place), 0, { ...place, record });
};

export const leave: Edited = (all, place) => {
  const at = behind(all, place);
  const last = all[at - 1];
  // What came by an earlier change only has to be taken out again; anything else is a row of the base.
  if (last?.record !== undefined && compare(last, place) === 0) all.splice(at - 1, 1);
  else all.splice(at, 0, { ...place, record: undefined });
};

/** The position behind every edit that stands at or before the place. */
function behind(edits: readonly Edit[], place: Place): number {
  let low = 0;
  let high = edits.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const edit = edits[middle];
    if (edit !== undefined && compare(edit, place) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
