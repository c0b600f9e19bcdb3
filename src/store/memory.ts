// The store in memory, and the engine of those that keep it on a disk as well: one state, changed in place by units of
// work that run strictly one after the other. What a unit has written is undone where it fails. Nobody outside sees what is not
// durable yet: a read that would takes its turn among the units of work, and its answer is held back.
import type * as port from "../domain/store.ts";
import { StoreRefusal, UniqueViolation } from "../domain/store.ts";
import { inSteps, Turns } from "../kit/background.ts";
import { trusted } from "../kit/schema.ts";
import type { Batch, Stop, Waiting } from "./commits.ts";
import type { Fields } from "./indexes.ts";
import { type Change, copied, type Lists, load, recordsIn, type Table, type Tables, tablesOf, undo } from "./tables.ts";

const GIVEN_UP =
  "A unit of work may only await its own transaction; this one waited for something else and was given up";

export interface Keeper {
  /** Takes a commit that stands in the tables already; undoes it if it cannot be kept. */
  add(changes: readonly Change[]): Batch<Change>;
  /** In the place of everything. */
  replace(records: Lists): Promise<void>;
  close(): Promise<void>;
}

/** Fills the tables. Before the keeper undoes or writes down changes it calls `stop`: what was begun on them ends. */
type Load = (tables: Tables, stop: Stop) => Promise<Keeper | undefined>;

type Opened = { collections: readonly port.AnyCollection[]; tables: Tables; keeper: Keeper | undefined };
type Named = { readonly name: string };
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

export const memoryStore = (): port.Store => new MemoryStore(async () => undefined);

