// The tables of the PostgreSQL store, one for each collection: the record as JSON text, a sequence for creation order, and
// the keys by which the record stands in each index and unique key. Those are made here, since SQL cannot read every string
// that a record may hold: NUL and lone surrogates are no text to it. Who asks the database, and how, is the store's business.
import { hash } from "node:crypto";
import type { AnyCollection, Reader, Store } from "../../domain/store.ts";
import { StoreRefusal } from "../../domain/store.ts";
import { trusted } from "../../kit/schema.ts";
import type { Fields } from "../indexes.ts";
import { named } from "../memory.ts";

export type Rows = readonly (readonly unknown[])[];
export type Values = readonly unknown[];
/** Of one session, or of any. */
export type Ask = (text: string, values?: Values) => Promise<Rows>;

/** What all this looks like; whoever changes that counts on. */
const FORMAT = "format 3";
/** A record may be as large as what is uploaded. */
const BATCH = 20;
/** An index takes 2,700 bytes. */
const KEY_MAX = 800;

/** JSON tells values of different kinds apart, and has an escape for what is no text to PostgreSQL. */
export function keyOf(values: Values): string | null {
  if (values.some((value) => value === null || value === undefined)) return null;
  const key = JSON.stringify(values);
  return key.length > KEY_MAX ? hash("sha256", key) : key;
}

/** Compares as JavaScript compares text. */
const rankOf = (value: unknown): string => Buffer.from(String(value), "utf16le").swap16().toString("hex");

/** A record's key in the list "index_owner" or "unique_slot", or its rank in "index_owner order". */
const keyIn = (list: string, of = ""): string => `((${of}keys ->> '${list}') COLLATE "C")`;
/** What a list is in the order of. */
const inOrder = (list: string): string => `${keyIn(`${list} order`)}, seq`;

type Rule = AnyCollection["indexes"][string];

export class Layout {
  readonly table: string;
  /** What it is made of and how: another version may know more. */
  readonly made = new Map<string, string>();
  readonly #lists: readonly (readonly [list: string, rule: Rule])[];

  constructor({ name, indexes, unique }: AnyCollection) {
    this.table = `"apphost_${name}"`;
    this.#lists = [
      ...Object.entries<Rule>(indexes).map(([index, rule]) => [`index_${index}`, rule] as const),
      ...Object.entries<Rule["by"]>(unique).map(([key, by]) => [`unique_${key}`, { by }] as const),
    ];
    const columns = `seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      id text COLLATE "C" UNIQUE NOT NULL, record text NOT NULL, keys jsonb NOT NULL`;
    this.made.set(JSON.stringify([name]), `CREATE TABLE ${this.table} (${columns})`);
    for (const [list, rule] of this.#lists) {
      const [kind, within] = list.startsWith("unique_") ? ["UNIQUE INDEX", ""] : ["INDEX", `, ${inOrder(list)}`];
      this.made.set(JSON.stringify([name, list, rule]), `CREATE ${kind} ON ${this.table} (${keyIn(list)}${within})`);
    }
  }

  /** Creates the record or replaces it. What lacks a value of a list's fields stands in no such list. */
  async put(ask: Ask, record: Fields): Promise<void> {
    const keys: Record<string, unknown> = {};
    for (const [list, { by, order }] of this.#lists) {
      const valuesOf = (fields: readonly string[]) => keyOf(fields.map((field) => record[field]));
      keys[list] = valuesOf([...by, order ?? "id"]) && valuesOf(by);
      if (order !== undefined) keys[`${list} order`] = rankOf(record[order]);
    }
    await ask(
      `INSERT INTO ${this.table} (id, record, keys) VALUES ($1, $2, $3)
       ON CONFLICT (id) DO UPDATE SET record = excluded.record, keys = ${this.table}.keys || excluded.keys`,
      [keyOf([record.id]), JSON.stringify(record), JSON.stringify(keys)],
    );
  }

  /** All of them in creation order, some at a time. */
  async *records(ask: Ask) {
    const next = `SELECT seq, record FROM ${this.table} WHERE seq > $1 ORDER BY seq LIMIT ${BATCH}`;
    for (let last: unknown = 0; last !== undefined; ) {
      const rows = await ask(next, [last]);
      for (const [, record] of rows) yield trusted<Fields>(JSON.parse(String(record)));
      last = rows.at(-1)?.[0];
    }
  }
}

