// The tables of the PostgreSQL store, one for each collection: the record as JSON text, a sequence for creation order, and
// for each index and unique key the columns that it is looked at by. Those are made here, since SQL cannot read every string
// that a record may hold: NUL and lone surrogates are no text to it. A table whose declaration has grown is made anew.
import { hash } from "node:crypto";
import type { AnyCollection, Collection, Reader, Values as Scalars, Span, Stored } from "../../domain/store.ts";
import { StoreRefusal } from "../../domain/store.ts";
import { trusted } from "../../kit/schema.ts";
import type { Fields } from "../indexes.ts";
import { named } from "../memory.ts";
import { ask, type Ours, type Pool, type Rows, type Values } from "./session.ts";

/** What all this looks like; whoever changes that counts on. */
const FORMAT = "format 2";
/** A record may be as large as what is uploaded. */
const BATCH = 20;
/** An index takes 2,700 bytes. */
const KEY_MAX = 800;
/** After the database's own start sessions come back; before that nobody counts as gone. */
const BACK_S = 5;
/** Whoever starts first may have many records to write anew. */
const PATIENT_MS = 3_600_000;

/** JSON tells values of different kinds apart, and has an escape for what is no text to PostgreSQL. */
export function keyOf(values: Values): string | null {
  if (values.some((value) => value === null || value === undefined)) return null;
  const key = JSON.stringify(values);
  return key.length > KEY_MAX ? hash("sha256", key) : key;
}

/** Bytes that compare as JavaScript compares text. */
const rankOf = (value: unknown): Buffer => Buffer.from(String(value), "utf16le").swap16();

/** Where the keys of "index_owner" or "unique_slot" stand, and what its list is ordered by before creation. */
export const columnsOf = (list: string) => [`"${list}"`, `"${list}_order"`] as const;

/** Whoever puts statements to the database. */
type Asked = Pick<Reading, "ask">;
type Rule = AnyCollection["indexes"][string];

export class Layout {
  readonly table: string;
  /** What it is made for; another version may know more. */
  readonly declared: readonly string[];
  /** The statements that make it. */
  readonly made: string;
  readonly #rules: readonly Rule[];
  readonly #put: string;

