// One run of a unit of work: its writes lie in an overlay, its reads are remembered. And the readers of the port, on
// any view: they turn the names of collections, indexes and unique keys into rules.
import type { Collection, Reader, Scalar, Span, Stored, Tx } from "../domain/store.ts";
import { trusted } from "../kit/schema.ts";
import type { Ears } from "./ears.ts";
import { Overlay } from "./overlay.ts";
import { type Head, ReadSet, type Source } from "./read-set.ts";
import type { Fields, KeyRule, Rules, TableRule } from "./rules.ts";
import type { Change } from "./view.ts";

/** Above every real sequence number: what a transaction creates stands behind all that is there. */
const PROVISIONAL_SEQ = 2 ** 52;

/** Answers the port's questions from a view. A collection's type parameter vouches for the type of its records. */
export class Reading implements Reader {
  readonly #source: () => Source;

  constructor(source: () => Source) {
    this.#source = source;
  }

  async get<R extends Stored>(from: Collection<R>, id: string): Promise<R | undefined> {
    const { rules, view } = this.#source();
    return trusted<R | undefined>(view.row(ruleOf(rules, from), id)?.record);
  }

  async find<R extends Stored, I extends string, U extends string>(
    from: Collection<R, I, U>,
    name: U,
    values: readonly Scalar[],
  ): Promise<R | undefined> {
    const { rules, view } = this.#source();
    const table = ruleOf(rules, from);
    const unique = named(table, table.uniques, name);
    const key = unique.keyFor(values);
    return key === undefined ? undefined : trusted<R | undefined>(view.holder(table, unique, key)?.record);
  }

  async page<R extends Stored, I extends string, U extends string>(
    from: Collection<R, I, U>,
    name: I,
    values: readonly Scalar[],
    { offset, limit }: Span,
  ): Promise<readonly R[]> {
    const { rules, view } = this.#source();
    const table = ruleOf(rules, from);
    const list = named(table, table.lists, name);
    const key = list.keyFor(values);
    return key === undefined ? [] : trusted<readonly R[]>(view.slice(table, list, key, offset, limit));
  }

  async count<R extends Stored, I extends string, U extends string>(
    from: Collection<R, I, U>,
    name: I,
    values: readonly Scalar[],
  ): Promise<number> {
    const { rules, view } = this.#source();
    const table = ruleOf(rules, from);
    const list = named(table, table.lists, name);
    const key = list.keyFor(values);
    return key === undefined ? 0 : view.count(table, list, key);
  }
}

const WRITTEN: Promise<void> = Promise.resolve();

export class Transaction extends Reading implements Tx {
  readonly reads: ReadSet;
  readonly writes: Overlay;
  readonly #rules: Rules;
  readonly told = new Map<string, Set<string>>();
  #failure: unknown;

  constructor(head: Head) {
    const reads = new ReadSet(head);
    const writes = new Overlay(reads, PROVISIONAL_SEQ);
    const source = { rules: head.rules, view: writes };
    super(() => source);
    this.#rules = head.rules;
    this.reads = reads;
    this.writes = writes;
  }

  put<R extends Stored>(into: Collection<R>, record: R): Promise<void> {
    // Records are JSON objects (domain/store.ts), so their fields can be looked at by name.
    return this.#write(() => this.writes.put(ruleOf(this.#rules, into), trusted<Fields>(record)));
  }

  remove<R extends Stored>(from: Collection<R>, id: string): Promise<void> {
    return this.#write(() => this.writes.remove(ruleOf(this.#rules, from), id));
  }

  tell(topic: string, subject: string): void {
    this.told.set(topic, (this.told.get(topic) ?? new Set()).add(subject));
  }

  /** Throws the first failure of a write, so that work that swallowed it cannot commit the rest. */
  assertWritten(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  #write(write: () => void): Promise<void> {
    try {
      write();
      return WRITTEN;
    } catch (error) {
      this.#failure ??= error;
      return Promise.reject(error);
    }
  }
}

function ruleOf(rules: Rules, { name }: { readonly name: string }): TableRule {
  const rule = rules.get(name);
  if (rule === undefined) throw new Error(`The collection ${name} was not declared when the store was opened`);
  return rule;
}

function named<T extends KeyRule>(table: TableRule, rules: ReadonlyMap<string, T>, name: string): T {
  const rule = rules.get(name);
  if (rule === undefined) throw new Error(`The collection ${table.name} declares no ${name}`);
  return rule;
}

/**
 * Runs `work` until a run ends on a state that still stands. `end` keeps the writes (none where the run failed) and
 * answers whether what the run read can be relied on; false runs it again. No run is lost to another for ever: each
 * that has to be repeated made way for one that was kept.
 */
export async function runWork<T>(
  ears: Ears,
  work: (tx: Tx) => Promise<T>,
  begin: () => Transaction,
  end: (tx: Transaction, changes: readonly Change[]) => boolean | Promise<boolean>,
): Promise<T> {
  for (;;) {
    const tx = begin();
    let result: { readonly value: T } | { readonly error: unknown };
    try {
      result = { value: await work(tx) };
      tx.assertWritten();
    } catch (error) {
      result = { error };
    }
    if (!tx.reads.holds()) continue;
    if (!(await end(tx, "error" in result ? [] : tx.writes.changes))) continue;
    if ("error" in result) throw result.error;
    ears.tell(tx.told);
    return result.value;
  }
}
