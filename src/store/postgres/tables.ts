// The tables of the PostgreSQL store, one for each collection: the record as JSON text, a sequence for creation order, and for
// each index and unique key a column with its values. Those are made here, since SQL cannot read every string that a record
// may hold: NUL and lone surrogates are no text to it. A start makes what is missing; it takes nothing away.
import { hash } from "node:crypto";
import type { AnyCollection, Collection, Reader, Values as Scalars, Span, Stored } from "../../domain/store.ts";
import { StoreRefusal } from "../../domain/store.ts";
import type { Fields } from "../indexes.ts";
import { named } from "../memory.ts";
import { ask, type Client, type Rows, type Values } from "./session.ts";

/** What all this looks like; whoever changes that counts on. */
const FORMAT = "format 1";
/** A record may be as large as what is uploaded. */
const BATCH = 20;
/** An index takes 2,700 bytes. */
const KEY_MAX = 800;
/** After the database's own start sessions come back; before that nobody counts as gone. */
const BACK_S = 5;

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** JSON tells values of different kinds apart, and has an escape for what is no text to PostgreSQL. */
export function keyOf(values: Values): string | null {
  if (values.some((value) => value === null || value === undefined)) return null;
  const key = JSON.stringify(values);
  return key.length > KEY_MAX ? hash("sha256", key) : key;
}

/** Bytes that compare as JavaScript compares text. */
const orderOf = (value: unknown): Buffer => Buffer.from(String(value), "utf16le").swap16();

interface Column {
  readonly name: string;
  readonly valueIn: (record: Fields) => unknown;
}

