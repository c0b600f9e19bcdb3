// The store behind `--data postgres://…`, for several processes at once. Units of work are PostgreSQL's serializable
// transactions, and run again where it asks for that; what they tell others goes by NOTIFY; a lease is a row that runs out
// soon, and that its holder renews. How durable a commit is, the database is set to.
import { AsyncLocalStorage } from "node:async_hooks";
import { hash } from "node:crypto";
import type * as port from "../domain/store.ts";
import { StorageUnavailable, StoreRefusal, UniqueViolation } from "../domain/store.ts";
import { inSteps, Turns } from "../kit/background.ts";
import { after, type Scheduled } from "../kit/clock.ts";
import { systemRandom } from "../kit/ids.ts";
import { OptionError, trusted } from "../kit/schema.ts";
import { Hearers, named } from "./memory.ts";
import { type Ask, CHANNEL, keyOf, Layout, prepare, type Rows, readerOf, type Values } from "./postgres/tables.ts";
import { load, recordsIn, tablesOf } from "./tables.ts";

/** Of the driver, which is the user's to install, what is used here. */
interface Client {
  query(query: string | object): Promise<{ readonly rows: Rows }>;
  on(event: string, happened: (note: { readonly payload: string }) => void): unknown;
  release(lost?: unknown): void;
}
interface Pool extends Pick<Client, "query"> {
  on(event: string, happened: (client: Client) => void): unknown;
  connect(): Promise<Client>;
  end(): Promise<unknown>;
}

/** Not written into the import, since whoever compiles this need not have it. */
const DRIVER = "pg";
/** Longer than any statement takes: the database is out of reach. */
const AWAY_MS = 10_000;
/** Whoever has said nothing for so long is gone: its leases and its transaction end. It renews the leases well before. */
const GONE_MS = 6_000;
const RENEW_MS = 1_000;
/** Where that takes so long, it is asked anew. */
const LATE_MS = 1_500;
/** A database that has not answered for so long was away; and so long after that the holders of leases have renewed them. */
const AWAY_AFTER_MS = 3_000;
const CALM_MS = 4_000;
const RUNS_MAX = 20;
const PAUSE_MAX_MS = 64;
/**
 * Lists are looked at by their index only, in its order: a look at a whole table or list is in everybody's way. Where there
 * is no other it counts as so dear that it would be compiled, which takes a second.
 */
const BY_INDEX = "-c enable_seqscan=off -c enable_bitmapscan=off -c enable_sort=off -c jit=off";

