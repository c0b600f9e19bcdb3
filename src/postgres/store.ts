// The store behind `--data postgres://…`, for several processes at once. Units of work are PostgreSQL's serializable
// transactions, and run again where it asks for that; what they tell others goes by NOTIFY; a lease is a row that runs out
// soon, and that its holder renews. How durable a commit is, the database is set to.
import { AsyncLocalStorage } from "node:async_hooks";
import { hash } from "node:crypto";
import type * as port from "../domain/store.ts";
import { StorageUnavailable, StoreOpenError, UniqueViolation } from "../domain/store.ts";
import { after, monotonicNow, type Timer } from "../lib/clock.ts";
import { systemRandom } from "../lib/ids.ts";
import { OptionError, unsafeCast } from "../lib/schema.ts";
import { Mutex, runCooperatively } from "../lib/tasks.ts";
import { Subscribers } from "../store/subscribers.ts";
import { createTables, load, lookup } from "../store/tables.ts";
import * as sql from "./tables.ts";

/** Of the driver, which is the user's to install, what is used here. */
interface Client {
  query(query: string | object): Promise<{ readonly rows: sql.Rows }>;
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
/** Whoever has said nothing for so long is gone: its leases and its transaction end. */
const GONE_MS = 6_000;
/** Who waits for it begins anew before: else the sessions of one that is gone would have their turns, one by one. */
const WAIT_MS = GONE_MS - 1_000;
/** It renews the leases well before, and asks anew where that takes long. */
const [RENEW_MS, LATE_MS] = [1_000, 1_500];
/** A database that has answered no renewal for so long was away, and after so many more the other holders have renewed. */
const [SILENT_MS, BACK] = [3_000, 4];
const RUNS_MAX = 20;
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
    throw new OptionError("PostgreSQL needs a driver that is not installed here: npm install pg", {
      cause,
    });
  });
  const pool: Pool = new pg.Pool({
    connectionString: url.href,
    connectionTimeoutMillis: AWAY_MS,
    idle_in_transaction_session_timeout: GONE_MS,
    ...more,
  });
  pool.on("error", () => undefined); // nobody asked; the next one gets another session
  pool.on("connect", (client) => client.on("error", () => undefined)); // whoever asks is told
  return pool;
}

const codeOf = (error: unknown): string => String(Object(error).code ?? "");
const saidBy = (error: unknown): string => Object(error).message || codeOf(error) || String(error);

/** In the port's terms. What PostgreSQL finds wrong with a statement, or with what it was given, is a fault of ours. */
function fail(cause: unknown): never {
  const code = codeOf(cause);
  if (code === "23505") throw new UniqueViolation(saidBy(cause), { cause });
  if (/^(22|23|42)/.test(code)) throw cause;
  throw new StorageUnavailable(`The database could not do this: ${saidBy(cause)}`, { cause });
}

/** Units of work were in each other's way: this one has to be done again. */
const isAgain = (error: unknown): boolean =>
  /^(40001|40P01|55P03)$/.test(codeOf(Object(error).cause));

/** A session prepares each text once, by its hash. Rows are read as they come, so that a long answer holds nobody up. */
async function ask(
  of: Pick<Client, "query">,
  text: string,
  values: sql.Values = [],
): Promise<sql.Rows> {
  const how = {
    name: hash("sha256", text, "base64"),
    rowMode: "array",
    types: { getTypeParser: () => JSON.parse },
  };
  return (await of.query({ ...how, text, values }).catch(fail)).rows;
}

/** What is told goes as words that need no quotes. */
const wordOf = (text: string): string => Buffer.from(text, "utf16le").toString("base64");
const textIn = (word = ""): string => Buffer.from(word, "base64").toString("utf16le");

const NOW_MS = "floor(extract(epoch FROM clock_timestamp()) * 1000)";
/** What has run out is free, but not to a question that is answered long after the last renewal of who asks. */
const TAKE = `INSERT INTO apphost_leases AS held (name, holder, until)
  VALUES ($1, $2, clock_timestamp() + $3 * interval '1 ms')
  ON CONFLICT (name) DO UPDATE SET (holder, until) = (excluded.holder, excluded.until)
  WHERE held.until <= clock_timestamp() AND ${NOW_MS} <= $4::float + ${SILENT_MS} RETURNING 1`;