  constructor({ name, indexes, unique }: AnyCollection) {
    const lists = Object.entries<Rule>(indexes).map(([list, rule]) => [`index_${list}`, rule] as const);
    const uniques = Object.entries<Rule["by"]>(unique).map(([list, by]) => [`unique_${list}`, { by }] as const);
    const all = [...lists, ...uniques];
    this.#rules = all.map(([, rule]) => rule);
    this.declared = [name, ...all.map((list) => JSON.stringify([name, ...list]))];
    this.table = `"apphost_${name}"`;
    const columns = all.map(([list]) => columnsOf(list)).map(([key, rank]) => `${key} text COLLATE "C", ${rank} bytea`);
    const fixed = 'seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text COLLATE "C" UNIQUE NOT NULL';
    this.made = `CREATE TABLE ${this.table} (${[fixed, "record text NOT NULL", ...columns].join(", ")});`;
    for (const [key, rank] of lists.map(([list]) => columnsOf(list)))
      this.made += `CREATE INDEX ON ${this.table} (${key}, ${rank}, seq) WHERE ${key} IS NOT NULL;`;
    for (const [key] of uniques.map(([list]) => columnsOf(list)))
      this.made += `CREATE UNIQUE INDEX ON ${this.table} (${key});`;
    const names = ["id", "record", ...all.flatMap(([list]) => columnsOf(list))];
    const each = (text: (name: string, at: number) => string) => names.map(text).join(", ");
    this.#put = `INSERT INTO ${this.table} (${each((name) => name)}) VALUES (${each((_, at) => `$${at + 1}`)})
      ON CONFLICT (id) DO UPDATE SET ${each((name) => `${name} = excluded.${name}`)}`;
  }

  /** Creates the record or replaces it. What lacks a value of a list's fields stands in no such list. */
  async put(into: Asked, record: Fields): Promise<void> {
    const valuesOf = (fields: readonly string[]) => keyOf(fields.map((field) => record[field]));
    const lists = this.#rules.flatMap(({ by, order }) => [
      valuesOf([...by, order ?? "id"]) && valuesOf(by),
      order === undefined ? null : rankOf(record[order]),
    ]);
    await into.ask(this.#put, [valuesOf(["id"]), JSON.stringify(record), ...lists]);
  }
}

/** All records in creation order, some at a time. */
export async function* recordsOf(from: Asked, table: string) {
  for (let last: unknown = 0; last !== undefined; ) {
    const rows = await from.ask(`SELECT seq, record FROM ${table} WHERE seq > $1 ORDER BY seq LIMIT ${BATCH}`, [last]);
    for (const [, record] of rows) yield trusted<Fields>(JSON.parse(String(record)));
    last = rows.at(-1)?.[0];
  }
}

/** Puts the port's questions into SQL. A collection's type vouches for that of its records. */
export abstract class Reading implements Reader {
  abstract ask(text: string, values?: Values): Promise<Rows>;
  abstract get layouts(): ReadonlyMap<string, Layout>;

  async get<R extends Stored>(from: Collection<R>, id: string): Promise<R | undefined> {
    return (await this.#records<R>(from, "id = $1", [keyOf([id])]))[0];
  }

  async find<R extends Stored>(from: Collection<R>, unique: string, values: Scalars): Promise<R | undefined> {
    const [key] = columnsOf(`unique_${unique}`);
    return (await this.#records<R>(from, `${key} = $1`, [keyOf(values)]))[0];
  }

  async page<R extends Stored>(from: Collection<R>, index: string, values: Scalars, span: Span) {
    const [key, rank] = columnsOf(`index_${index}`);
    const part = `${key} = $1 ORDER BY ${rank}, seq OFFSET $2 LIMIT $3`;
    return this.#records<R>(from, part, [keyOf(values), span.offset, span.limit]);
  }

  async count<R extends Stored>(from: Collection<R>, index: string, values: Scalars): Promise<number> {
    const [key] = columnsOf(`index_${index}`);
    const { table } = this.layout(from);
    const [row] = await this.ask(`SELECT count(*) FROM ${table} WHERE ${key} = $1`, [keyOf(values)]);
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

const OURS = "SELECT 'apphost_' || md5(current_schema()), (random() * 2 ^ 48)::bigint";
const begin = (channel: unknown) => `BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('${channel}', 0));
  CREATE TABLE IF NOT EXISTS apphost_declared (line text PRIMARY KEY);
  CREATE TABLE IF NOT EXISTS apphost_leases
    (name text COLLATE "C" PRIMARY KEY, holder bigint NOT NULL, until timestamptz NOT NULL);
  DELETE FROM apphost_leases WHERE until <= clock_timestamp()`;
/** Free is what has run out, and what a holder whose session is gone has left behind. Answers which taking it was. */
export const TAKE = `INSERT INTO apphost_leases AS held VALUES ($1, $2, clock_timestamp() + $3 * interval '1 ms')
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
  WHERE held.until <= clock_timestamp() OR (pg_try_advisory_xact_lock(held.holder)
    AND pg_postmaster_start_time() < clock_timestamp() - interval '${BACK_S} s')
  RETURNING xmin`;
/** Waits for no disk: where a crash of the database forgets it, it has run out soon. */
export const RELEASE = `DELETE FROM apphost_leases
  WHERE name = $1 AND xmin = $2 AND set_config('synchronous_commit', 'off', true) = 'off'`;

/** Makes what is not there yet, while others who start wait. Answers how those who share the tables know each other. */
export async function prepare(pool: Pool, layouts: readonly Layout[]): Promise<Ours> {
  const client = await pool.connect();
  const session = { ask: (text: string, values?: Values) => ask(client, text, values) };
  try {
    const [[channel, holder] = []] = await session.ask(OURS);
    await client.query({ text: begin(channel), query_timeout: PATIENT_MS });
    const found = new Set((await session.ask("SELECT line FROM apphost_declared")).map(([line]) => String(line)));
    const lines = new Set([FORMAT, ...layouts.flatMap(({ declared }) => declared)]);
    for (const line of found)
      if (!lines.has(line))
        throw new StoreRefusal(
          `The database was made by another version of this service (it has ${line}); start that one.`,
        );
    for (const layout of layouts) {
      const { table, declared, made } = layout;
      if (declared.every((line) => found.has(line))) continue;
      const isThere = declared.some((line) => found.has(line));
      await client.query(`${isThere ? `ALTER TABLE ${table} RENAME TO apphost_before;` : ""} ${made}`);
      if (!isThere) continue;
      for await (const record of recordsOf(session, "apphost_before")) await layout.put(session, record);
      await client.query("DROP TABLE apphost_before");
    }
    await session.ask("INSERT INTO apphost_declared SELECT unnest($1::text[]) ON CONFLICT DO NOTHING", [[...lines]]);
    await client.query("COMMIT");
    return { channel: String(channel), holder };
  } finally {
    client.release(true);
  }
}
