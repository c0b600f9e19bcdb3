// The store behind `--data postgres://…`, for several processes at once. Each collection is a table: the record as JSON text,
// a sequence for creation order, and for each index and unique key a column with its values, made here, since SQL could
// not read every string that a record may hold. Units of work are PostgreSQL's serializable transactions and run again where
// it asks for that; what they tell goes by NOTIFY, which is in the order of commits; a lease is a row that counts as long
// as its holder has a session. The driver, `pg`, is the user's to install. It promises what the database is set to promise.
import { hash } from "node:crypto";
import type * as port from "../domain/store.ts";
import { StorageUnavailable, StoreRefusal, UniqueViolation } from "../domain/store.ts";
import { inSteps, Turns } from "../kit/background.ts";
import { realClock, type Scheduled } from "../kit/clock.ts";
import { systemRandom } from "../kit/ids.ts";
import { OptionError, trusted } from "../kit/schema.ts";
import type { Fields } from "./indexes.ts";
import { Hearers, named } from "./memory.ts";
import { load, recordsIn, tablesOf } from "./tables.ts";

/** What is used of the driver. */
interface Driver {
  readonly Client: new (settings: object) => Client;
  readonly Pool: new (settings: object) => Pool;
}
interface Client {
  query(query: string | object): Promise<{ readonly rows: Rows }>;
  connect(): Promise<unknown>;
  on(event: string, happened: (what: { readonly payload: string }) => void): unknown;
  end(): Promise<unknown>;
}
interface Lent extends Client {
  release(isBroken: boolean): void;
}
interface Pool {
  connect(): Promise<Lent>;
  on(event: string, happened: (client: Client) => void): unknown;
  end(): Promise<unknown>;
}
type Rows = readonly (readonly unknown[])[];
type Values = readonly unknown[];

/** In a variable, since where it is not installed its types are not either. */
const DRIVER = "pg";
/** What the tables look like; whoever changes that counts on. */
const FORMAT = "format 1";
const CONNECTIONS = 10;
const CONNECT_MS = 10_000;
/** Longer than any statement of a request takes: the database is out of reach. */
const STATEMENT_MS = 30_000;
/** A unit of work never pauses: whoever does so is frozen, and the others want what it has locked. */
const FROZEN_MS = 5_000;
const TEND_MS = 1_000;
const RUNS_MAX = 20;
const PAUSE_MAX_MS = 64;
/** After the database's own start its sessions come back; before that nobody counts as gone. */
const BACK_S = 10;
const BATCH = 100;
/** An index takes 2,700 bytes. */
const KEY_MAX = 800;
/** A notification takes 8,000 bytes. */
const PIECES = /.{1,7000}/g;

const UNKNOWN = "The database was lost at a commit: whether it was kept is not known";
const WAITED = "A unit of work may only await its own transaction; this one waited for something else and was given up";

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** JSON tells values of different kinds apart, and has an escape for what PostgreSQL's text cannot hold. */
function keyOf(values: Values): string | null {
  if (values.some((value) => value === null || value === undefined)) return null;
  const key = JSON.stringify(values);
  return key.length > KEY_MAX ? hash("sha256", key) : key;
}

/** Bytes that compare as JavaScript compares text. */
const orderOf = (value: unknown): Buffer => Buffer.from(String(value), "utf16le").swap16();

/** Units of work were in each other's way: this one has to be done again. */
class Again extends StorageUnavailable {}

/** What may be or not be. */
class Unknown extends Error {}

const codeOf = (error: unknown): string => String(Object(error).code ?? "");

/** In the port's terms; what PostgreSQL finds wrong with a statement or with what it was given is a fault of ours. */
function told(error: unknown): unknown {
  const { message = String(error) } = Object(error);
  if (/^40(001|P01)$/.test(codeOf(error))) return new Again(`${RUNS_MAX} runs were not enough: ${message}`);
  if (codeOf(error) === "23505") return new UniqueViolation(message, { cause: error });
  if (/^(22|23|42)/.test(codeOf(error))) return error;
  return new StorageUnavailable(`The database does not answer (${message || codeOf(error)})`, { cause: error });
}

const answered = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((error: unknown) => {
    throw told(error);
  });

