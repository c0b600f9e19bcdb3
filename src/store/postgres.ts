// The store behind `--data postgres://…`, for several processes at once. Units of work are PostgreSQL's serializable
// transactions, and run again where it asks for that; what they tell others goes by NOTIFY; a lease is a
// row that counts as long as its holder has a session. How durable a commit is, the database is set to.
import { AsyncLocalStorage } from "node:async_hooks";
import type * as port from "../domain/store.ts";
import { StorageUnavailable, StoreRefusal } from "../domain/store.ts";
import { inSteps, Turns } from "../kit/background.ts";
import { after } from "../kit/clock.ts";
import { systemRandom } from "../kit/ids.ts";
import { trusted } from "../kit/schema.ts";
import type { Fields } from "./indexes.ts";
import { Hearers, named } from "./memory.ts";
import {
  Again,
  answered,
  ask,
  type Pool,
  Presence,
  poolOf,
  RELEASE,
  type Rows,
  saidBy,
  TAKE,
  type Values,
} from "./postgres/session.ts";
import { keyIn, keyOf, Layout, type Layouts, prepare, Reading, Run } from "./postgres/tables.ts";
import { load, recordsIn, tablesOf } from "./tables.ts";

const RUNS_MAX = 20;
const PAUSE_MAX_MS = 64;
const INSIDE = "A unit of work may only ask its own transaction; this one asked the store itself";

type Work<T> = (run: Run) => Promise<T>;

interface Opened {
  readonly collections: readonly port.AnyCollection[];
  readonly layouts: Layouts;
  readonly pool: Pool;
  readonly presence: Presence;
}

export const postgresStore = (address: string): port.Store => new PostgresStore(() => poolOf(address));

class PostgresStore extends Reading implements port.Store {
  readonly #hearers = new Hearers();
  readonly #running = new Set<Promise<unknown>>();
  /** The unit of work that whoever asks is part of. */
  readonly #inside = new AsyncLocalStorage<Run>();
  /** What has to run again does so one after the other: so it is not in the way of its like once more. */
  readonly #again = new Turns();
  #life: Opened | "new" | "closed" = "new";
  #closing: Promise<void> | undefined;
  /** How many leases were asked for. */
  #takings = 0;

  constructor(private readonly begin: () => Promise<Pool>) {
    super();
  }

  async open(collections: readonly port.AnyCollection[]): Promise<void> {
    if (this.#life !== "new") throw new Error("A store is opened once");
    this.#life = "closed";
    const layouts = new Map(collections.map((collection) => [collection.name, new Layout(collection)]));
    const pool = await this.begin();
    try {
      const presence = new Presence(await this.begin(), await prepare(pool, layouts), this.#hearers);
      await presence.tend();
      this.#life = { collections, layouts, pool, presence };
    } catch (error) {
      await pool.end();
      if (error instanceof StoreRefusal) throw error;
      throw new StoreRefusal(`The database cannot be used: ${saidBy(error)}`, { cause: error });
    }
  }

  get layouts(): Layouts {
    return this.#opened().layouts;
  }

  ask(text: string, values?: Values): Promise<Rows> {
    return this.#during(({ pool }) => ask(pool, text, values));
  }

  /** An index of one field has the same keys as the ids that it names. */
  async findWith<R extends port.Stored, T extends port.Stored>(
    from: port.Collection<R>,
    unique: string,
    values: port.Values,
    by: string,
    to: port.Collection<T>,
  ): Promise<readonly [R, T | undefined] | undefined> {
    const other = `SELECT record FROM ${this.layout(to).table} WHERE id = ${keyIn(`index_${by}`, "mine.")}`;
    const one = `FROM ${this.layout(from).table} AS mine WHERE ${keyIn(`unique_${unique}`)} = $1`;
    const [row] = await this.ask(`SELECT record, (${other}) ${one}`, [keyOf(values)]);
    const [first, second] = (row ?? []).map((record) => (record === null ? undefined : JSON.parse(String(record))));
    return row && [first, second];
  }

  transact<T>(work: Work<T>): Promise<T> {
    return this.#during(async (opened) => {
      for (let run = 1; ; run += 1)
        try {
          const attempt = () => this.#attempt(work, opened);
          return await (run === 1 ? attempt() : this.#again.run(attempt));
        } catch (error) {
          if (!(error instanceof Again) || run === RUNS_MAX) throw error;
          const pause_ms = (Math.min(2 ** run, PAUSE_MAX_MS) * systemRandom(1).readUInt8()) / 256;
          await new Promise<void>((go) => after(pause_ms, go));
        }
    });
  }

  /** A session that can begin anew is the pool's again, and one that cannot is nobody's. */
  async #attempt<T>(work: Work<T>, { pool, layouts, presence }: Opened): Promise<T> {
    const client = await answered(pool.connect());
    try {
      await answered(client.query("BEGIN ISOLATION LEVEL SERIALIZABLE"));
      const run = new Run(client, layouts);
      const value = await this.#inside.run(run, () => run.do(work));
      await presence.commit(client, [...run.told.values()]);
      client.release();
      return value;
    } catch (error) {
      if (error instanceof StorageUnavailable && !(error instanceof Again)) client.release(true);
      else
        client.query("ROLLBACK").then(
          () => client.release(),
          () => client.release(true),
        );
      throw error;
    }
  }

  hear(topic: string, heard: (subject: string) => void): () => void {
    return this.#hearers.hear(topic, heard);
  }

  async lease(name: string, for_ms: number): Promise<port.Lease | undefined> {
    const { ours, gone, owed } = this.#opened().presence;
    this.#takings += 1;
    const taking = this.#takings;
    const asked = (text: string, ...more: Values) =>
      this.ask(text, [keyOf([name]), ours.holder, taking, ...more]).catch((error: unknown) => {
        owed.add(taking);
        throw error;
      });
    const [taken] = await asked(TAKE, for_ms, gone);
    const end = () => undefined; // where the database is out of reach it is owed
    return taken && { release: () => asked(RELEASE).then(end, end) };
  }

  async now(): Promise<number> {
    const [row] = await this.ask("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)");
    return Number(row?.[0]);
  }

  async snapshot(): Promise<port.StoreData> {
    return this.transact(async (run) => {
      const collections = new Map<string, readonly port.Stored[]>();
      for (const [name, { table }] of run.layouts) {
        const records: Fields[] = [];
        for await (const record of run.records(table)) records.push(record);
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
        for (const record of trusted<Fields[]>(records)) await named(layouts, name).put(run, record);
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

  async #during<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
    if (this.#inside.getStore()?.isOver === false) throw new Error(INSIDE);
    const running = work(this.#opened());
    this.#running.add(running);
    return running.finally(() => this.#running.delete(running));
  }

  #opened(): Opened {
    if (typeof this.#life === "string") throw new Error(`The store is ${this.#life}, not open`);
    return this.#life;
  }
}
