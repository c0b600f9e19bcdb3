// How the PostgreSQL store speaks with its database: what it uses of the driver, which is the user's to install, what an
// error means in the port's terms, and the one session of this process that hears what commits tell and stands for it as
// the holder of its leases. What is asked, and when, is the store's and the tables' business.
import { StorageUnavailable, UniqueViolation } from "../../domain/store.ts";
import { realClock, type Scheduled } from "../../kit/clock.ts";
import { systemRandom } from "../../kit/ids.ts";
import { OptionError } from "../../kit/schema.ts";
import type { Hearers } from "../memory.ts";

export interface Driver {
  readonly Client: new (settings: object) => Client;
  readonly Pool: new (settings: object) => Pool;
}
export interface Client {
  query(query: string | object): Promise<{ readonly rows: Rows }>;
  on(event: string, happened: (what: { readonly payload: string }) => void): unknown;
  connect(): Promise<unknown>;
  end(): Promise<unknown>;
  /** Of one that a pool lends: back to it, or away. */
  release(isLost: boolean): void;
}
export interface Pool {
  on(event: string, happened: (client: Client) => void): unknown;
  connect(): Promise<Client>;
  end(): Promise<unknown>;
}
export type Rows = readonly (readonly unknown[])[];
export type Values = readonly unknown[];

/** Not written into the import, since whoever compiles this need not have it. */
const DRIVER = "pg";

export async function driver(): Promise<Driver> {
  try {
    return (await import(DRIVER)).default;
  } catch (error) {
    if (codeOf(error) !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new OptionError("PostgreSQL needs a driver that is not installed here: npm install pg", { cause: error });
  }
}

const CONNECTIONS = 10;
const CONNECT_MS = 10_000;
/** Longer than any statement takes: the database is out of reach. */
const STATEMENT_MS = 10_000;
/** A unit of work never pauses: whoever does is frozen, and others want what it has locked. */
const FROZEN_MS = 5_000;

/** What an address does not say. Lists are looked at by their index only: a look at a whole table is in everybody's way. */
export function settingsOf(address: string) {
  if (!URL.canParse(address)) throw new OptionError("An address is one such as postgres://user@host/database");
  const url = new URL(address);
  url.searchParams.set("options", `-c enable_seqscan=off ${url.searchParams.get("options") ?? ""}`);
  return {
    connectionString: url.href,
    fallback_application_name: "app-hosting-service",
    connectionTimeoutMillis: CONNECT_MS,
    idle_in_transaction_session_timeout: FROZEN_MS,
    query_timeout: STATEMENT_MS,
    keepAlive: true,
    max: CONNECTIONS,
  };
}

/** Units of work were in each other's way: this one has to be done again. */
export class Again extends StorageUnavailable {}

/** A commit that nobody answered. It is no `StorageUnavailable`, which says that nothing was kept. */
class Unknown extends Error {}

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

export async function answered<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw told(error);
  }
}

/** Where PostgreSQL itself says that it did not commit, it did not; where nothing comes back nobody knows. */
export async function commit(session: Client, before = ""): Promise<void> {
  try {
    await session.query(`${before}COMMIT`);
  } catch (error) {
    if (Object(error).severity !== undefined && !/^(08|57)/.test(codeOf(error))) throw told(error);
    throw new Unknown("The database was lost at a commit: whether it was kept is not known", { cause: error });
  }
}

/** Whether nothing more can be asked of the session where this went wrong. */
export const isLost = (error: unknown): boolean =>
  error instanceof Unknown || (error instanceof StorageUnavailable && !(error instanceof Again));

/** By their text, since a session prepares each once. */
const names = new Map<string, string>();

export async function ask(session: Client, text: string, values: Values = []): Promise<Rows> {
  const name = names.get(text) ?? `apphost_${names.size}`;
  names.set(text, name);
  return (await answered(session.query({ name, text, values, rowMode: "array" }))).rows;
}

/** How often the session is looked after. */
const TEND_MS = 1_000;
/** A notification takes 8,000 bytes. */
const PIECES = /.{1,7000}/g;

type Told = ReadonlyMap<string, ReadonlySet<string>>;

export class Presence {
  /** While the session holds a lock of this number, others know that the leases have a holder. */
  readonly holder = Array.from({ length: 6 }, systemRandom).reduce((number, byte) => number * 256 + byte, 0);
  readonly #make: () => Client;
  readonly #channel: string;
  readonly #hearers: Hearers;
  /** Commits that wait until it is their turn to be heard. */
  readonly #waiting = new Map<number, (isHeard: boolean) => void>();
  #session: Client | undefined;
  #next: Scheduled | undefined;
  #isOver = false;
  #commits = 0;
  #pieces = "";

  constructor(make: () => Client, channel: string, hearers: Hearers) {
    this.#make = make;
    this.#channel = channel;
    this.#hearers = hearers;
  }

  async begin(): Promise<void> {
    const session = this.#make();
    for (const sign of ["error", "end"]) session.on(sign, () => this.#lose(session));
    session.on("notification", ({ payload }) => this.#hear(payload));
    await session.connect();
    await session.query(`LISTEN ${this.#channel}; SELECT pg_advisory_lock_shared(${this.holder})`);
    this.#session = session;
    this.#next ??= this.#tend();
  }

  /** Asks whether the session lives, since nobody tells of a line that is dead, or begins another. */
  #tend(): Scheduled {
    return realClock.schedule(realClock.now() + TEND_MS, null, async () => {
      const session = this.#session;
      await (session?.query("SELECT") ?? this.begin()).catch(() => this.#lose(session));
      if (this.#isOver) this.#lose(this.#session);
      else this.#next = this.#tend();
    });
  }

  /** What others tell meanwhile is missed. */
  #lose(session: Client | undefined): void {
    if (session !== this.#session) return;
    this.#session = undefined;
    this.#pieces = "";
    for (const resolve of this.#waiting.values()) resolve(false);
    this.#waiting.clear();
    void session?.end();
  }

  /** Commits, and resolves when all this was heard: in the order of commits, as NOTIFY tells it to the session. */
  async commit(client: Client, told: Told): Promise<void> {
    this.#commits += 1;
    const number = this.#commits;
    const lists = Array.from(told, ([topic, subjects]) => [topic, ...subjects]);
    const text = Buffer.from(JSON.stringify([this.holder, number, lists])).toString("base64");
    const pieces = text.match(PIECES) ?? [];
    const notes = pieces.map((piece, n) => `NOTIFY ${this.#channel}, '${pieces.length - 1 - n} ${piece}'; `);
    const heard = new Promise<boolean>((resolve) => this.#waiting.set(number, resolve));
    if (this.#session === undefined) this.#waiting.get(number)?.(false);
    await commit(client, notes.join("")).catch((error: unknown) => {
      this.#waiting.delete(number);
      throw error;
    });
    if (!(await heard)) this.#tell(lists);
    this.#waiting.delete(number);
  }

  #hear(payload: string): void {
    const [left, piece = ""] = payload.split(" ");
    this.#pieces += piece;
    if (left !== "0") return;
    const [holder, number, lists] = JSON.parse(Buffer.from(this.#pieces, "base64").toString());
    this.#pieces = "";
    this.#tell(lists);
    if (holder === this.holder) this.#waiting.get(number)?.(true);
  }

  #tell(lists: readonly (readonly string[])[]): void {
    for (const [topic = "", ...subjects] of lists) for (const subject of subjects) this.#hearers.tell(topic, subject);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    this.#next?.cancel();
    await this.#session?.end();
  }
}