/** A statement is prepared once for each session. */
const names = new Map<string, string>();
async function ask(client: Client, text: string, values: Values = [], isKept = true): Promise<Rows> {
  const name = names.get(text) ?? `apphost_${names.size}`;
  if (isKept) names.set(text, name);
  const query = { text, values, rowMode: "array" };
  return (await answered(client.query(isKept ? { ...query, name } : query))).rows;
}

const isLost = (error: unknown): boolean =>
  error instanceof Unknown || (error instanceof StorageUnavailable && !(error instanceof Again));

/** A session of its own for as long as it takes; one that is lost is nobody's any more. */
async function lent<T>(pool: Pool, use: (client: Client) => Promise<T>): Promise<T> {
  const client = await answered(pool.connect());
  try {
    const value = await use(client);
    client.release(false);
    return value;
  } catch (error) {
    client.release(isLost(error));
    throw error;
  }
}

/** Where PostgreSQL itself says that it did not commit, it did not; where nothing comes back nobody knows. */
async function committed(client: Client, before: string): Promise<void> {
  try {
    await client.query(`${before}COMMIT`);
  } catch (error) {
    if (Object(error).severity !== undefined && !/^(08|57)/.test(codeOf(error))) throw told(error);
    throw new Unknown(UNKNOWN, { cause: error });
  }
}

interface Column {
  readonly name: string;
  readonly type: string;
  readonly valueIn: (record: Fields) => unknown;
}

/** A collection's table. */
class Layout {
  readonly name: string;
  readonly table: string;
  readonly lists = new Map<string, { readonly where: string; readonly order: string }>();
  /** What makes it, line by line; the columns and indexes by the declaration that asks for them. */
  readonly made = new Map<string, readonly string[]>();
  readonly #columns: Column[] = [
    { name: "id", type: "", valueIn: ({ id }) => keyOf([id]) },
    { name: "record", type: "", valueIn: (record) => JSON.stringify(record) },
  ];

  constructor({ name, indexes, unique }: port.AnyCollection) {
    this.name = name;
    this.table = quoted(`apphost_${name}`);
    const place = 'seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text COLLATE "C" UNIQUE NOT NULL';
    this.made.set(name, [`CREATE TABLE ${this.table} (${place}, record text NOT NULL)`]);
    for (const [key, { by, order }] of Object.entries<port.AnyCollection["indexes"][string]>(indexes))
      this.#add("index", key, by, order);
    for (const [key, by] of Object.entries<readonly string[]>(unique)) this.#add("unique", key, by);
  }

  #add(kind: "index" | "unique", key: string, by: readonly string[], order?: string): void {
    const isIn = (record: Fields) => order === undefined || (record[order] ?? null) !== null;
    const values = (record: Fields) => (isIn(record) ? keyOf(by.map((field) => record[field])) : null);
    const added: Column[] = [{ name: quoted(`${kind}_${key}`), type: 'text COLLATE "C"', valueIn: values }];
    if (order !== undefined) {
      const valueIn = (record: Fields) => (values(record) === null ? null : orderOf(record[order]));
      added.push({ name: quoted(`order_${key}`), type: "bytea", valueIn });
    }
    this.#columns.push(...added);
    const [where = "", ...then] = [...added.map(({ name }) => name), ...(kind === "index" ? ["seq"] : [])];
    this.lists.set(`${kind} ${key}`, { where: `${where} = $1`, order: then.join(", ") });
    this.made.set(JSON.stringify([this.name, kind, key, by, order]), [
      `ALTER TABLE ${this.table} ${added.map(({ name, type }) => `ADD COLUMN ${name} ${type}`).join(", ")}`,
      `CREATE ${kind === "unique" ? kind : ""} INDEX ON ${this.table} (${[where, ...then].join(", ")}) WHERE ${where} IS NOT NULL`,
    ]);
  }

  /** The statement that creates or replaces records, and its values. */
  put(...records: readonly Fields[]): readonly [text: string, values: Values] {
    const columns = this.#columns.map(({ name }) => name);
    const values = records.flatMap((record) => this.#columns.map(({ valueIn }) => valueIn(record)));
    const rows = records.map((_, row) => `(${columns.map((_, n) => `$${row * columns.length + n + 1}`).join(", ")})`);
    const replaced = columns.slice(1).map((name) => `${name} = excluded.${name}`);
    const into = `INSERT INTO ${this.table} (${columns.join(", ")}) VALUES ${rows.join(", ")}`;
    return [`${into} ON CONFLICT (id) DO UPDATE SET ${replaced.join(", ")}`, values];
  }
}

