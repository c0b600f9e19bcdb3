// The store behind `--data postgres://…`, for several processes at once. Units of work are serializable PostgreSQL
// transactions, retried when the database requires it. Notifications use NOTIFY. A lease is a row that expires soon
// unless its holder renews it. The database's settings determine the durability of commits.
import { AsyncLocalStorage } from "node:async_hooks";
import { hash } from "node:crypto";
import type * as port from "../domain/store.ts";
import { StorageUnavailable, StoreOpenError, UniqueViolation } from "../domain/store.ts";
import { after, monotonicNow, type Timer } from "../lib/clock.ts";
import { systemRandom } from "../lib/ids.ts";
import { OptionError, unsafeCast } from "../lib/schema.ts";
import { Mutex } from "../lib/tasks.ts";
import { Subscribers } from "../store/subscribers.ts";
import { createTables, load, lookup } from "../store/tables.ts";
import * as sql from "./tables.ts";

/** The part of the driver's API that is used; users install the driver themselves. */
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

/** A constant rather than a literal in the import, so that this compiles without the driver installed. */
const DRIVER = "pg";
/** Longer than any statement takes: past this, the database is out of reach. */
const AWAY_MS = 10_000;
/** A process that is silent for this long is considered dead: its leases and its transaction end. */
const GONE_MS = 6_000;
/** Lock waits time out before that: otherwise the sessions of a dead process would get their turns, one by one. */
const WAIT_MS = GONE_MS - 1_000;
/** Leases are renewed well before they expire; a renewal that takes too long is repeated. */
const [RENEW_MS, LATE_MS] = [1_000, 1_500];
/**
 * After this long without a renewal the database counts as away. After BACK renewals the other holders have renewed,
 * too.
 */
const [SILENT_MS, BACK] = [3_000, 4];
const RUNS_MAX = 20;
/**
 * Forces ordered index scans, because a scan of a whole table or list conflicts with every writer. Without an
 * alternative its estimated cost is so high that JIT would compile the query, which takes a second.
 */
const BY_INDEX = "-c enable_seqscan=off -c enable_bitmapscan=off -c enable_sort=off -c jit=off";

/** Creates a pool for the address, with further options. */
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
  pool.on("error", () => undefined); // no call is waiting; the next gets another session
  pool.on("connect", (client) => client.on("error", () => undefined)); // the pending call rejects
  return pool;
}

const codeOf = (error: unknown): string => String(Object(error).code ?? "");
const saidBy = (error: unknown): string => Object(error).message || codeOf(error) || String(error);

/** Maps errors to the port's. A PostgreSQL error about a statement or its values is a bug of ours and thrown as is. */
function fail(cause: unknown): never {
  const code = codeOf(cause);
  if (code === "23505") throw new UniqueViolation(saidBy(cause), { cause });
  if (/^(22|23|42)/.test(code)) throw cause;
  throw new StorageUnavailable(`The database could not do this: ${saidBy(cause)}`, { cause });
}

/** Whether units of work conflicted, so that this one must be retried. */
const isAgain = (error: unknown): boolean =>
  /^(40001|40P01|55P03)$/.test(codeOf(Object(error).cause));

/**
 * Runs a query that each session prepares once, named by its hash. Rows are parsed as they arrive, so that a long
 * result blocks nobody.
 */
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

/** Encodes text as base64, so that notifications need no quoting. */
const wordOf = (text: string): string => Buffer.from(text, "utf16le").toString("base64");
const textIn = (word = ""): string => Buffer.from(word, "base64").toString("utf16le");

const NOW_MS = "floor(extract(epoch FROM clock_timestamp()) * 1000)";
/** An expired lease is free, but not to a request that runs long after the caller's last renewal. */
const TAKE = `INSERT INTO apphost_leases AS held (name, holder, until)
  VALUES ($1, $2, clock_timestamp() + $3 * interval '1 ms')
  ON CONFLICT (name) DO UPDATE SET (holder, until) = (excluded.holder, excluded.until)
  WHERE held.until <= clock_timestamp() AND ${NOW_MS} <= $4::float + ${SILENT_MS} RETURNING 1`;
/** This session does not wait for the disk: a lost renewal or release only matters until the lease expires. */
const LISTEN = `DO $$ BEGIN SET synchronous_commit = off; EXECUTE 'LISTEN ' || ${sql.CHANNEL}; END $$`;
const RENEW = `WITH renewed AS (UPDATE apphost_leases SET until = clock_timestamp() + interval '${GONE_MS} ms'
  WHERE holder = ANY($1)) SELECT ${NOW_MS}`;
const RELEASE = "DELETE FROM apphost_leases WHERE name = $1 AND holder = $2";

/** One run of a unit of work. */
type Run = port.Tx & { readonly ask: sql.Ask; isOver: boolean };

/** `line` is one session that listens, renews and releases, so that other work cannot delay it. */
type Opened = Readonly<Record<"pool" | "line", Pool>>;