export class MemoryStore extends Reading implements port.Store {
  readonly #load: Load;
  readonly #leases = new Map<string, { readonly until: number }>();
  readonly #hearers = new Set<{ readonly topic: string; readonly heard: (subject: string) => void }>();
  #life: Opened | "new" | "closed" = "new";
  #closing: Promise<void> | undefined;
  readonly #turns = new Turns();
  /** The latest, which may be over. */
  #running: Run<unknown> | undefined;
  #watching: NodeJS.Immediate | undefined;
  /** When the turn of the event loop is over no unit of work should still run, since its tx answers at once. */
  readonly #watch = () => {
    this.#watching = undefined;
    this.#running?.stop("waits");
  };

  constructor(load: Load) {
    super();
    this.#load = load;
  }

  async open(collections: readonly port.AnyCollection[]): Promise<void> {
    if (this.#life !== "new") throw new Error("A store is opened once");
    this.#life = "closed";
    const tables = tablesOf(collections);
    const keeper = await this.#load(tables, (why) => this.#running?.stop(why));
    this.#life = { collections, tables, keeper };
  }

  /** At once where nobody is writing and all that was written there is durable. */
  async ask<T>(from: Named, question: (table: Table) => T): Promise<T> {
    const table = named(this.#opened().tables, from.name);
    if (this.#running?.hasWritten !== true && (table.batch?.state ?? "over") === "over") return question(table);
    return this.transact((run) => run.ask(from, question));
  }

  /** `mayWait` is for what takes the place of everything: it is not given up. */
  transact<T>(work: (run: Run<T>) => Promise<T>, mayWait = false): Promise<T> {
    return new Promise((resolve, reject) => {
      const { tables, keeper } = this.#opened();
      this.enter(new Run(this, { tables, keeper, work, mayWait, resolve, reject }));
    });
  }

  enter(run: Run<unknown>): void {
    void this.#turns.run(() => {
      this.#running = run;
      this.#watching ??= setImmediate(this.#watch);
      return run.begin();
    });
  }

  /** A hearer that throws disturbs nobody; its error surfaces as a rejection that nobody handles. */
  tell(topic: string, subject: string): void {
    for (const hearer of this.#hearers) if (hearer.topic === topic) new Promise<void>(() => hearer.heard(subject));
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
    return { release: async () => void (this.#leases.get(name) === mine && this.#leases.delete(name)) };
  }

  /** What goes out and what comes in is copied, so that neither side can change what the other has. */
  async snapshot(): Promise<port.StoreData> {
    const lists = await this.transact<Lists>((run) => run.records());
    return { format: 1, collections: await inSteps(copied(lists)) };
  }

  /** In steps, so that reading goes on; to write, others wait for its end, as their writes would go with the old data. */
  async restore(data: port.StoreData): Promise<void> {
    const { collections, tables, keeper } = this.#opened();
    await this.transact(async () => {
      const others = tablesOf(collections);
      const lists = Object.entries(await inSteps(copied(Object.entries(data.collections))));
      await inSteps(load(others, lists, (fault) => new StoreRefusal(`The data cannot be used: ${fault}`)));
      await keeper?.replace(recordsIn(others));
      for (const [name, table] of others) tables.set(name, table);
    }, true);
  }

  /** What was asked for before comes to its end. */
  async close(): Promise<void> {
    const life = this.#life;
    if (typeof life !== "string") this.#closing = this.transact(async () => life.keeper?.close(), true);
    this.#life = "closed";
    await this.#closing;
  }

  #opened(): Opened {
    if (typeof this.#life === "string") throw new Error(`The store is ${this.#life}, not open`);
    return this.#life;
  }
}

/** A unit of work, which may run more than once, and who waits for it. */
interface Terms<T> {
  readonly tables: Tables;
  readonly keeper: Keeper | undefined;
  readonly mayWait: boolean;
  work(run: Run<T>): Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

/** One run of a unit of work, until what it has seen and done is durable. */
class Run<T> extends Reading implements port.Tx, Waiting {
  readonly #store: MemoryStore;
  readonly #terms: Terms<T>;
  #changes: Change[] = [];
  #told: Map<string, Set<string>> | undefined;
  /** What must be durable before anybody hears what this run has seen and done: the latest, which ends last. */
  #need: Batch<Change> | undefined;
  #violation: UniqueViolation | undefined;
  #leave: () => void = () => undefined;
  /** How it ended. */
  #settle: (() => void) | undefined;

  constructor(store: MemoryStore, terms: Terms<T>) {
    super();
    this.#store = store;
    this.#terms = terms;
  }

  /** Whether something stands there that may yet be undone. */
  get hasWritten(): boolean {
    return this.#settle === undefined && this.#changes.length > 0;
  }

  async ask<A>(from: Named, question: (table: Table) => A): Promise<A> {
    return question(this.#table(from));
  }

  async records(): Promise<Lists> {
    const { tables } = this.#terms;
    for (const table of tables.values()) this.#table(table);
    return recordsIn(tables);
  }

  async put<R extends port.Stored>(into: port.Collection<R>, record: R): Promise<void> {
    // Records are JSON objects (domain/store.ts), so their fields can be looked at by name.
    const change = this.#table(into).put(trusted<Fields>(record));
    if (typeof change === "string") this.#violation = new UniqueViolation(change);
    else this.#changes.push(change);
    if (this.#violation !== undefined) throw this.#violation;
  }

  async remove<R extends port.Stored>(from: port.Collection<R>, id: string): Promise<void> {
    const change = this.#table(from).remove(id);
    if (change !== undefined) this.#changes.push(change);
  }

  tell(topic: string, subject: string): void {
    this.#assertRuns();
    this.#told ??= new Map();
    this.#told.set(topic, (this.#told.get(topic) ?? new Set()).add(subject));
  }

  /** Ends with its turn; whoever waits for it may have to wait for the disk as well. */
  begin(): Promise<void> {
    return new Promise((leave) => {
      this.#leave = leave;
      void this.#do();
    });
  }

  async #do(): Promise<void> {
    try {
      const value = await this.#terms.work(this);
      if (this.#settle === undefined) this.#commit(value);
    } catch (error) {
      this.#fail(() => this.#terms.reject(error));
    }
  }

  stop(why: Parameters<Stop>[0]): void {
    if (this.#terms.mayWait) return;
    this.#fail(() => (why === "lost" ? this.#again() : this.#terms.reject(new Error(GIVEN_UP))));
  }

  /** It is known what came of what this has seen and done. */
  ended(lost: unknown): void {
    if (lost === undefined) this.#settle?.();
    else if (this.#changes.length > 0) this.#terms.reject(lost);
    else this.#again();
  }

  /** What it has seen is not there any more. */
  #again(): void {
    this.#store.enter(new Run(this.#store, this.#terms));
  }

  #commit(value: T): void {
    if (this.#violation !== undefined) throw this.#violation;
    if (this.#changes.length > 0) this.#need = this.#terms.keeper?.add(this.#changes);
    for (const { table } of this.#changes) table.batch = this.#need;
    this.#end(() => {
      for (const [topic, subjects] of this.#told ?? [])
        for (const subject of subjects) this.#store.tell(topic, subject);
      this.#terms.resolve(value);
    });
  }

  #fail(settle: () => void): void {
    if (this.#settle !== undefined) return;
    undo(this.#changes);
    this.#changes = [];
    this.#end(settle);
  }

  /** Before anything else is done. */
  #end(settle: () => void): void {
    this.#settle = settle;
    this.#leave();
    if (this.#need === undefined || this.#need.state === "over") settle();
    else this.#need.waiting.push(this);
  }

  #table(from: Named): Table {
    this.#assertRuns();
    const table = named(this.#terms.tables, from.name);
    const { batch } = table;
    if (batch !== undefined && batch.state !== "over" && this.#need?.state !== "gathering") this.#need = batch;
    return table;
  }

  #assertRuns(): void {
    if (this.#settle !== undefined) throw new Error("This unit of work is over: its transaction answers no more");
  }
}