/** Puts the port's questions into SQL. A collection's type vouches for that of its records. */
abstract class Reading implements port.Reader {
  abstract ask(text: string, values?: Values, isKept?: boolean): Promise<Rows>;
  abstract layout(of: { readonly name: string }): Layout;

  async get<R extends port.Stored>(from: port.Collection<R>, id: string): Promise<R | undefined> {
    return (await this.#records<R>(from, "WHERE id = $1", [keyOf([id])]))[0];
  }

  async find<R extends port.Stored>(from: port.Collection<R>, unique: string, values: port.Values) {
    const { where } = named(this.layout(from).lists, `unique ${unique}`);
    return (await this.#records<R>(from, `WHERE ${where}`, [keyOf(values)]))[0];
  }

  async page<R extends port.Stored>(from: port.Collection<R>, index: string, values: port.Values, span: port.Span) {
    const { where, order } = named(this.layout(from).lists, `index ${index}`);
    const part = `WHERE ${where} ORDER BY ${order} OFFSET $2 LIMIT $3`;
    return this.#records<R>(from, part, [keyOf(values), span.offset, span.limit]);
  }

  async count<R extends port.Stored>(from: port.Collection<R>, index: string, values: port.Values): Promise<number> {
    const { table, lists } = this.layout(from);
    const { where } = named(lists, `index ${index}`);
    const [row] = await this.ask(`SELECT count(*) FROM ${table} WHERE ${where}`, [keyOf(values)]);
    return Number(row?.[0]);
  }

  async #records<R>(from: { readonly name: string }, part: string, values: Values): Promise<R[]> {
    const rows = await this.ask(`SELECT record FROM ${this.layout(from).table} ${part}`, values);
    return rows.map(([record]) => JSON.parse(String(record)));
  }
}

/** One run of a unit of work. */
class Run extends Reading implements port.Tx {
  readonly told = new Map<string, Set<string>>();
  readonly layout: Reading["layout"];
  readonly #client: Client;
  #giveUp: (why: Error) => void = () => undefined;
  #asked = 0;
  #isOver = false;
  /** The session does one thing after the other, and nothing more after one that failed. */
  #last: Promise<unknown> = Promise.resolve();
  #failed: { readonly error: unknown } | undefined;

  constructor(client: Client, layout: Reading["layout"]) {
    super();
    this.#client = client;
    this.layout = (of) => {
      this.#assertRuns();
      return layout(of);
    };
  }

  ask(text: string, values: Values = [], isKept = true): Promise<Rows> {
    this.#assertRuns();
    this.#asked += 1;
    const answer = this.#last.then(() => {
      if (this.#failed !== undefined) throw this.#failed.error;
      return ask(this.#client, text, values, isKept);
    });
    const fail = (error: unknown) => {
      this.#failed ??= { error };
    };
    this.#last = answer
      .then(() => undefined, fail)
      .then(() => {
        this.#asked -= 1;
        this.#watch();
      });
    return answer;
  }

  /** At the end of a turn of the event loop the work has asked for something again, or is done. */
  #watch(): void {
    setImmediate(() => {
      if (this.#asked === 0) this.#giveUp(new Error(WAITED));
    });
  }