export class Layout {
  readonly name: string;
  readonly table: string;
  /** By kind and name, where the key of an index or unique key stands, and how its list is ordered. */
  readonly #lists = new Map<string, { readonly key: string; readonly order: string }>();
  /** The statements that make it, by the declaration that asks for them. */
  readonly made = new Map<string, string>();
  readonly #columns: Column[] = [
    { name: "id", valueIn: ({ id }) => keyOf([id]) },
    { name: "record", valueIn: (record) => JSON.stringify(record) },
  ];

  constructor({ name, indexes, unique }: AnyCollection) {
    this.name = name;
    this.table = quoted(`apphost_${name}`);
    const columns = 'id text COLLATE "C" UNIQUE NOT NULL, record text NOT NULL';
    this.made.set(name, `CREATE TABLE ${this.table} (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, ${columns})`);
    for (const [key, { by, order }] of Object.entries<AnyCollection["indexes"][string]>(indexes))
      this.#add("index", key, by, order);
    for (const [key, by] of Object.entries<readonly string[]>(unique)) this.#add("unique", key, by);
  }

  #add(kind: "index" | "unique", name: string, by: readonly string[], order = ""): void {
    const fields = order === "" ? by : [...by, order];
    const ifIn = (value: (record: Fields) => unknown) => (record: Fields) =>
      keyOf(fields.map((field) => record[field])) === null ? null : value(record);
    const [key, rank] = [quoted(`${kind}_${name}`), quoted(`order_${name}`)];
    this.#columns.push({ name: key, valueIn: ifIn((record) => keyOf(by.map((field) => record[field]))) });
    const columns = [`${key} text COLLATE "C"`];
    if (order !== "") {
      this.#columns.push({ name: rank, valueIn: ifIn((record) => orderOf(record[order])) });
      columns.push(`${rank} bytea`);
    }
    const places = [...(order === "" ? [] : [rank]), "seq"].join(", ");
    this.#lists.set(`${kind} ${name}`, { key, order: places });
    const index =
      kind === "unique" ? `UNIQUE INDEX ON ${this.table} (${key})` : `INDEX ON ${this.table} (${key}, ${places})`;
    const added = columns.map((column) => `ADD COLUMN ${column}`).join(", ");
    this.made.set(
      JSON.stringify([this.name, kind, name, by, order]),
      `ALTER TABLE ${this.table} ${added}; CREATE ${index} WHERE ${key} IS NOT NULL`,
    );
  }

  list(name: string): { readonly key: string; readonly order: string } {
    return named(this.#lists, name);
  }

  /** The statement that creates or replaces records, and its values. */
  put(...records: readonly Fields[]): readonly [text: string, values: Values] {
    const names = this.#columns.map(({ name }) => name);
    const values = records.flatMap((record) => this.#columns.map(({ valueIn }) => valueIn(record)));
    const rows = records.map((_, row) => `(${names.map((_, n) => `$${row * names.length + n + 1}`).join(", ")})`);
    const replaced = names.slice(1).map((name) => `${name} = excluded.${name}`);
    const into = `INSERT INTO ${this.table} (${names.join(", ")}) VALUES ${rows.join(", ")}`;
    return [`${into} ON CONFLICT (id) DO UPDATE SET ${replaced.join(", ")}`, values];
  }

  /** All records in creation order, some at a time. */
  async *records(ask: (text: string, values: Values) => Promise<Rows>) {
    for (let last: unknown = 0; last !== undefined; ) {
      const rows = await ask(`SELECT seq, record FROM ${this.table} WHERE seq > $1 ORDER BY seq LIMIT ${BATCH}`, [
        last,
      ]);
      yield rows.map(([, record]): Fields => JSON.parse(String(record)));
      last = rows.at(-1)?.[0];
    }
  }

  /** What `restore` does with the records, after those before have gone. */
  async fill(ask: (text: string, values: Values) => Promise<unknown>, records: readonly Fields[]) {
    for (let at = 0; at < records.length; at += BATCH) await ask(...this.put(...records.slice(at, at + BATCH)));
  }
}

export type From = { readonly name: string };

/** Puts the port's questions into SQL. A collection's type vouches for that of its records. */
export abstract class Reading implements Reader {
  abstract ask(text: string, values?: Values): Promise<Rows>;
  abstract layout(from: From): Layout;

  async get<R extends Stored>(from: Collection<R>, id: string): Promise<R | undefined> {
    return (await this.#records<R>(from, "id = $1", [keyOf([id])]))[0];
  }

  async find<R extends Stored>(from: Collection<R>, unique: string, values: Scalars) {
    const { key } = this.layout(from).list(`unique ${unique}`);
    return (await this.#records<R>(from, `${key} = $1`, [keyOf(values)]))[0];
  }

  async page<R extends Stored>(from: Collection<R>, index: string, values: Scalars, span: Span) {
    const { key, order } = this.layout(from).list(`index ${index}`);
    const part = `${key} = $1 ORDER BY ${order} OFFSET $2 LIMIT $3`;
    return this.#records<R>(from, part, [keyOf(values), span.offset, span.limit]);
  }

  async count<R extends Stored>(from: Collection<R>, index: string, values: Scalars): Promise<number> {
    const layout = this.layout(from);
    const { key } = layout.list(`index ${index}`);
    const [row] = await this.ask(`SELECT count(*) FROM ${layout.table} WHERE ${key} = $1`, [keyOf(values)]);
    return Number(row?.[0]);
  }

  async #records<R>(from: From, where: string, values: Values): Promise<R[]> {
    const rows = await this.ask(`SELECT record FROM ${this.layout(from).table} WHERE ${where}`, values);
    return rows.map(([record]) => JSON.parse(String(record)));
  }
}

const OURS = `CREATE TABLE IF NOT EXISTS apphost_declared (line text PRIMARY KEY);
  CREATE TABLE IF NOT EXISTS apphost_leases
    (name text COLLATE "C" PRIMARY KEY, holder bigint NOT NULL, mark bigint NOT NULL, until timestamptz NOT NULL);
  DELETE FROM apphost_leases WHERE until <= clock_timestamp()`;
/** Free is what has run out, and what a holder whose session is gone has left behind. */
export const TAKE = `INSERT INTO apphost_leases AS held (name, holder, mark, until)
  VALUES ($1, $2, $3, clock_timestamp() + $4 * interval '1 ms')
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, mark = excluded.mark, until = excluded.until
  WHERE held.until <= clock_timestamp() OR (pg_try_advisory_xact_lock(held.holder)
    AND pg_postmaster_start_time() < clock_timestamp() - interval '${BACK_S} s')
  RETURNING mark`;
/** Waits for no disk: where a crash of the database forgets it, it has run out soon. */
export const RELEASE = `DELETE FROM apphost_leases WHERE name = $1 AND holder = $2 AND mark = $3
  AND set_config('synchronous_commit', 'off', true) = 'off'`;

/** Makes what is not there yet. Answers the channel on which those who share the tables hear each other. */
export async function prepare(session: Client, layouts: readonly Layout[]): Promise<string> {
  const [[channel] = []] = await ask(session, "SELECT 'apphost_' || md5(current_schema())");
  await session.query(`BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('${channel}', 0)); ${OURS}`);
  const found = new Set((await ask(session, "SELECT line FROM apphost_declared")).map(([line]) => String(line)));
  const lines = [FORMAT, ...layouts.flatMap(({ made }) => [...made.keys()])];
  for (const line of found)
    if (!lines.includes(line))
      throw new StoreRefusal(
        `The database was made by a newer version of this service (it has ${line}); start that one.`,
      );
  for (const layout of layouts) {
    const missing = [...layout.made].filter(([line]) => !found.has(line));
    for (const [, statements] of missing) await session.query(statements);
    // Records that were there before have no keys yet for what is declared since.
    if (missing.length > 0)
      for await (const records of layout.records((...query) => ask(session, ...query)))
        await layout.fill((...query) => ask(session, ...query), records);
  }
  for (const line of lines)
    if (!found.has(line)) await ask(session, "INSERT INTO apphost_declared VALUES ($1)", [line]);
  await session.query("COMMIT");
  return String(channel);
}
