// The tables of the PostgreSQL store, one for each collection: the record as JSON text, a sequence for creation order, and
// the keys by which the record stands in each index and unique key. Those are made here, since SQL cannot read every string
// that a record may hold: NUL and lone surrogates are no text to it.
import { hash } from "node:crypto";
import type { AnyCollection, Collection, Reader, Values as Scalars, Span, Stored, Tx } from "../../domain/store.ts";
import { StoreRefusal } from "../../domain/store.ts";
import { trusted } from "../../kit/schema.ts";
import type { Fields } from "../indexes.ts";
import { named } from "../memory.ts";
import { ask, type Client, type Note, type Ours, type Pool, type Rows, type Values } from "./session.ts";

/** What all this looks like; whoever changes that counts on. */
const FORMAT = "format 3";
/** A record may be as large as what is uploaded. */
const BATCH = 20;
/** An index takes 2,700 bytes. */
const KEY_MAX = 800;
/** Whoever starts first may have many records to write anew. */
const PATIENT_MS = 3_600_000;

/** JSON tells values of different kinds apart, and has an escape for what is no text to PostgreSQL. */
export function keyOf(values: Values): string | null {
  if (values.some((value) => value === null || value === undefined)) return null;
  const key = JSON.stringify(values);
  return key.length > KEY_MAX ? hash("sha256", key) : key;
}

/** Compares as JavaScript compares text. */
const rankOf = (value: unknown): string => Buffer.from(String(value), "utf16le").swap16().toString("hex");

/** A record's key in the list "index_owner" or "unique_slot", or its rank in "index_owner order". */
export const keyIn = (list: string, of = ""): string => `((${of}keys ->> '${list}') COLLATE "C")`;
/** What a list is in the order of. */
const inOrder = (list: string): string => `${keyIn(`${list} order`)}, seq`;

type Rule = AnyCollection["indexes"][string];

export class Layout {
  readonly table: string;
  /** What it is made of and how: another version may know more. */
  readonly made = new Map<string, string>();
  readonly #lists: (readonly [list: string, rule: Rule])[] = [];

  constructor({ name, indexes, unique }: AnyCollection) {
    this.table = `"apphost_${name}"`;
    const seq = "seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY";
    const columns = 'id text COLLATE "C" UNIQUE NOT NULL, record text NOT NULL, keys jsonb NOT NULL';
    this.made.set(JSON.stringify([name]), `CREATE TABLE ${this.table} (${seq}, ${columns})`);
    const declare = (list: string, rule: Rule, kind: string, within: string) => {
      this.#lists.push([list, rule]);
      this.made.set(JSON.stringify([name, list, rule]), `CREATE ${kind} ON ${this.table} (${keyIn(list)}${within})`);
    };
    for (const [index, rule] of Object.entries<Rule>(indexes))
      declare(`index_${index}`, rule, "INDEX", `, ${inOrder(`index_${index}`)}`);
    for (const [key, by] of Object.entries<Rule["by"]>(unique)) declare(`unique_${key}`, { by }, "UNIQUE INDEX", "");
  }

  /** Creates the record or replaces it. What lacks a value of a list's fields stands in no such list. */
  async put(into: Run, record: Fields): Promise<void> {
    const keys: Record<string, unknown> = {};
    for (const [list, { by, order }] of this.#lists) {
      const valuesOf = (fields: readonly string[]) => keyOf(fields.map((field) => record[field]));
      keys[list] = valuesOf([...by, order ?? "id"]) && valuesOf(by);
      if (order !== undefined) keys[`${list} order`] = rankOf(record[order]);
    }
    await into.ask(
      `INSERT INTO ${this.table} (id, record, keys) VALUES ($1, $2, $3)
       ON CONFLICT (id) DO UPDATE SET record = excluded.record, keys = ${this.table}.keys || excluded.keys`,
      [keyOf([record.id]), JSON.stringify(record), JSON.stringify(keys)],
    );
  }
}

export type Layouts = ReadonlyMap<string, Layout>;

/** Puts the port's questions into SQL. A collection's type vouches for that of its records. */
export abstract class Reading implements Reader {
  abstract ask(text: string, values?: Values): Promise<Rows>;
  abstract get layouts(): Layouts;