  /** Rejects with the first thing that failed, whatever the work has made of it. */
  async do<T>(work: (run: Run) => Promise<T>): Promise<T> {
    const begin = async () => work(this);
    const waits = new Promise<never>((_, reject) => {
      this.#giveUp = reject;
    });
    this.#watch();
    const done = await Promise.race([begin(), waits]).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    this.#isOver = true;
    await this.#last;
    if (this.#failed !== undefined) throw this.#failed.error;
    if ("error" in done) throw done.error;
    return done.value;
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
    if (this.#isOver) throw new Error("This unit of work is over: its transaction answers no more");
  }
}

/** The session that stands for this process: it hears what is told, and what it leases is its own as long as it lasts. */
class Presence {
  /** While the session holds a lock of this number, others know that the leases have a holder. */
  readonly holder = Array.from({ length: 6 }, systemRandom).reduce((number, byte) => number * 256 + byte, 0);
  readonly #make: () => Client;
  readonly #channel: string;
  readonly #hearers: Hearers;
  /** The units of work that wait until it is their turn to be heard. */
  readonly #waiting = new Map<number, (isHeard: boolean) => void>();
  #session: Client | undefined;
  #next: Scheduled | undefined;
  #isOver = false;
  #count = 0;
  #heard = "";

  constructor(make: () => Client, channel: string, hearers: Hearers) {
    this.#make = make;
    this.#channel = channel;
    this.#hearers = hearers;
  }

  async begin(): Promise<void> {
    const session = this.#make();
    session.on("error", () => this.#lose(session));
    session.on("end", () => this.#lose(session));
    session.on("notification", ({ payload }) => this.#hear(payload));
    await session.connect();
    this.#session = session;
    await session.query(`LISTEN ${this.#channel}; SELECT pg_advisory_lock_shared(${this.holder})`);
    this.#next ??= this.#tend();
  }

  /** Now and then: asks whether the session lives, since nobody tells of a line that is dead; or begins another. */
  #tend(): Scheduled {
    return realClock.schedule(realClock.now() + TEND_MS, null, async () => {
      const session = this.#session;
      await (session?.query("SELECT") ?? this.begin()).catch(() => this.#lose(session));
      if (!this.#isOver) this.#next = this.#tend();
    });
  }

  /** What is told meanwhile by others is missed: who must miss nothing looks now and then. */
  #lose(session: Client | undefined): void {
    if (session !== this.#session) return;
    this.#session = undefined;
    this.#heard = "";
    for (const resolve of this.#waiting.values()) resolve(false);
    this.#waiting.clear();
    void session?.end();
  }

  /** The statements that tell it with the commit, in pieces since one may be too long. */
  notice(told: Run["told"]) {
    this.#count += 1;
    const number = this.#count;
    const lists = Array.from(told, ([topic, subjects]) => [topic, ...subjects]);
    const text = Buffer.from(JSON.stringify([this.holder, number, lists])).toString("base64");
    const pieces = text.match(PIECES) ?? [];
    const notify = (piece: string, n: number) => `NOTIFY ${this.#channel}, '${pieces.length - 1 - n} ${piece}'; `;
    const heard = new Promise<boolean>((resolve) => {
      if (this.#session === undefined) resolve(false);
      else this.#waiting.set(number, resolve);
    });
    return { sql: pieces.map(notify).join(""), heard, drop: () => void this.#waiting.delete(number) };
  }

  #hear(payload: string): void {
    const [left, piece = ""] = payload.split(" ");
    this.#heard += piece;
    if (left !== "0") return;
    const [holder, number, lists] = JSON.parse(Buffer.from(this.#heard, "base64").toString());
    this.#heard = "";
    for (const [topic, ...subjects] of lists) for (const subject of subjects) this.#hearers.tell(topic, subject);
    if (holder !== this.holder) return;
    this.#waiting.get(number)?.(true);
    this.#waiting.delete(number);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    this.#next?.cancel();
    await this.#session?.end();
  }
}

const LEASES = `CREATE TABLE IF NOT EXISTS apphost_leases
  (name text COLLATE "C" PRIMARY KEY, holder bigint NOT NULL, mark bigint NOT NULL, until timestamptz NOT NULL)`;
/** Free is what has run out, and what a holder without a session has left behind. */
const TAKE = `INSERT INTO apphost_leases AS held (name, holder, mark, until)
  VALUES ($1, $2, $3, clock_timestamp() + $4 * interval '1 ms')
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, mark = excluded.mark, until = excluded.until
  WHERE held.until <= clock_timestamp() OR (pg_try_advisory_xact_lock(held.holder)
    AND pg_postmaster_start_time() < clock_timestamp() - interval '${BACK_S} s')
  RETURNING mark`;
const RELEASE = "DELETE FROM apphost_leases WHERE name = $1 AND holder = $2 AND mark = $3";

/** Makes what is not there yet. Answers the channel on which those who share the tables hear each other. */
async function prepare(session: Client, layouts: Iterable<Layout>): Promise<string> {
  const [[channel] = []] = await ask(session, "SELECT 'apphost_' || md5(current_schema())");
  await session.query(`BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('${channel}', 0))`);
  await session.query(`${LEASES}; CREATE TABLE IF NOT EXISTS apphost_declared (line text PRIMARY KEY)`);
  const found = new Set((await ask(session, "SELECT line FROM apphost_declared")).map(([line]) => String(line)));
  const all = new Map(Array.from(layouts, ({ made }) => [...made]).flat());
  for (const line of found)
    if (line !== FORMAT && !all.has(line))
      throw new StoreRefusal(
        `The database was written by a newer version of this service (it has ${line}). Start that one.`,
      );
  for (const layout of layouts) {
    const lines = [...layout.made].filter(([line]) => !found.has(line));
    for (const [, statements] of lines) await session.query(statements.join("; "));
    if (lines.length > 0 && found.has(layout.name)) await fill(session, layout);
  }
  for (const line of [FORMAT, ...all.keys()])
    if (!found.has(line)) await ask(session, "INSERT INTO apphost_declared VALUES ($1)", [line]);
  await session.query("DELETE FROM apphost_leases WHERE until <= clock_timestamp(); COMMIT");
  return String(channel);
}

/** The keys of records that were written before an index was declared. */
async function fill(session: Client, layout: Layout): Promise<void> {
  for await (const records of recordsOf(layout, (...query) => ask(session, ...query)))
    for (const record of records) await ask(session, ...layout.put(record));
}

async function* recordsOf({ table }: Layout, ask: (text: string, values: Values) => Promise<Rows>) {
  for (let after: unknown = 0; after !== undefined; ) {
    const rows = await ask(`SELECT seq, record FROM ${table} WHERE seq > $1 ORDER BY seq LIMIT ${BATCH}`, [after]);
    yield rows.map(([, record]): Fields => JSON.parse(String(record)));
    after = rows.at(-1)?.[0];
  }
}

interface Opened {
  readonly collections: readonly port.AnyCollection[];
  readonly layouts: ReadonlyMap<string, Layout>;
  readonly pool: Pool;
  readonly presence: Presence;
}

/** What the address does not say. A unit of work looks at lists by their indexes only: else it would be in everybody's way. */
function settingsOf(address: string) {
  const url = new URL(address);
  const options = ["-c enable_seqscan=off", url.searchParams.get("options") ?? ""].join(" ");
  url.searchParams.set("options", options);
  return {
    connectionString: url.href,
    fallback_application_name: "app-hosting-service",
    connectionTimeoutMillis: CONNECT_MS,
    idle_in_transaction_session_timeout: FROZEN_MS,
    keepAlive: true,
    max: CONNECTIONS,
  };
}

async function driver(): Promise<Driver> {
  try {
    return (await import(DRIVER)).default;
  } catch (error) {
    if (codeOf(error) !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new OptionError("PostgreSQL needs a driver that is not installed: npm install pg", { cause: error });
  }
}

export const postgresStore = (address: string): port.Store => new PostgresStore(address);

class PostgresStore extends Reading implements port.Store {
  readonly #address: string;
  readonly #hearers = new Hearers();
  readonly #running = new Set<Promise<unknown>>();
  /** What has to run again does so one after the other: so those are not in each other's way once more. */
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
    const { Client, Pool } = await driver();
    const settings = settingsOf(this.#address);
    const layouts = new Map(collections.map((collection) => [collection.name, new Layout(collection)]));
    const first = new Client(settings);
    first.on("error", () => undefined); // what is asked of it then rejects
    try {
      await first.connect();
      const channel = await prepare(first, [...layouts.values()]);
      const make = () => new Client({ ...settings, query_timeout: FROZEN_MS });
      const presence = new Presence(make, channel, this.#hearers);
      await presence.begin();
      const pool = new Pool({ ...settings, query_timeout: STATEMENT_MS });
      pool.on("error", () => undefined); // of a session that nobody uses; the next one is another
      pool.on("connect", (client) => client.on("error", () => undefined));
      this.#life = { collections, layouts, pool, presence };
    } catch (error) {
      if (error instanceof StoreRefusal) throw error;
      const { message } = Object(error);
      throw new StoreRefusal(`The database cannot be used (${message || codeOf(error)}).`, { cause: error });
    } finally {
      await first.end();
    }
  }

  layout({ name }: { readonly name: string }): Layout {
    return named(this.#opened().layouts, name);
  }

  ask(text: string, values?: Values): Promise<Rows> {
    return this.#during(({ pool }) => lent(pool, (client) => ask(client, text, values)));
  }

  transact<T>(work: (run: Run) => Promise<T>): Promise<T> {
    return this.#during(async (opened) => {
      const { value } =
        (await this.#attempt(opened, work)) ?? (await this.#again.run(() => this.#repeat(opened, work)));
      return value;
    });
  }

  async #repeat<T>(opened: Opened, work: (run: Run) => Promise<T>) {
    for (let run = 2; ; run += 1) {
      await new Promise<void>((go) => {
        const pause_ms = (Math.min(2 ** run, PAUSE_MAX_MS) * systemRandom()) / 256;
        realClock.schedule(realClock.now() + pause_ms, null, go);
      });
      const outcome = await this.#attempt(opened, work, run === RUNS_MAX);
      if (outcome !== undefined) return outcome;
    }
  }

  /** Answers nothing where it has to be done again. */
  #attempt<T>({ pool, presence }: Opened, work: (run: Run) => Promise<T>, isLast = false) {
    return lent(pool, async (client) => {
      try {
        await answered(client.query("BEGIN ISOLATION LEVEL SERIALIZABLE"));
        const run = new Run(client, (of) => this.layout(of));
        const value = await run.do(work);
        await this.#commit(client, presence, run.told);
        return { value };
      } catch (error) {
        if (!isLost(error)) await answered(client.query("ROLLBACK"));
        if (error instanceof Again && !isLast) return undefined;
        throw error;
      }
    });
  }

  async #commit(client: Client, presence: Presence, told: Run["told"]): Promise<void> {
    if (told.size === 0) return void (await committed(client, ""));
    const { sql, heard, drop } = presence.notice(told);
    await committed(client, sql).catch((error) => {
      drop();
      throw error;
    });
    if (await heard) return;
    for (const [topic, subjects] of told) for (const subject of subjects) this.#hearers.tell(topic, subject);
  }

  hear(topic: string, heard: (subject: string) => void): () => void {
    return this.#hearers.hear(topic, heard);
  }

  async lease(name: string, for_ms: number): Promise<port.Lease | undefined> {
    const { holder } = this.#opened().presence;
    this.#marks += 1;
    const mine = [keyOf([name]), holder, this.#marks];
    const taken = await this.ask(TAKE, [...mine, for_ms]);
    return taken.length === 0 ? undefined : { release: async () => void (await this.ask(RELEASE, mine)) };
  }

  async now(): Promise<number> {
    const [row] = await this.ask("SELECT extract(epoch FROM clock_timestamp()) * 1000");
    return Math.floor(Number(row?.[0]));
  }

  async snapshot(): Promise<port.StoreData> {
    const { layouts } = this.#opened();
    return this.transact(async (run) => {
      const collections = new Map<string, readonly port.Stored[]>();
      for (const [name, layout] of layouts) {
        const records: Fields[] = [];
        for await (const batch of recordsOf(layout, (...query) => run.ask(...query))) records.push(...batch);
        collections.set(name, records);
      }
      return { format: 1, collections: Object.fromEntries(collections) };
    });
  }

  async restore(data: port.StoreData): Promise<void> {
    const { collections, layouts } = this.#opened();
    const tables = tablesOf(collections);
    const refusal = (fault: string) => new StoreRefusal(`The data cannot be used: ${fault}`);
    await inSteps(load(tables, Object.entries(data.collections), refusal));
    const names = Array.from(layouts.values(), ({ table }) => table);
    await this.transact(async (run) => {
      await run.ask(`LOCK TABLE ${names.join(", ")} IN EXCLUSIVE MODE`);
      for (const [name, records] of recordsIn(tables)) {
        const layout = named(layouts, name);
        await run.ask(`DELETE FROM ${layout.table}`);
        for (let at = 0; at < records.length; at += BATCH)
          await run.ask(...layout.put(...trusted<Fields[]>(records.slice(at, at + BATCH))), false);
      }
    });
  }

  /** What was asked for before comes to its end. */
  close(): Promise<void> {
    const life = this.#life;
    this.#life = "closed";
    if (typeof life !== "string") this.#closing = this.#end(life);
    return this.#closing ?? Promise.resolve();
  }

  async #end({ presence, pool }: Opened): Promise<void> {
    await Promise.allSettled(this.#running);
    await presence.end();
    await pool.end();
  }

  async #during<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
    const running = work(this.#opened());
    this.#running.add(running);
    return await running.finally(() => this.#running.delete(running));
  }

  #opened(): Opened {
    if (typeof this.#life === "string") throw new Error(`The store is ${this.#life}, not open`);
    return this.#life;
  }
}
