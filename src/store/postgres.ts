// The store behind `--data postgres://…`, for several processes at once. Units of work are PostgreSQL's serializable
// transactions, and run again where it asks for that; what they tell goes by NOTIFY, in the order of commits; a lease is a
// row that counts as long as its holder has a session. How durable a commit is, the database is set to; those that tell
// something wait for each other until it is, as NOTIFY is in their order.
import { AsyncLocalStorage } from "node:async_hooks";
import type * as port from "../domain/store.ts";
import { StoreRefusal } from "../domain/store.ts";
import { inSteps, Turns } from "../kit/background.ts";
import { realClock } from "../kit/clock.ts";
import { systemRandom } from "../kit/ids.ts";
import { trusted } from "../kit/schema.ts";
import type { Fields } from "./indexes.ts";
import { Hearers, named } from "./memory.ts";
import {
  Again,
  answered,
  ask,
  type Client,
  commit,
  driver,
  isLost,
  type Pool,
  Presence,
  type Rows,
  saidBy,
  settingsOf,
  type Values,
} from "./postgres/session.ts";
import { type From, keyOf, Layout, prepare, RELEASE, Reading, TAKE } from "./postgres/tables.ts";
import { load, recordsIn, tablesOf } from "./tables.ts";

const RUNS_MAX = 20;
const PAUSE_MAX_MS = 64;
const INSIDE = "A unit of work may only ask its own transaction; this one asked the store itself";

/** One run of a unit of work. */
class Run extends Reading implements port.Tx {
  readonly told = new Map<string, Set<string>>();
  readonly #layouts: Layouts;
  readonly #client: Client;
  /** The session does one thing after the other. */
  readonly #turns = new Turns();
  #failed: { readonly error: unknown } | undefined;
  isOver = false;

  constructor(client: Client, layouts: Layouts) {
    super();
    this.#client = client;
    this.#layouts = layouts;
  }

  layout({ name }: From): Layout {
    this.#assertRuns();
    return named(this.#layouts, name);
  }

  async ask(text: string, values?: Values): Promise<Rows> {
    this.#assertRuns();
    try {
      return await this.#turns.run(() => ask(this.#client, text, values));
    } catch (error) {
      this.#failed ??= { error };
      throw this.#failed.error;
    }
  }

  /** Rejects with the first thing that failed, whatever the work has made of it. */
  async do<T>(work: (run: Run) => Promise<T>): Promise<T> {
    const begin = async () => work(this);
    const value = begin();
    await Promise.allSettled([value]);
    this.isOver = true;
    await this.#turns.run(async () => undefined);
    if (this.#failed !== undefined) throw this.#failed.error;
    return value;
  }

  async put<R extends port.Stored>(into: port.Collection<R>, record: R): Promise<void> {
    // Records are JSON objects (domain/store.ts), so their fields can be looked at by name.
    await this.ask(...this.layout(into).put(trusted<Fields>(record)));
  }

  async remove<R extends port.Stored>(from: port.Collection<R>, id: string): Promise<void> {
    await this.ask(`DELETE FROM ${this.layout(from).table} WHERE id = $1`, [keyOf([id])]);
  }

  tell(topic: string, subject: string): void {
    this.#assertRuns();
    this.told.set(topic, (this.told.get(topic) ?? new Set()).add(subject));
  }

  #assertRuns(): void {
    if (this.isOver) throw new Error("This unit of work is over: its transaction answers no more");
  }
}

type Layouts = ReadonlyMap<string, Layout>;
interface Opened {
  readonly collections: readonly port.AnyCollection[];
  readonly layouts: Layouts;
  readonly pool: Pool;
  readonly presence: Presence;
}

export const postgresStore = (address: string): port.Store => new PostgresStore(address);

class PostgresStore extends Reading implements port.Store {
  readonly #address: string;
  readonly #hearers = new Hearers();
  readonly #running = new Set<Promise<unknown>>();
  /** The unit of work that whoever asks is part of. */
  readonly #inside = new AsyncLocalStorage<Run>();
  /** What has to run again does so one after the other: so it is not in the way of its like once more. */
  readonly #again = new Turns();
  #life: Opened | "new" | "closed" = "new";
  #closing: Promise<void> | undefined;
  #marks = 0;

  constructor(address: string) {
    super();
    this.#address = address;
  }