export function postgresStore(address: string, monotonic = monotonicNow): port.Store {
  let declared: readonly port.AnyCollection[] | undefined;
  let opened: Opened | undefined;
  const hearers = new Subscribers();
  /** Marks this process's own notifications. */
  const us = systemRandom(12).toString("hex");
  const running = new Set<Promise<unknown>>();
  /** The unit of work that the current call belongs to. */
  const inside = new AsyncLocalStorage<Run>();
  /** Retries run one after the other, so that they do not conflict with each other again. */
  const again = new Mutex();
  /** Leases held here: the number of each acquisition, and its end. All others expire. */
  const held = new Map<number, number>();
  /** The last renewal by the database's clock, and the number of renewals since the database was away. */
  let renewed = { at: 0, times: 0 };
  /** Undefined during a renewal. */
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
          // Waits up to 4 ms more each time, because other processes do not share this mutex.
          await new Promise<void>((go) => after((run * systemRandom(1).readUInt8()) / 64, go));
        }
    });

  /**
   * Runs the work in one session. Queries run in sequence, and none runs after an error, with which the attempt
   * rejects.
   */
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
      // A session that can roll back returns to the pool; any other is destroyed.
      if (error instanceof StorageUnavailable && !isAgain(error)) client.release(error);
      else client.query("ROLLBACK").then(() => client.release(), client.release);
      throw error;
    }
  }

  /**
   * Commits and publishes. If PostgreSQL reports an error, nothing was committed. If the connection is lost, the
   * outcome is unknown, and local subscribers are notified so that they check.
   */
  async function commit(client: Client, sentence: ReadonlySet<string>): Promise<void> {
    const notes = Array.from(sentence, (note) => `'${note}'`);
    const tell = `SELECT pg_notify(${sql.CHANNEL}, note) FROM unnest(ARRAY[${notes}]) AS note; `;
    const end: unknown = await client
      .query(`${notes.length > 0 ? tell : ""}COMMIT`)
      .catch((error: unknown) => error);
    if (Object(end).severity !== undefined && !/^(08|57)/.test(codeOf(end))) fail(end);
    for (const note of sentence) hear(note.split(" "));
    // Not `StorageUnavailable`, which would mean that nothing was stored.
    if (end instanceof Error)
      throw new Error("The database was lost at a commit: whether it was kept is not known", {
        cause: end,
      });
  }

  const hear = ([, topic, subject]: readonly string[]) =>
    hearers.publish(textIn(topic), textIn(subject));

  /** Listens and renews the leases on the line's session, which is replaced if it was lost. */
  const renew = () =>
    during(async ({ line }) => {
      const now = monotonic();
      // A lease that ends before its next renewal is left to expire.
      const ours = Array.from(held).flatMap(([taking, ends]) =>
        ends - now > GONE_MS - RENEW_MS ? taking : [],
      );
      await ask(line, LISTEN);
      const at = Number((await ask(line, RENEW, [ours]))[0]?.[0]);
      renewed = { at, times: at > renewed.at + SILENT_MS ? 1 : renewed.times + 1 };
    });

  /** Renews every second, because a dead connection is not reported, and at once if the session is lost. */
  async function tend(): Promise<void> {
    renewal?.cancel();
    renewal = undefined;
    await renew()
      .catch(renew)
      .catch(() => undefined); // the pending call rejects
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
      line.on("error", tend); // lost while idle; a failed renewal is repeated later
      opened = {
        line,
        pool: await poolOf(address, { query_timeout: AWAY_MS, lock_timeout: WAIT_MS }),
      };
      await tend();
    },

    async lease(name, for_ms) {
      const began = monotonic();
      const [key, taking] = [sql.keyOf([name]), systemRandom(6).readUIntBE(0, 6)];
      // While other holders may not have renewed yet, only unheld leases are free.
      const asked = renewed.times < BACK ? 0 : renewed.at;
      const [taken] = await askPool(TAKE, [key, taking, Math.min(for_ms, GONE_MS), asked]);
      // A lease granted this late may already belong to another process.
      if (taken === undefined || monotonic() - began > GONE_MS) return undefined;
      held.set(taking, began + for_ms);
      return {
        async release() {
          held.delete(taking);
          // If that fails the lease expires; the session may be lost.
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

    /** Readers continue meanwhile; writers wait. */
    async restore(data) {
      const tables = createTables(declared ?? []);
      const appError = (fault: string) => new StoreOpenError(`The data cannot be used: ${fault}`);
      load(tables, Object.entries(data.collections), appError);
      await transact(async ({ ask, put }) => {
        const all = (declared ?? []).map(sql.tableOf);
        await ask(`LOCK TABLE ${all.join(", ")} IN EXCLUSIVE MODE`);
        for (const table of all) await ask(`DELETE FROM ${table}`);
        for (const each of declared ?? [])
          for (const record of lookup(tables, each.name).records())
            await put(each, unsafeCast(record));
      });
    },

    /** Calls made before run to completion. */
    async close() {
      const was = opened;
      opened = undefined;
      renewal?.cancel();
      await Promise.allSettled(running);
      if (was) await Promise.all([was.pool.end(), was.line.end()]);
    },
  };
}
