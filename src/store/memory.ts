// The store in memory, and the engine of those that keep it on a disk as well: one state, changed in place by units of
// work that run strictly one after the other. What a unit has written is undone where it fails. Nobody outside sees what is not
// durable yet: a read that would takes its turn among the units of work, and its answer is held back.
import type * as port from "../domain/store.ts";
import { StoreRefusal, UniqueViolation } from "../domain/store.ts";
import { inSteps, Turns } from "../kit/background.ts";
import { monotonicNow, nextTurn } from "../kit/clock.ts";
import { trusted } from "../kit/schema.ts";
import { Hearers } from "./hearers.ts";
import type { Fields } from "./indexes.ts";
import {
  type Batch,
  type Change,
  copied,
  type Lists,
  load,
  named,
  recordsIn,
  Table,
  type Tables,
  tablesOf,
} from "./tables.ts";

const GIVEN_UP =
  "A unit of work may only await its own transaction; this one waited for something else and was given up";

/** Where commits that stand in the tables already become durable. */
interface Commits {
  add(changes: readonly Change[]): Batch;
  /** In the place of everything. */
  replace(records: Lists): Promise<void>;
  close(): Promise<void>;
}

/** Fills the tables. `isBusy`: a unit of work is in the midst, and what it has written may yet be undone. */
type Load = (tables: Tables, isBusy: () => boolean) => Promise<Commits | undefined>;

type Opened = { collections: readonly port.AnyCollection[]; tables: Tables; commits: Commits | undefined };
type Named = { readonly name: string };

/** Puts the port's questions to a table. A collection's type vouches for that of its records. */
abstract class Reading implements port.Reader {
  abstract ask<T>(from: Named, question: (table: Table) => T): Promise<T>;

  get<R extends port.Stored>(from: port.Collection<R>, id: string): Promise<R | undefined> {
    return this.ask(from, (table) => trusted(table.get(id)));
  }

  find<R>(from: Named, unique: string, values: port.Values): Promise<R | undefined> {
    return this.ask(from, (table) => trusted(named(table.uniques, unique).holder(values)));
  }

  page<R>(from: Named, index: string, values: port.Values, span: port.Span): Promise<readonly R[]> {
    return this.ask(from, (table) => trusted(named(table.indexes, index).page(values, span)));
  }

  count(from: Named, index: string, values: port.Values): Promise<number> {
    return this.ask(from, (table) => named(table.indexes, index).count(values));
  }
}

export const memoryStore = (): port.Store => new MemoryStore(async () => undefined);

export class MemoryStore extends Reading implements port.Store {
  readonly #leases = new Map<string, { readonly until: number }>();
  readonly #hearers = new Hearers();
  readonly #turns = new Turns();
  #life: Opened | "new" | "closed" = "new";
  /** The latest, which may be over. */
  #run: Run | undefined;
  #watch: Promise<void> | undefined;

  constructor(private readonly load: Load) {
    super();
  }

  async open(collections: readonly port.AnyCollection[]): Promise<void> {
    if (this.#life !== "new") throw new Error("A store is opened once");
    this.#life = "closed";
    const tables = tablesOf(collections);
    this.#life = { collections, tables, commits: await this.load(tables, () => this.#isBusy) };
  }

  get #isBusy(): boolean {
    return this.#run?.giveUp !== undefined;
  }