/** The line waits for no disk: what a crash of the database forgets of its renewals and releases has run out soon. */
const LISTEN = `DO $$ BEGIN SET synchronous_commit = off; EXECUTE 'LISTEN ' || ${sql.CHANNEL}; END $$`;
const RENEW = `WITH renewed AS (UPDATE apphost_leases SET until = clock_timestamp() + interval '${GONE_MS} ms'
  WHERE holder = ANY($1)) SELECT ${NOW_MS}`;
const RELEASE = "DELETE FROM apphost_leases WHERE name = $1 AND holder = $2";

/** One run of a unit of work. */
type Run = port.Tx & { readonly ask: sql.Ask; isOver: boolean };

/** The line has one session, which hears, renews and releases: others' work must not hold it up. */
type Opened = Readonly<Record<"pool" | "line", Pool>>;

export function postgresStore(address: string, monotonic = monotonicNow): port.Store {
  let declared: readonly port.AnyCollection[] | undefined;
  let opened: Opened | undefined;
  const hearers = new Subscribers();
  /** By which it knows what it has told itself. */
  const us = systemRandom(12).toString("hex");
  const running = new Set<Promise<unknown>>();
  /** The unit of work that whoever asks is part of. */
  const inside = new AsyncLocalStorage<Run>();
  /** What has to run again does so one after the other: so it is not in the way of its like once more. */
  const again = new Mutex();
  /** The leases that are held here: the number of each taking, and its end. One that nobody here knows of runs out. */
  const held = new Map<number, number>();
  /** The last renewal, by the database's clock, and how many there were since the database was away. */
  let renewed = { at: 0, times: 0 };
  /** None while it renews. */
  let renewal: Timer | undefined;

  async function during<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
    if (inside.getStore()?.isOver === false)
      throw new Error(
        "A unit of work may only ask its own transaction; this one asked the store itself",
      );
    if (opened === undefined) throw new Error("The store is not open");
    const run = work(opened);
    running.add(run);
    return run.finally(() => running.delete(run));
  }

  const askPool: sql.Ask = (text, values) => during(({ pool }) => ask(pool, text, values));

  const transact = <T>(work: (run: Run) => Promise<T>): Promise<T> =>
    during(async ({ pool }) => {
      const once = () => attempt(pool, "BEGIN ISOLATION LEVEL SERIALIZABLE", work);
      for (let run = 1; ; run += 1)
        try {
          return await (run === 1 ? once() : again.run(once));
        } catch (error) {
          if (!isAgain(error) || run === RUNS_MAX) throw error;
          // Up to 4 ms more each time, as other processes know nothing of these turns.
          await new Promise<void>((go) => after((run * systemRandom(1).readUInt8()) / 64, go));
        }
    });

  /** Its session does one thing after the other, and nothing more once one has failed: that is what it rejects with. */
  async function attempt<T>(pool: Pool, begin: string, work: (run: Run) => Promise<T>): Promise<T> {
    const client = await pool.connect().catch(fail);
    const reported = new Set<string>();
    const assertRuns = () => {
      if (run.isOver) throw new Error("This unit of work is over: its transaction answers no more");
    };
    let asked = ask(client, begin);
    const askOwn: sql.Ask = async (text, values) => {
      assertRuns();
      asked = asked.then(() => ask(client, text, values));
      return asked;
    };
    const run: Run = {
      ...sql.unitOf(askOwn),
      isOver: false,
      ask: askOwn,
      publish(topic, subject) {
        assertRuns();
        reported.add(`${us} ${wordOf(topic)} ${wordOf(subject)}`);
      },
    };
    try {
      await asked;
      const working = inside.run(run, async () => work(run));
      const value = await working.finally(() => {
        run.isOver = true;
        return asked;
      });
      await commit(client, reported);
      client.release();
      return value;
    } catch (error) {
      // A session that can begin anew is the pool's again, and one that cannot is nobody's.
      if (error instanceof StorageUnavailable && !isAgain(error)) client.release(error);
      else client.query("ROLLBACK").then(() => client.release(), client.release);
      throw error;
    }
  }

  /**
   * And tells. Where PostgreSQL itself says that it did not commit, it did not; where nothing comes back nobody knows, and
   * whoever hears of it in this process is to look.
   */
  async function commit(client: Client, sentence: ReadonlySet<string>): Promise<void> {
    const notes = Array.from(sentence, (note) => `'${note}'`);
    const tell = `SELECT pg_notify(${sql.CHANNEL}, note) FROM unnest(ARRAY[${notes}]) AS note; `;
    const end: unknown = await client
      .query(`${notes.length > 0 ? tell : ""}COMMIT`)
      .catch((error: unknown) => error);
    if (Object(end).severity !== undefined && !/^(08|57)/.test(codeOf(end))) fail(end);
    for (const note of sentence) hear(note.split(" "));
    // No `StorageUnavailable`, which says that nothing was kept.
    if (end instanceof Error)
      throw new Error("The database was lost at a commit: whether it was kept is not known", {
        cause: end,
      });
  }

  const hear = ([, topic, subject]: readonly string[]) =>
    hearers.publish(textIn(topic), textIn(subject));

  /** Asks its one session, which is a new one where the old is lost, to hear others and to renew the leases. */
  const renew = () =>
    during(async ({ line }) => {
      const now = monotonic();
      // What ends before it would be renewed again is left to run out.
      const ours = Array.from(held).flatMap(([taking, ends]) =>
        ends - now > GONE_MS - RENEW_MS ? taking : [],
      );
      await ask(line, LISTEN);
      const at = Number((await ask(line, RENEW, [ours]))[0]?.[0]);
      renewed = { at, times: at > renewed.at + SILENT_MS ? 1 : renewed.times + 1 };
    });

  /** Each second, since nobody tells of a line that is dead, and at once where the session is lost. */
  async function tend(): Promise<void> {
    renewal?.cancel();
    renewal = undefined;
    await renew()
      .catch(renew)
      .catch(() => undefined); // whoever asks is told
    if (opened) renewal = after(RENEW_MS, tend);
  }

  return {
    ...sql.readerOf(askPool),
    transact,
    subscribe: (topic, received) => hearers.subscribe(topic, received),

    async open(collections) {
      if (declared) throw new Error("A store is opened once");
      declared = collections;
      const first = await poolOf(address, { max: 1 });
      await attempt(first, "BEGIN", ({ ask }) => sql.prepare(ask, collections))
        .catch((cause: unknown) => {
          throw new StoreOpenError(`The database cannot be used: ${saidBy(cause)}`, { cause });
        })
        .finally(() => first.end());
      const line = await poolOf(address, { max: 1, query_timeout: LATE_MS });
      line.on("connect", (client) =>
        client.on(
          "notification",
          ({ payload }) => payload.startsWith(us) || hear(payload.split(" ")),
        ),
      );
      line.on("error", tend); // lost while nothing was asked of it; what is refused is asked again later
      opened = {
        line,
        pool: await poolOf(address, { query_timeout: AWAY_MS, lock_timeout: WAIT_MS }),
      };
      await tend();
    },

    async lease(name, for_ms) {
      const began = monotonic();
      const [key, taking] = [sql.keyOf([name]), systemRandom(6).readUIntBE(0, 6)];
      // While others may not have renewed yet, only what nobody holds is free.
      const asked = renewed.times < BACK ? 0 : renewed.at;
      const [taken] = await askPool(TAKE, [key, taking, Math.min(for_ms, GONE_MS), asked]);
      // One that is told of so late may be another's already.
      if (taken === undefined || monotonic() - began > GONE_MS) return undefined;
      held.set(taking, began + for_ms);
      return {
        async release() {
          held.delete(taking);
          // It runs out where that fails; then the line may be lost.
          await during(({ line }) => ask(line, RELEASE, [key, taking])).catch(
            () => void (renewal && tend()),
          );
        },
      };
    },

    now: async () => Number((await askPool(`SELECT ${NOW_MS}`))[0]?.[0]),

    snapshot: () =>
      transact(async ({ ask }) => {
        const lists = (declared ?? []).map(async (each) => [
          each.name,
          await sql.recordsOf(ask, each),
        ]);
        return { format: 1, collections: Object.fromEntries(await Promise.all(lists)) };
      }),

    /** Readers go on meanwhile, and who writes waits. */
    async restore(data) {
      const tables = createTables(declared ?? []);
      const appError = (fault: string) => new StoreOpenError(`The data cannot be used: ${fault}`);
      await runCooperatively(load(tables, Object.entries(data.collections), appError));
      await transact(async ({ ask, put }) => {
        const all = (declared ?? []).map(sql.tableOf);
        await ask(`LOCK TABLE ${all.join(", ")} IN EXCLUSIVE MODE`);
        for (const table of all) await ask(`DELETE FROM ${table}`);
        for (const each of declared ?? [])
          for (const record of lookup(tables, each.name).records())
            await put(each, unsafeCast(record));
      });
    },

    /** What was asked for before comes to its end. */
    async close() {
      const was = opened;
      opened = undefined;
      renewal?.cancel();
      await Promise.allSettled(running);
      if (was) await Promise.all([was.pool.end(), was.line.end()]);
    },
  };
}