  async get<R extends Stored>(from: Collection<R>, id: string): Promise<R | undefined> {
    return (await this.#records<R>(from, "id = $1", [keyOf([id])]))[0];
  }

  async find<R extends Stored>(from: Collection<R>, unique: string, values: Scalars): Promise<R | undefined> {
    return (await this.#records<R>(from, `${keyIn(`unique_${unique}`)} = $1`, [keyOf(values)]))[0];
  }

  async page<R extends Stored>(from: Collection<R>, index: string, values: Scalars, { offset, limit }: Span) {
    const list = `index_${index}`;
    const part = `${keyIn(list)} = $1 ORDER BY ${inOrder(list)} OFFSET $2 LIMIT $3`;
    return this.#records<R>(from, part, [keyOf(values), offset, limit]);
  }

  async count<R extends Stored>(from: Collection<R>, index: string, values: Scalars): Promise<number> {
    const text = `SELECT count(*) FROM ${this.layout(from).table} WHERE ${keyIn(`index_${index}`)} = $1`;
    const [row] = await this.ask(text, [keyOf(values)]);
    return Number(row?.[0]);
  }

  layout(from: { readonly name: string }): Layout {
    return named(this.layouts, from.name);
  }

  async #records<R extends Stored>(from: Collection<R>, where: string, values: Values): Promise<R[]> {
    const rows = await this.ask(`SELECT record FROM ${this.layout(from).table} WHERE ${where}`, values);
    return rows.map(([record]) => JSON.parse(String(record)));
  }
}

/** One run of a unit of work. */
export class Run extends Reading implements Tx {
  /** Each once. */
  readonly told = new Map<string, Note>();
  /** The session does one thing after the other, and nothing more once one has failed. */
  #asked: Promise<Rows> = Promise.resolve([]);
  isOver = false;

  constructor(
    private readonly client: Client,
    readonly layouts: Layouts,
  ) {
    super();
  }

  /** Rejects with the first thing that failed, whatever the work has made of it. */
  async do<T>(work: (run: Run) => Promise<T>): Promise<T> {
    try {
      return await work(this);
    } finally {
      this.isOver = true;
      await this.#asked;
    }
  }

  async ask(text: string, values?: Values): Promise<Rows> {
    this.#assertRuns();
    this.#asked = this.#asked.then(() => ask(this.client, text, values));
    return this.#asked;
  }

  async put<R extends Stored>(into: Collection<R>, record: R): Promise<void> {
    // Records are JSON objects (domain/store.ts), so their fields can be looked at by name.
    await this.layout(into).put(this, trusted<Fields>(record));
  }

  async remove<R extends Stored>(from: Collection<R>, id: string): Promise<void> {
    await this.ask(`DELETE FROM ${this.layout(from).table} WHERE id = $1`, [keyOf([id])]);
  }

  tell(topic: string, subject: string): void {
    this.#assertRuns();
    this.told.set(JSON.stringify([topic, subject]), [topic, subject]);
  }

  /** All of a table in creation order, some at a time. */
  async *records(table: string) {
    for (let last: unknown = 0; last !== undefined; ) {
      const rows = await this.ask(`SELECT seq, record FROM ${table} WHERE seq > $1 ORDER BY seq LIMIT ${BATCH}`, [
        last,
      ]);
      for (const [, record] of rows) yield trusted<Fields>(JSON.parse(String(record)));
      last = rows.at(-1)?.[0];
    }
  }

  #assertRuns(): void {
    if (this.isOver) throw new Error("This unit of work is over: its transaction answers no more");
  }
}

const OURS = "SELECT 'apphost_' || md5(current_schema()), (random() * 2 ^ 48)::bigint";
const begin = (channel: unknown) => `BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('${channel}', 0));
  CREATE TABLE IF NOT EXISTS apphost_declared (line text PRIMARY KEY);
  CREATE TABLE IF NOT EXISTS apphost_leases
    (name text COLLATE "C" PRIMARY KEY, holder bigint NOT NULL, until timestamptz NOT NULL, taking bigint);
  DO $$ BEGIN -- a table from before takings had numbers
    IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'apphost_leases'::regclass AND attname = 'taking')
    THEN ALTER TABLE apphost_leases ADD COLUMN taking bigint; END IF; END $$;
  DELETE FROM apphost_leases WHERE until <= clock_timestamp()`;

/** Makes what is not there yet, while others who start wait. Answers how those who share the tables know each other. */
export async function prepare(pool: Pool, layouts: Layouts): Promise<Ours> {
  const client = await pool.connect();
  const session = new Run(client, layouts);
  const patiently = (text: string) => client.query({ text, query_timeout: PATIENT_MS });
  try {
    const [[channel, holder] = []] = await session.ask(OURS);
    await patiently(begin(channel));
    const found = new Set((await session.ask("SELECT line FROM apphost_declared")).map(([line]) => String(line)));
    const lines = new Set([FORMAT, ...Array.from(layouts.values(), ({ made }) => [...made.keys()]).flat()]);
    const unknown = [...found].filter((line) => !lines.has(line));
    const other = unknown.find((line) => line.startsWith("format")) ?? unknown[0];
    if (other !== undefined)
      throw new StoreRefusal(
        `The database was made by another version of this service (it has ${other}); start that one.`,
      );
    for (const layout of layouts.values()) {
      const lacking = [...layout.made.keys()].filter((line) => !found.has(line));
      for (const line of lacking) await patiently(layout.made.get(line) ?? "");
      // What stands in a table that was there has no key in a list that was not.
      if (lacking.length > 0 && lacking.length < layout.made.size)
        for await (const record of session.records(layout.table)) await layout.put(session, record);
    }
    await session.ask("INSERT INTO apphost_declared SELECT unnest($1::text[]) ON CONFLICT DO NOTHING", [[...lines]]);
    await client.query("COMMIT");
    return { channel: String(channel), holder: String(holder) };
  } finally {
    client.release(true);
  }
}