  /** At once where nobody is writing and all that was written there is durable. */
  async ask<T>(from: Named, question: (table: Table) => T): Promise<T> {
    const table = named(this.#opened().tables, from.name);
    if (!this.#isBusy && table.batch === undefined) return question(table);
    return this.transact((run) => run.ask(from, question));
  }

  async transact<T>(work: (run: Run) => Promise<T>): Promise<T> {
    // Not by calling itself: whoever had to run again would resolve a moment after who is told later.
    for (;;) {
      const run = new Run(this.#opened());
      const outcome = await this.#turns.run(() => {
        this.#run = run;
        // By the end of the turn of the event loop each is over that asks only its tx, which answers at once.
        this.#watch ??= nextTurn().then(() => {
          this.#watch = undefined;
          this.#run?.giveUp?.(new Error(GIVEN_UP));
        });
        return run.do(work);
      });
      const lost = run.needed && (await run.needed.ended);
      if (lost === undefined) {
        for (const [topic, subjects] of run.told) for (const subject of subjects) this.#hearers.tell(topic, subject);
        if ("error" in outcome) throw outcome.error;
        return outcome.value;
      }
      if (run.changes.length > 0) throw lost;
      // What it has seen is not there any more: once more, but not on a store that was closed meanwhile.
    }
  }

  readonly hear: port.Store["hear"] = (topic, heard) => this.#hearers.hear(topic, heard);

  async lease(name: string, for_ms: number): Promise<port.Lease | undefined> {
    this.#opened();
    const now = monotonicNow();
    if ((this.#leases.get(name)?.until ?? 0) > now) return undefined;
    const mine = { until: now + for_ms };
    this.#leases.set(name, mine);
    // Another may have taken the name since it ran out.
    return { release: async () => void (this.#leases.get(name) === mine && this.#leases.delete(name)) };
  }

  /** What goes out and what comes in is copied, so that neither side can change what the other has. */
  async snapshot(): Promise<port.StoreData> {
    const lists = await this.transact((run) => run.records());
    return { format: 1, collections: Object.fromEntries(await inSteps(copied(lists))) };
  }

  /** In steps, so that reading goes on; to write, others wait for its end, as their writes would go with the old data. */
  async restore(data: port.StoreData): Promise<void> {
    const { collections, tables, commits } = this.#opened();
    await this.#turns.run(async () => {
      const others = tablesOf(collections);
      const lists = await inSteps(copied(Object.entries(data.collections)));
      await inSteps(load(others, lists, (fault) => new StoreRefusal(`The data cannot be used: ${fault}`)));
      await commits?.replace(recordsIn(others));
      for (const [name, table] of others) tables.set(name, table);
    });
  }

  /** What was asked for before comes to its end. */
  async close(): Promise<void> {
    const life = this.#life;
    this.#life = "closed";
    await this.#turns.run(async () => typeof life !== "string" && life.commits?.close());
  }

  #opened(): Opened {
    if (typeof this.#life === "string") throw new Error(`The store is ${this.#life}, not open`);
    return this.#life;
  }
}

/** One run of a unit of work. */
class Run extends Reading implements port.Tx {
  changes: Change[] = [];
  /** The last that must be durable before anybody hears what this run has seen and done. */
  needed: Batch | undefined;
  readonly told = new Map<string, Set<string>>();
  /** Ends it with this error; undefined where it is over. */
  giveUp: ((error: Error) => void) | undefined;
  #violation: UniqueViolation | undefined;

  constructor(private readonly opened: Opened) {
    super();
  }

  async ask<A>(from: Named, question: (table: Table) => A): Promise<A> {
    return question(this.#table(from));
  }

  async records(): Promise<Lists> {
    const { tables } = this.opened;
    for (const table of tables.values()) this.#table(table);
    return recordsIn(tables);
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
    this.told.set(topic, (this.told.get(topic) ?? new Set()).add(subject));
  }

  /** Resolves when its turn is over: what the work has written is committed, or undone where it failed. */
  async do<T>(work: (run: Run) => Promise<T>): Promise<{ readonly value: T } | { readonly error: unknown }> {
    try {
      const value = await new Promise<T>((resolve, reject) => {
        this.giveUp = reject;
        work(this).then(resolve, reject);
      });
      if (this.#violation !== undefined) throw this.#violation;
      const batch = this.changes.length > 0 && this.opened.commits?.add(this.changes);
      if (batch) this.#need(batch);
      return { value };
    } catch (error) {
      Table.undo(this.changes);
      this.changes = [];
      this.told.clear();
      return { error };
    } finally {
      this.giveUp = undefined;
    }
  }

  #table(from: Named): Table {
    this.#assertRuns();
    const table = named(this.opened.tables, from.name);
    if (table.batch !== undefined) this.#need(table.batch);
    return table;
  }

  #need(batch: Batch): void {
    if (batch.number > (this.needed?.number ?? 0)) this.needed = batch;
  }

  #assertRuns(): void {
    if (this.giveUp === undefined) throw new Error("This unit of work is over: its transaction answers no more");
  }
}
