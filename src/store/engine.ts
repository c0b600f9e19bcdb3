// The store of one process, be it in memory only or on a disk as well: one state, changed in place by units of work that
// run strictly one after the other. What a unit has written is undone where it fails. Nobody outside sees what is not
// durable yet: a read that would takes its turn among the units of work, and its answer is held back.
import { setImmediate as nextTurn } from "node:timers/promises";
import type * as port from "../domain/store.ts";
import { StoreRefusal, UniqueViolation } from "../domain/store.ts";
import { trusted } from "../kit/schema.ts";
import type { Commit } from "./commits.ts";
import type { Fields } from "./indexes.ts";
import { type Change, type Lists, load, recordsIn, type Table, type Tables, tablesOf, undo } from "./tables.ts";
import { type Outcome, Turns } from "./turns.ts";

/** So many records are copied before others have their turn. */
const SLICE = 1000;

/** What makes commits last. */
export interface Keeper {
  /** Takes a commit that stands in the tables already; undoes it if it cannot be kept. */
  add(changes: readonly Change[]): Commit;
  /** Puts these records in the place of everything. */
  replace(records: Lists): Promise<void>;
  close(): Promise<void>;
}

/**
 * Fills the tables with what there is; where nothing lasts there is no keeper. Before changes are undone or written down
 * it calls `giveUp`, which ends what was begun on top of them.
 */
type Load = (tables: Tables, giveUp: () => void) => Promise<Keeper | undefined>;

interface Opened {
  readonly collections: readonly port.AnyCollection[];
  readonly tables: Tables;
  readonly keeper: Keeper | undefined;
}

interface Named {
  readonly name: string;
}

type Values = readonly port.Scalar[];

function named<T>(all: ReadonlyMap<string, T>, name: string): T {
  const one = all.get(name);
  if (one === undefined) throw new Error(`${name} was not declared when the store was opened`);
  return one;
}

/** Puts the port's questions to a table. A collection's type vouches for that of its records. */
abstract class Reading implements port.Reader {
  abstract ask<T>(from: Named, question: (table: Table) => T): Promise<T>;

  get<R extends port.Stored>(from: port.Collection<R>, id: string): Promise<R | undefined> {
    return this.ask(from, (table) => trusted<R | undefined>(table.get(id)));
  }

  find<R extends port.Stored>(from: port.Collection<R>, unique: string, values: Values): Promise<R | undefined> {
    return this.ask(from, (table) => trusted<R | undefined>(named(table.uniques, unique).page(values, 0, 1)[0]));
  }

  page<R extends port.Stored>(from: port.Collection<R>, index: string, values: Values, { offset, limit }: port.Span) {
    return this.ask(from, (table) => trusted<readonly R[]>(named(table.indexes, index).page(values, offset, limit)));
  }

  count<R extends port.Stored>(from: port.Collection<R>, index: string, values: Values): Promise<number> {
    return this.ask(from, (table) => named(table.indexes, index).count(values));
  }
}

export class Engine extends Reading implements port.Store {
  readonly #load: Load;
  readonly #turns = new Turns();
  readonly #leases = new Map<string, { readonly until: number }>();
  readonly #hearers = new Set<{ readonly topic: string; readonly heard: (subject: string) => void }>();
  #life: Opened | "new" | "opening" | "closed" = "new";
  #closing: Promise<void> | undefined;

  constructor(load: Load) {
    super();
    this.#load = load;
  }

