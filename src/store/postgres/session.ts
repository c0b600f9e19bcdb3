// How the PostgreSQL store speaks with its database: what it uses of the driver, which is the user's to install, what an
// error means in the port's terms, and the one session of this process that hears what commits tell and stands for it as
// the holder of its leases. What is asked, and when, is the store's and the tables' business.
import { hash } from "node:crypto";
import { StorageUnavailable, UniqueViolation } from "../../domain/store.ts";
import { after, type Scheduled } from "../../kit/clock.ts";
import { OptionError } from "../../kit/schema.ts";
import type { Hearers } from "../memory.ts";

export type Rows = readonly (readonly unknown[])[];
export type Values = readonly unknown[];
interface Session {
  query(query: string | object): Promise<{ readonly rows: Rows }>;
}
export interface Client extends Session {
  on(event: string, happened: (note: { readonly payload: string }) => void): unknown;
  escapeLiteral(text: string): string;
  release(isLost?: boolean): void;
}
export interface Pool extends Session {
  on(event: string, happened: (client: Client) => void): unknown;
  connect(): Promise<Client>;
  end(): Promise<unknown>;
}

/** Not written into the import, since whoever compiles this need not have it. */
const DRIVER = "pg";
/** Longer than any statement takes: the database is out of reach. */
const AWAY_MS = 10_000;
/** A unit of work never pauses: whoever does is frozen, and others want what it has locked. */
const FROZEN_MS = 5_000;

/** Lists are looked at by their index only, in its order: a look at a whole table or list is in everybody's way. */
const BY_INDEX = "-c enable_seqscan=off -c enable_bitmapscan=off -c enable_sort=off";