export type Layouts = ReadonlyMap<string, Layout>;

/** Puts the port's questions into SQL. A collection's type vouches for that of its records. */
export function readerOf(layouts: Layouts, ask: Ask): Reader & Required<Pick<Store, "findWith">> {
  const tableOf = (from: { readonly name: string }) => named(layouts, from.name).table;
  const recordIn = (text: unknown) => (text === null ? undefined : JSON.parse(String(text)));
  const records = async (from: AnyCollection, where: string, values: Values) =>
    (await ask(`SELECT record FROM ${tableOf(from)} WHERE ${where}`, values)).map(([text]) => recordIn(text));
  return {
    get: async (from, id) => (await records(from, "id = $1", [keyOf([id])]))[0],
    find: async (from, unique, values) =>
      (await records(from, `${keyIn(`unique_${unique}`)} = $1`, [keyOf(values)]))[0],
    async page(from, index, values, { offset, limit }) {
      const list = `index_${index}`;
      const part = `${keyIn(list)} = $1 ORDER BY ${inOrder(list)} OFFSET $2 LIMIT $3`;
      return records(from, part, [keyOf(values), offset, limit]);
    },
    async count(from, index, values) {
      const text = `SELECT count(*) FROM ${tableOf(from)} WHERE ${keyIn(`index_${index}`)} = $1`;
      return Number((await ask(text, [keyOf(values)]))[0]?.[0]);
    },
    /** An index of one field has the same keys as the ids that it names. */
    async findWith(from, unique, values, by, to) {
      const other = `SELECT record FROM ${tableOf(to)} WHERE id = ${keyIn(`index_${by}`, "mine.")}`;
      const one = `FROM ${tableOf(from)} AS mine WHERE ${keyIn(`unique_${unique}`)} = $1`;
      const [row] = await ask(`SELECT record, (${other}) ${one}`, [keyOf(values)]);
      return row && [recordIn(row[0]), recordIn(row[1])];
    },
  };
}

/** All who share the tables, as a name and as the number of a lock. */
export const CHANNEL = "'apphost_' || md5(current_schema())";
const BEGINNING = [
  `SELECT pg_advisory_xact_lock(hashtextextended(${CHANNEL}, 0))`,
  "CREATE TABLE IF NOT EXISTS apphost_declared (line text PRIMARY KEY)",
  `CREATE TABLE IF NOT EXISTS apphost_leases
    (name text COLLATE "C" PRIMARY KEY, holder bigint NOT NULL, until timestamptz NOT NULL)`,
  "DELETE FROM apphost_leases WHERE until < clock_timestamp() - interval '1 hour'",
];

/** Makes what is not there yet, while others who start wait. */
export async function prepare(ask: Ask, layouts: Layouts): Promise<void> {
  for (const text of BEGINNING) await ask(text);
  // Formats come first.
  const declared = await ask(`SELECT line FROM apphost_declared ORDER BY line COLLATE "C" DESC`);
  const found = new Set(declared.map(([line]) => String(line)));
  const lines = new Set([FORMAT, ...Array.from(layouts.values(), ({ made }) => [...made.keys()]).flat()]);
  const other = [...found].find((line) => !lines.has(line));
  if (other !== undefined)
    throw new StoreRefusal(
      `The database was made by another version of this service (it has ${other}); start that one.`,
    );
  for (const layout of layouts.values()) {
    const lacking = [...layout.made].filter(([line]) => !found.has(line));
    for (const [, text] of lacking) await ask(text);
    // What stands in a table that was there has no key in a list that was not.
    if (lacking.length > 0 && lacking.length < layout.made.size)
      for await (const record of layout.records(ask)) await layout.put(ask, record);
  }
  await ask("INSERT INTO apphost_declared SELECT unnest($1::text[]) ON CONFLICT DO NOTHING", [[...lines]]);
}