  async open(collections: readonly port.AnyCollection[]): Promise<void> {
    if (this.#life !== "new") throw new Error("A store is opened once");
    this.#life = "opening";
    const tables = tablesOf(collections);
    const keeper = await this.#load(tables, () => this.#turns.giveUp());
    this.#life = { collections, tables, keeper };
  }

  /** At once where nobody writes and all that was written there is durable. */
  async ask<T>(from: Named, question: (table: Table) => T): Promise<T> {
    const table = named(this.#opened().tables, from.name);
    if (this.#turns.isFree && table.commit?.isOpen !== true) return question(table);
    return this.transact((run) => run.ask(from, question));
  }

  async transact<T>(work: (run: Run) => Promise<T>): Promise<T> {
    const opened = this.#opened();
    for (;;) {
      const run = new Run(opened);
      const outcome = await this.#turns.run(
        () => work(run),
        (outcome) => run.end(outcome),
      );
      const lost = run.commit === undefined ? undefined : await run.commit.ended;
      if (lost !== undefined && run.changes.length > 0) throw lost;
      // What it has seen is not there any more.
      if (lost !== undefined) continue;
      if ("error" in outcome) throw outcome.error;
      for (const [topic, subjects] of run.told ?? []) for (const subject of subjects) this.#tell(topic, subject);
      return outcome.value;
    }
  }

  hear(topic: string, heard: (subject: string) => void): () => void {
    const hearer = { topic, heard };
    this.#hearers.add(hearer);
    return () => void this.#hearers.delete(hearer);
  }

  async lease(name: string, for_ms: number): Promise<port.Lease | undefined> {
    this.#opened();
    const now = performance.now();
    if ((this.#leases.get(name)?.until ?? 0) > now) return undefined;
    const mine = { until: now + for_ms };
    this.#leases.set(name, mine);
    // Another may have taken the name since it ran out.
    const release = async () => void (this.#leases.get(name) === mine && this.#leases.delete(name));
    return { release };
  }

  async snapshot(): Promise<port.StoreData> {
    const lists = await copied(await this.transact((run) => run.records()));
    return { format: 1, collections: Object.fromEntries(lists) };
  }

  async restore(data: port.StoreData): Promise<void> {
    const { collections, tables, keeper } = this.#opened();
    await this.#turns.take(async () => {
      const others = tablesOf(collections);
      const lists = await copied(Object.entries(data.collections));
      load(others, lists, (fault) => new StoreRefusal(`The data cannot be used: ${fault}`));
      await keeper?.replace(recordsIn(others));
      for (const [name, table] of others) tables.set(name, table);
    });
  }

  /** What was asked for before comes to its end. */
  async close(): Promise<void> {
    const life = this.#life;
    this.#life = "closed";
    if (typeof life !== "string") this.#closing = this.#turns.take(async () => life.keeper?.close());
    await this.#closing;
  }

  /** A hearer that throws disturbs nobody; its error surfaces as an uncaught one. */
  #tell(topic: string, subject: string): void {
    for (const hearer of this.#hearers)
      try {
        if (hearer.topic === topic) hearer.heard(subject);
      } catch (error) {
        Promise.reject(error);
      }
  }

  #opened(): Opened {
    if (typeof this.#life === "string") throw new Error(`The store is ${this.#life}, not open`);
    return this.#life;
  }
}

/** One run of a unit of work. */
class Run extends Reading implements port.Tx {
  /** What must be durable before anybody hears what this run has seen and done. */
  commit: Commit | undefined;
  told: Map<string, Set<string>> | undefined;
  changes: Change[] = [];
  readonly #opened: Opened;
  #violation: UniqueViolation | undefined;
  #isOver = false;

  constructor(opened: Opened) {
    super();
    this.#opened = opened;
  }

  async ask<T>(from: Named, question: (table: Table) => T): Promise<T> {
    return question(this.#table(from));
  }

  async records(): Promise<Lists> {
    for (const table of this.#opened.tables.values()) this.#table(table);
    return recordsIn(this.#opened.tables);
  }

  async put<R extends port.Stored>(into: port.Collection<R>, record: R): Promise<void> {
    // Records are JSON objects (domain/store.ts), so their fields can be looked at by name.
    const change = this.#table(into).put(trusted<Fields>(record));
    if (typeof change === "string") this.#violation = new UniqueViolation(change);
    else this.changes.push(change);
    if (this.#violation !== undefined) throw this.#violation;
  }

  async remove<R extends port.Stored>(from: port.Collection<R>, id: string): Promise<void> {
    const change = this.#table(from).remove(id);
    if (change !== undefined) this.changes.push(change);
  }

  tell(topic: string, subject: string): void {
    this.#assertRuns();
    this.told ??= new Map();
    this.told.set(topic, (this.told.get(topic) ?? new Set()).add(subject));
  }

  /** Commits where the work is done, undoes where it failed. */
  end<T>(outcome: Outcome<T>): Outcome<T> {
    this.#isOver = true;
    try {
      if ("error" in outcome) throw outcome.error;
      if (this.#violation !== undefined) throw this.#violation;
      if (this.changes.length > 0) this.commit = this.#opened.keeper?.add(this.changes);
      for (const { table } of this.changes) table.commit = this.commit;
      return outcome;
    } catch (error) {
      undo(this.changes);
      this.changes = [];
      return { error };
    }
  }

  #table(from: Named): Table {
    this.#assertRuns();
    const table = named(this.#opened.tables, from.name);
    const { commit } = table;
    if (commit?.isOpen && commit.number > (this.commit?.number ?? 0)) this.commit = commit;
    return table;
  }

  #assertRuns(): void {
    if (this.#isOver) throw new Error("This unit of work is over: its transaction answers no more");
  }
}

/** What goes out and what comes in is copied, so that neither side can change what the other has; not all in one go. */
async function copied(lists: Lists): Promise<Lists> {
  const copies: (readonly [string, port.Stored[]])[] = [];
  for (const [name, records] of lists) {
    const own: port.Stored[] = [];
    for (let at = 0; at < records.length; at += SLICE) {
      own.push(...structuredClone(records.slice(at, at + SLICE)));
      if (own.length === SLICE) await nextTurn();
    }
    copies.push([name, own]);
  }
  return copies;
}