/** What an address does not say. */
export async function poolOf(address: string): Promise<Pool> {
  const url = new URL(address);
  url.searchParams.set("options", `${BY_INDEX} ${url.searchParams.get("options") ?? ""}`);
  const { default: pg } = await import(DRIVER).catch((error: unknown) => {
    if (codeOf(error) !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new OptionError("PostgreSQL needs a driver that is not installed here: npm install pg", { cause: error });
  });
  const pool: Pool = new pg.Pool({
    connectionString: url.href,
    fallback_application_name: "app-hosting-service",
    connectionTimeoutMillis: AWAY_MS,
    idle_in_transaction_session_timeout: FROZEN_MS,
    query_timeout: AWAY_MS,
  });
  pool.on("error", () => undefined); // nobody asked; the next one gets another session
  pool.on("connect", (client) => client.on("error", () => undefined)); // whoever asks is told
  return pool;
}

/** Units of work were in each other's way: this one has to be done again. */
export class Again extends StorageUnavailable {}

const codeOf = (error: unknown): string => String(Object(error).code ?? "");
export const saidBy = (error: unknown): string => Object(error).message || codeOf(error) || String(error);

/** In the port's terms. What PostgreSQL finds wrong with a statement, or with what it was given, is a fault of ours. */
function told(error: unknown): unknown {
  const code = codeOf(error);
  if (/^40(001|P01)$/.test(code)) return new Again(`The database was asked again and again: ${saidBy(error)}`);
  if (code === "23505") return new UniqueViolation(saidBy(error), { cause: error });
  if (/^(22|23|42)/.test(code)) return error;
  return new StorageUnavailable(`The database does not answer: ${saidBy(error)}`, { cause: error });
}

export const answered = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((error: unknown) => {
    throw told(error);
  });

/** A session prepares each text once, by its hash. */
export async function ask(session: Session, text: string, values: Values = []): Promise<Rows> {
  const name = hash("sha256", text, "base64");
  return (await answered(session.query({ name, text, values, rowMode: "array" }))).rows;
}

/** How often the session is looked after, and how many looks in a row find none of a holder until that one counts as gone. */
const TEND_MS = 1_000;
const MISSED = 4;
const HAS_NO_SESSION = `NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
  AND (classid::bigint << 32) + objid::bigint = held.holder)`;
const ALONE = `SELECT DISTINCT holder FROM apphost_leases AS held WHERE ${HAS_NO_SESSION}`;
/** Free is what has run out, and what a holder that is gone, and not back since, has left behind. */
export const TAKE = `INSERT INTO apphost_leases AS held (name, holder, taking, until)
  VALUES ($1, $2, $3, clock_timestamp() + $4 * interval '1 ms')
  ON CONFLICT (name) DO UPDATE SET (holder, taking, until) = (excluded.holder, excluded.taking, excluded.until)
  WHERE held.until <= clock_timestamp() OR (held.holder = ANY ($5) AND ${HAS_NO_SESSION}) RETURNING 1`;
/** Waits for no disk: where a crash of the database forgets it, it has run out soon. */
export const RELEASE = `DELETE FROM apphost_leases WHERE name = $1 AND holder = $2 AND taking = $3
  AND set_config('synchronous_commit', 'off', true) = 'off'`;
const RELEASE_ALL = "DELETE FROM apphost_leases WHERE holder = $1 AND taking = ANY ($2)";

/** The channel of all who share the tables, and a number of this process: while a session holds a lock of it, its leases hold. */
export interface Ours {
  readonly channel: string;
  readonly holder: string;
}

/** A topic and a subject, which a commit tells. */
export type Note = readonly [topic: string, subject: string];

/** Who told what; nothing where somebody else uses the channel. */
function noteIn(payload: string): readonly unknown[] {
  try {
    return [JSON.parse(payload)].flat();
  } catch {
    return []; // no note of ours
  }
}

/** The session that stands for this process, hears what commits of others tell, and sees who has none any more. */
export class Presence {
  #session: Client | undefined;
  /** By holder: how many looks in a row have found no session. One that is lost begins anew in less. */
  #missed: ReadonlyMap<string, number> = new Map();
  /** The takings of leases that may be held and are nobody's here, since an answer was lost. */
  readonly owed = new Set<number>();
  /** None while it looks. */
  #next: Scheduled | undefined;
  #isOver = false;

  /** The pool is its own: others' work must not hold it up. */
  constructor(
    private readonly pool: Pool,
    readonly ours: Ours,
    private readonly hearers: Hearers,
  ) {}

  /**
   * Ends a unit of work, and tells. Where PostgreSQL itself says that it did not commit, it did not; where nothing comes back
   * nobody knows, and whoever hears of it in this process is to look.
   */
  async commit(client: Client, notes: readonly Note[]): Promise<void> {
    const { channel, holder } = this.ours;
    const texts = notes.map((note) => client.escapeLiteral(JSON.stringify([holder, ...note])));
    const tell = `SELECT pg_notify('${channel}', note) FROM unnest(ARRAY[${texts}]) AS note; `;
    const answer = client.query(`${texts.length > 0 ? tell : ""}COMMIT`);
    const cause = await answer.then(
      () => undefined,
      (error: unknown) => {
        if (Object(error).severity !== undefined && !/^(08|57)/.test(codeOf(error))) throw told(error);
        return error;
      },
    );
    for (const note of notes) this.hearers.tell(...note);
    // No `StorageUnavailable`, which says that nothing was kept.
    if (cause) throw new Error("The database was lost at a commit: whether it was kept is not known", { cause });
  }

  /** Those whose leases are free. */
  get gone(): readonly string[] {
    return [...this.#missed].filter(([, looks]) => looks >= MISSED).map(([holder]) => holder);
  }

  /** Looks each second, since nobody tells of a line that is dead; where the session is lost another begins at once. */
  async tend(): Promise<void> {
    this.#next?.cancel();
    this.#next = undefined;
    if (!(await this.#look())) await this.#look();
    if (this.#isOver) this.#lose();
    else this.#next = after(TEND_MS, () => this.tend());
  }

  /** Whether the session answers; one that does not is given up. */
  async #look(): Promise<boolean> {
    try {
      const session = this.#session ?? (await this.#begin());
      const alone = (await ask(session, ALONE)).map(([holder]) => String(holder));
      this.#missed = new Map(alone.map((holder) => [holder, (this.#missed.get(holder) ?? 0) + 1]));
      const owed = [...this.owed];
      if (owed.length > 0) await ask(session, RELEASE_ALL, [this.ours.holder, owed]);
      for (const taking of owed) this.owed.delete(taking);
      return true;
    } catch {
      this.#lose();
      return false;
    }
  }

  async #begin(): Promise<Client> {
    const { channel, holder } = this.ours;
    const session = await this.pool.connect();
    this.#session = session;
    session.on("notification", ({ payload }) => {
      const [from, topic, subject] = noteIn(payload);
      if (from !== holder) this.hearers.tell(String(topic), String(subject));
    });
    session.on("end", () => this.#next && this.tend());
    await session.query(`LISTEN ${channel}; SELECT pg_advisory_lock_shared(${holder})`);
    return session;
  }

  /** What others tell meanwhile is missed. */
  #lose(): void {
    this.#session?.release(true);
    this.#session = undefined;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    this.#next?.cancel();
    this.#next = undefined;
    this.#lose();
    await this.pool.end();
  }
}