  async open(collections: readonly port.AnyCollection[]): Promise<void> {
    if (this.#life !== "new") throw new Error("A store is opened once");
    this.#life = "closed";
    const settings = settingsOf(this.#address);
    const { Client, Pool } = await driver();
    const layouts = new Map(collections.map((collection) => [collection.name, new Layout(collection)]));
    const first = new Client({ ...settings, query_timeout: 0 }); // a long list may want a new index
    first.on("error", () => undefined); // whoever asks is told
    try {
      await first.connect();
      const channel = await prepare(first, [...layouts.values()]);
      const presence = new Presence(() => new Client(settings), channel, this.#hearers);
      await presence.begin();
      const pool = new Pool(settings);
      pool.on("error", () => undefined); // nobody asked; the next one gets another session
      pool.on("connect", (client) => client.on("error", () => undefined)); // whoever asks is told
      this.#life = { collections, layouts, pool, presence };
    } catch (error) {
      if (error instanceof StoreRefusal) throw error;
      throw new StoreRefusal(`The database cannot be used: ${saidBy(error)}`, { cause: error });
    } finally {
      await first.end();
    }
  }

  layout({ name }: From): Layout {
    return named(this.#opened().layouts, name);
  }

  ask(text: string, values?: Values): Promise<Rows> {
    return this.#lent((client) => ask(client, text, values));
  }

  /** An index of one field has the same keys as the ids that it names. */
  async findWith<R extends port.Stored, T extends port.Stored>(
    from: port.Collection<R>,
    unique: string,
    values: port.Values,
    by: string,
    to: port.Collection<T>,
  ): Promise<readonly [R, T | undefined] | undefined> {
    const layout = this.layout(from);
    const other = `SELECT record FROM ${this.layout(to).table} AS other WHERE id = mine.${layout.list(`index ${by}`).key}`;
    const { key } = layout.list(`unique ${unique}`);
    const both = `SELECT record, (${other}) FROM ${layout.table} AS mine WHERE ${key} = $1`;
    const [row] = await this.ask(both, [keyOf(values)]);
    const [one, two] = (row ?? []).map((record) => (record === null ? undefined : JSON.parse(String(record))));
    return row && [one, two];
  }

  transact<T>(work: (run: Run) => Promise<T>): Promise<T> {
    return this.#during(async () => {
      const { value } = (await this.#attempt(work)) ?? (await this.#again.run(() => this.#repeat(work)));
      return value;
    });
  }

  async #repeat<T>(work: (run: Run) => Promise<T>) {
    for (let run = 2; ; run += 1) {
      const pause_ms = (Math.min(2 ** run, PAUSE_MAX_MS) * systemRandom()) / 256;
      await new Promise<void>((go) => realClock.schedule(realClock.now() + pause_ms, null, go));
      const outcome = await this.#attempt(work, run === RUNS_MAX);
      if (outcome !== undefined) return outcome;
    }
  }

  /** Answers nothing where it has to be done again. */
  #attempt<T>(work: (run: Run) => Promise<T>, isLast = false) {
    return this.#lent(async (client, { layouts, presence }) => {
      try {
        await answered(client.query("BEGIN ISOLATION LEVEL SERIALIZABLE"));
        const run = new Run(client, layouts);
        const value = await this.#inside.run(run, () => run.do(work));
        await (run.told.size === 0 ? commit(client) : presence.commit(client, run.told));
        return { value };
      } catch (error) {
        if (!isLost(error)) await answered(client.query("ROLLBACK"));
        if (error instanceof Again && !isLast) return undefined;
        throw error;
      }
    });
  }

  hear(topic: string, heard: (subject: string) => void): () => void {
    return this.#hearers.hear(topic, heard);
  }

  async lease(name: string, for_ms: number): Promise<port.Lease | undefined> {
    this.#marks += 1;
    const mine = [keyOf([name]), this.#opened().presence.holder, this.#marks];
    const taken = await this.ask(TAKE, [...mine, for_ms]);
    const end = () => undefined; // where the database is out of reach it runs out
    return taken.length === 0 ? undefined : { release: () => this.ask(RELEASE, mine).then(end, end) };
  }

  async now(): Promise<number> {
    const [row] = await this.ask("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)");
    return Number(row?.[0]);
  }

  async snapshot(): Promise<port.StoreData> {
    const { layouts } = this.#opened();
    return this.transact(async (run) => {
      const collections = new Map<string, readonly port.Stored[]>();
      for (const [name, layout] of layouts) {
        const records: Fields[] = [];
        for await (const some of layout.records((...query) => run.ask(...query))) records.push(...some);
        collections.set(name, records);
      }
      return { format: 1, collections: Object.fromEntries(collections) };
    });
  }

  /** Readers go on meanwhile, and who writes waits. */
  async restore(data: port.StoreData): Promise<void> {
    const { collections, layouts } = this.#opened();
    const tables = tablesOf(collections);
    const refusal = (fault: string) => new StoreRefusal(`The data cannot be used: ${fault}`);
    await inSteps(load(tables, Object.entries(data.collections), refusal));
    const all = Array.from(layouts.values(), ({ table }) => table);
    await this.transact(async (run) => {
      await run.ask(`LOCK TABLE ${all.join(", ")} IN EXCLUSIVE MODE`);
      for (const table of all) await run.ask(`DELETE FROM ${table}`);
      for (const [name, records] of recordsIn(tables))
        await named(layouts, name).fill((...query) => run.ask(...query), trusted<Fields[]>(records));
    });
  }

  /** What was asked for before comes to its end. */
  close(): Promise<void> {
    const life = this.#life;
    this.#life = "closed";
    if (typeof life !== "string")
      this.#closing = Promise.allSettled(this.#running).then(async () => {
        await life.presence.end();
        await life.pool.end();
      });
    return this.#closing ?? Promise.resolve();
  }

  /** A session for as long as it is used; one that is lost is nobody's any more. */
  #lent<T>(use: (client: Client, opened: Opened) => Promise<T>): Promise<T> {
    return this.#during(async (opened) => {
      const client = await answered(opened.pool.connect());
      const answer = use(client, opened);
      await answer.then(
        () => client.release(false),
        (error: unknown) => client.release(isLost(error)),
      );
      return answer;
    });
  }

  async #during<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
    if (this.#inside.getStore()?.isOver === false) throw new Error(INSIDE);
    const running = work(this.#opened());
    this.#running.add(running);
    return await running.finally(() => this.#running.delete(running));
  }

  #opened(): Opened {
    if (typeof this.#life === "string") throw new Error(`The store is ${this.#life}, not open`);
    return this.#life;
  }
}