/** With what an address does not say. */
async function poolOf(address: string, more: object): Promise<Pool> {
  const url = new URL(address);
  url.searchParams.set("options", `${BY_INDEX} ${url.searchParams.get("options") ?? ""}`);
  const { default: pg } = await import(DRIVER).catch((cause: unknown) => {
    if (codeOf(cause) !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw new OptionError("PostgreSQL needs a driver that is not installed here: npm install pg", { cause });
  });
  const pool: Pool = new pg.Pool({
    connectionString: url.href,
    fallback_application_name: "app-hosting-service",
    connectionTimeoutMillis: AWAY_MS,
    idle_in_transaction_session_timeout: GONE_MS,
    ...more,
  });
  pool.on("error", () => undefined); // nobody asked; the next one gets another session
  pool.on("connect", (client) => client.on("error", () => undefined)); // whoever asks is told
  return pool;
}

/** Units of work were in each other's way: this one has to be done again. */
class Again extends StorageUnavailable {}

const codeOf = (error: unknown): string => String(Object(error).code ?? "");
const saidBy = (error: unknown): string => Object(error).message || codeOf(error) || String(error);

/** In the port's terms. What PostgreSQL finds wrong with a statement, or with what it was given, is a fault of ours. */
function inOurTerms(error: unknown): unknown {
  const code = codeOf(error);
  if (/^40(001|P01)$/.test(code)) return new Again(`The database was asked again and again: ${saidBy(error)}`);
  if (code === "23505") return new UniqueViolation(saidBy(error), { cause: error });
  if (/^(22|23|42)/.test(code)) return error;
  return new StorageUnavailable(`The database does not answer: ${saidBy(error)}`, { cause: error });
}

const answered = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((error: unknown) => {
    throw inOurTerms(error);
  });

/** A session prepares each text once, by its hash. */
async function ask(
  of: Pick<Client, "query">,
  text: string,
  values: Values = [],
  query_timeout?: number,
): Promise<Rows> {
  const name = hash("sha256", text, "base64");
  return (await answered(of.query({ name, text, values, rowMode: "array", query_timeout }))).rows;
}

/** What is told goes as words that need no quotes. */
const wordOf = (text: string): string => Buffer.from(text, "utf16le").toString("base64");
const textIn = (word = ""): string => Buffer.from(word, "base64").toString("utf16le");

const LISTEN = `DO $$ BEGIN EXECUTE 'LISTEN ' || ${CHANNEL}; END $$`;
const NOW_MS = "floor(extract(epoch FROM clock_timestamp()) * 1000)";
const TAKE = `INSERT INTO apphost_leases AS held (name, holder, until)
  VALUES ($1, $2, clock_timestamp() + $3 * interval '1 ms')
  ON CONFLICT (name) DO UPDATE SET (holder, until) = (excluded.holder, excluded.until)
  WHERE held.until <= clock_timestamp() AND ${NOW_MS} BETWEEN $4::float AND $5::float RETURNING 1`;
/** This and the next wait for no disk: what a crash of the database forgets of them has run out soon. */
const RENEW = `WITH renewed AS (UPDATE apphost_leases AS held SET until = clock_timestamp() + ours.left_ms * interval '1 ms'
  FROM json_to_recordset($1) AS ours (name text, holder bigint, left_ms float)
  WHERE held.name = ours.name AND held.holder = ours.holder
  AND set_config('synchronous_commit', 'off', true) = 'off') SELECT ${NOW_MS}`;
const RELEASE = `DELETE FROM apphost_leases WHERE name = $1 AND holder = $2
  AND set_config('synchronous_commit', 'off', true) = 'off'`;

/** One run of a unit of work. */
type Run = port.Tx & { readonly ask: Ask; isOver: boolean };

interface Opened {
  readonly pool: Pool;
  /** Of one session, which hears and renews: others' work must not hold it up. */
  readonly line: Pool;
}

export function postgresStore(address: string): port.Store {
  let collections: readonly port.AnyCollection[] = [];
  const layouts = new Map<string, Layout>();
  const hearers = new Hearers();
  /** By which it knows what it has told itself. */
  const us = systemRandom(12).toString("hex");
  const running = new Set<Promise<unknown>>();
  /** The unit of work that whoever asks is part of. */
  const inside = new AsyncLocalStorage<Run>();
  /** What has to run again does so one after the other: so it is not in the way of its like once more. */
  const again = new Turns();
  /** The leases that are held here, each with a number of its taking. One that nobody here knows of runs out. */
  const held = new Set<{ readonly name: string | null; readonly holder: number; readonly ends: number }>();
  /**
   * Between these, by the database's clock since a question may reach it late, what has run out is free. Where the database
   * was away nobody could renew, and it is still its holders'.
   */
  let calm = { from: 0, to: Number.MAX_SAFE_INTEGER };
  /** None while it renews. */
  let renewal: Scheduled | undefined;
  let life: Opened | "new" | "closed" = "new";

  async function during<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
    if (inside.getStore()?.isOver === false)
      throw new Error("A unit of work may only ask its own transaction; this one asked the store itself");
    if (typeof life === "string") throw new Error(`The store is ${life}, not open`);
    const run = work(life);
    running.add(run);
    return run.finally(() => running.delete(run));
  }

  const askPool: Ask = (text, values) => during(({ pool }) => ask(pool, text, values));

  const transact = <T>(work: (run: Run) => Promise<T>): Promise<T> =>
    during(async ({ pool }) => {
      const once = () => attempt(pool, "BEGIN ISOLATION LEVEL SERIALIZABLE", work);
      for (let run = 1; ; run += 1)
        try {
          return await (run === 1 ? once() : again.run(once));
        } catch (error) {
          if (!(error instanceof Again) || run === RUNS_MAX) throw error;
          const pause_ms = (Math.min(2 ** run, PAUSE_MAX_MS) * systemRandom(1).readUInt8()) / 256;
          await new Promise<void>((go) => after(pause_ms, go));
        }
    });

  /** Its session does one thing after the other, and nothing more once one has failed: that is what it rejects with. */
  async function attempt<T>(pool: Pool, begin: string, work: (run: Run) => Promise<T>): Promise<T> {
    const client = await answered(pool.connect());
    const told = new Set<string>();
    const assertRuns = () => {
      if (run.isOver) throw new Error("This unit of work is over: its transaction answers no more");
    };
    let asked = ask(client, begin);
    const askOwn: Ask = async (text, values) => {
      assertRuns();
      asked = asked.then(() => ask(client, text, values));
      return asked;
    };
    const run: Run = {
      ...readerOf(layouts, askOwn),
      isOver: false,
      ask: askOwn,
      put: async (into, record) => named(layouts, into.name).put(askOwn, trusted(record)),
      async remove(from, id) {
        await askOwn(`DELETE FROM ${named(layouts, from.name).table} WHERE id = $1`, [keyOf([id])]);
      },
      tell(topic, subject) {
        assertRuns();
        told.add(`${wordOf(topic)} ${wordOf(subject)}`);
      },
    };
    try {
      await asked;
      const working = inside.run(run, async () => work(run));
      const value = await working.finally(() => {
        run.isOver = true;
        return asked;
      });
      await commit(client, told);
      client.release();
      return value;
    } catch (error) {
      // A session that can begin anew is the pool's again, and one that cannot is nobody's.
      if (error instanceof StorageUnavailable && !(error instanceof Again)) client.release(error);
      else client.query("ROLLBACK").then(() => client.release(), client.release);
      throw error;
    }
  }

  /**
   * And tells. Where PostgreSQL itself says that it did not commit, it did not; where nothing comes back nobody knows, and
   * whoever hears of it in this process is to look.
   */
  async function commit(client: Client, told: ReadonlySet<string>): Promise<void> {
    const notes = Array.from(told, (note) => `'${us} ${note}'`);
    const tell = `SELECT pg_notify(${CHANNEL}, note) FROM unnest(ARRAY[${notes}]) AS note; `;
    const lost = await client.query(`${notes.length > 0 ? tell : ""}COMMIT`).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (Object(lost).severity !== undefined && !/^(08|57)/.test(codeOf(lost))) throw inOurTerms(lost);
    for (const note of told) hear(...note.split(" "));
    // No `StorageUnavailable`, which says that nothing was kept.
    if (lost) throw new Error("The database was lost at a commit: whether it was kept is not known", { cause: lost });
  }

  const hear = (topic?: string, subject?: string) => hearers.tell(textIn(topic), textIn(subject));

  /** Asks its one session, which is a new one where the old is lost, to hear others and to renew the leases. */
  async function renew(): Promise<void> {
    if (typeof life === "string") return;
    const { line } = life;
    const now = performance.now();
    const ours = Array.from(held, (lease) => ({ ...lease, left_ms: Math.min(lease.ends - now, GONE_MS) }));
    await ask(line, LISTEN, [], LATE_MS);
    const at = Number((await ask(line, RENEW, [JSON.stringify(ours)], LATE_MS))[0]?.[0]);
    // At most so long, also where its clock was set back.
    const from = Math.min(at > calm.to ? Number.MAX_SAFE_INTEGER : calm.from, at + CALM_MS);
    calm = { from, to: at + AWAY_AFTER_MS };
  }

  /** Each second, since nobody tells of a line that is dead, and at once where the session is lost. */
  async function tend(): Promise<void> {
    renewal?.cancel();
    renewal = undefined;
    await renew()
      .catch(renew)
      .catch(() => undefined); // whoever asks is told
    if (typeof life !== "string") renewal = after(RENEW_MS, tend);
  }

  return {
    ...readerOf(layouts, askPool),
    transact,
    hear: (topic, heard) => hearers.hear(topic, heard),

    async open(declared) {
      if (life !== "new") throw new Error("A store is opened once");
      life = "closed";
      collections = declared;
      for (const collection of collections) layouts.set(collection.name, new Layout(collection));
      const line = await poolOf(address, { max: 1 });
      line.on("connect", (client) =>
        client.on("notification", ({ payload }) => {
          const [from, ...note] = payload.split(" ");
          if (from !== us) hear(...note);
        }),
      );
      line.on("remove", () => renewal && tend());
      try {
        await attempt(line, "BEGIN", ({ ask }) => prepare(ask, layouts));
      } catch (error) {
        await line.end();
        if (error instanceof StoreRefusal) throw error;
        throw new StoreRefusal(`The database cannot be used: ${saidBy(error)}`, { cause: error });
      }
      const pool = await poolOf(address, { query_timeout: AWAY_MS });
      life = { pool, line };
      await tend();
    },

    async lease(name, for_ms) {
      const now = performance.now();
      const lease = { name: keyOf([name]), holder: systemRandom(6).readUIntBE(0, 6), ends: now + for_ms };
      const [taken] = await askPool(TAKE, [lease.name, lease.holder, Math.min(for_ms, GONE_MS), calm.from, calm.to]);
      // One that is told of so late may be another's already.
      if (taken === undefined || performance.now() - now > GONE_MS) return undefined;
      held.add(lease);
      return {
        async release() {
          held.delete(lease);
          await askPool(RELEASE, [lease.name, lease.holder]).catch(() => undefined); // it runs out
        },
      };
    },

    now: async () => Number((await askPool(`SELECT ${NOW_MS}`))[0]?.[0]),

    snapshot: () =>
      transact(async ({ ask }) => {
        const collections: Record<string, port.Stored[]> = {};
        for (const [name, layout] of layouts) {
          const records: port.Stored[] = [];
          for await (const record of layout.records(ask)) records.push(record);
          collections[name] = records;
        }
        return { format: 1, collections };
      }),

    /** Readers go on meanwhile, and who writes waits. */
    async restore(data) {
      const tables = tablesOf(collections);
      const refusal = (fault: string) => new StoreRefusal(`The data cannot be used: ${fault}`);
      await inSteps(load(tables, Object.entries(data.collections), refusal));
      const all = Array.from(layouts.values(), ({ table }) => table);
      await transact(async ({ ask }) => {
        await ask(`LOCK TABLE ${all.join(", ")} IN EXCLUSIVE MODE`);
        for (const table of all) await ask(`DELETE FROM ${table}`);
        for (const [name, records] of recordsIn(tables))
          for (const record of records) await named(layouts, name).put(ask, trusted(record));
      });
    },

    /** What was asked for before comes to its end. */
    async close() {
      const was = life;
      life = "closed";
      renewal?.cancel();
      renewal = undefined;
      await Promise.allSettled(running);
      if (typeof was !== "string") await Promise.all([was.pool.end(), was.line.end()]);
    },
  };
}
