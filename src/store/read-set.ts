// Remembers what a transaction was told about the committed state, so that it can be asked again: a transaction may
// commit when every one of its questions would now be answered the same. That absent records, counts and pages count
// as answers is what keeps phantoms out. When an answer has changed, the run is given up at its next question, so that
// work never sees two states at once.
import type { Fields, Key, ListRule, Rules, TableRule, UniqueRule } from "./rules.ts";
import type { Place, Row } from "./sorted-rows.ts";
import type { Stamp, View } from "./view.ts";

/** A state and the rules of its collections. */
export interface Source {
  readonly rules: Rules;
  readonly view: View;
}

/** The newest state that transactions build on; `version` grows whenever it may answer differently. */
export interface Head extends Source {
  readonly version: number;
}

/** Ends a run of `work` whose reads no longer hold; the store runs it again. */
export class Outdated extends Error {}

type Question = (view: View) => unknown;

export class ReadSet implements View {
  readonly #head: Head;
  readonly #asked: { readonly question: Question; readonly answer: unknown }[] = [];
  #stamped: Map<ListRule, Set<Key>> | undefined;
  #version: number;
  #outdated = false;

  constructor(head: Head) {
    this.#head = head;
    this.#version = head.version;
  }

  /** Whether every answer given so far still holds. Once one does not, the run is lost, even if it would hold again later. */
  holds(): boolean {
    if (this.#head.version === this.#version) return !this.#outdated;
    this.#version = this.#head.version;
    this.#outdated ||= !this.holdsIn(this.#head.view);
    return !this.#outdated;
  }

  holdsIn(view: View): boolean {
    return this.#asked.every(({ question, answer }) => same(question(view), answer));
  }

  row(table: TableRule, id: string): Row | undefined {
    const row = this.#view().row(table, id);
    this.#asked.push({ question: (view) => view.row(table, id)?.record, answer: row?.record });
    return row;
  }

  holder(table: TableRule, unique: UniqueRule, key: Key): Row | undefined {
    const row = this.#view().holder(table, unique, key);
    this.#asked.push({ question: (view) => view.holder(table, unique, key)?.record, answer: row?.record });
    return row;
  }

  count(table: TableRule, list: ListRule, key: Key): number {
    return this.#ask((view) => view.count(table, list, key));
  }

  slice(table: TableRule, list: ListRule, key: Key, offset: number, limit: number): readonly Fields[] {
    return this.#ask((view) => view.slice(table, list, key, offset, limit));
  }

  /** A rank holds while its list has not changed; asked once a list, since one page may need thousands. */
  rank(table: TableRule, list: ListRule, key: Key, place: Place): number {
    this.#stamped ??= new Map();
    const keys = this.#stamped.get(list) ?? new Set<Key>();
    this.#stamped.set(list, keys);
    if (!keys.has(key)) this.stamp(table, list, key);
    keys.add(key);
    return this.#view().rank(table, list, key, place);
  }

  stamp(table: TableRule, list: ListRule, key: Key): Stamp {
    return this.#ask((view) => view.stamp(table, list, key));
  }

  groups(table: TableRule, list: ListRule): readonly Key[] {
    return this.#ask((view) => view.groups(table, list));
  }

  #ask<T>(question: (view: View) => T): T {
    const answer = question(this.#view());
    this.#asked.push({ question, answer });
    return answer;
  }

  #view(): View {
    if (!this.holds()) throw new Outdated("what the transaction has read has changed since");
    return this.#head.view;
  }
}

/** Records are never changed in place, so the same record means the same content. */
function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!Array.isArray(a) || !Array.isArray(b)) return false;
  return a.length === b.length && a.every((item, at) => item === b[at]);
}
