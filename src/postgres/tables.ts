// The tables of the PostgreSQL store, one for each collection. Columns: the record as JSON text, a sequence for
// creation order, and the record's keys in each index and unique key. The keys are computed here, because PostgreSQL
// text cannot hold NUL and lone surrogates. The store owns sessions and transactions.
import { hash } from "node:crypto";
import type { AnyCollection, Entity, Reader, Store, Tx } from "../domain/store.ts";
import { unsafeCast } from "../lib/schema.ts";
import type { StoredRecord } from "../store/indexes.ts";

/** Every column is parsed as JSON. */
export type Rows = readonly (readonly unknown[])[];
export type Values = readonly unknown[];
/** Runs a query, in one session or in any. */
export type Ask = (text: string, values?: Values) => Promise<Rows>;

/** The version of this layout; increase it with every change. */
const FORMAT = "format 3";
/** An index entry is limited to 2,700 bytes. */
const KEY_MAX = 800;

/** Encodes values as JSON, which distinguishes types and escapes the characters that PostgreSQL text cannot hold. */
export function keyOf(values: Values): string | null {
  if (values.some((value) => value === null || value === undefined)) return null;
  const key = JSON.stringify(values);
  return key.length > KEY_MAX ? hash("sha256", key) : key;
}

/** Encodes text so that it sorts as in JavaScript. */
const rankOf = (value: unknown): string =>
  Buffer.from(String(value), "utf16le").swap16().toString("hex");

/** An undeclared collection has no table, and PostgreSQL reports that. */
export const tableOf = ({ name }: { readonly name: string }): string => `"apphost_${name}"`;
/** The SQL for a record's key in the list "index_owner" or "unique_slot", or its rank in "index_owner order". */
const keyIn = (list: string, of = ""): string => `((${of}keys ->> '${list}') COLLATE "C")`;
/** The SQL for a list's order. */
const inOrder = (list: string): string => `${keyIn(`${list} order`)}, seq`;

type Rule = AnyCollection["indexes"][string];

const listsOf = ({
  indexes,
  unique,
}: AnyCollection): readonly (readonly [list: string, rule: Rule])[] => [
  ...Object.entries<Rule>(indexes).map(([index, rule]) => [`index_${index}`, rule] as const),
  ...Object.entries<Rule["by"]>(unique).map(([key, by]) => [`unique_${key}`, { by }] as const),
];

/**
 * The statements that create the collection's table and indexes, each with its line in the declarations. Another
 * version may know more.
 */
function madeOf(collection: AnyCollection): (readonly [line: string, text: string])[] {
  const [name, table] = [collection.name, tableOf(collection)];
  const columns = `seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" UNIQUE NOT NULL, record text NOT NULL, keys jsonb NOT NULL`;
  const lists = listsOf(collection).map(([list, rule]) => {
    const [kind, within] = list.startsWith("unique_")
      ? ["UNIQUE INDEX", ""]
      : ["INDEX", `, ${inOrder(list)}`];
    return [
      JSON.stringify([name, list, rule]),
      `CREATE ${kind} ON ${table} (${keyIn(list)}${within})`,
    ] as const;
  });
  return [[JSON.stringify([name]), `CREATE TABLE ${table} (${columns})`], ...lists];
}

/** Selects records of a collection; by default all in creation order. */
export const recordsOf = async (
  ask: Ask,
  from: AnyCollection,
  which = "ORDER BY seq",
  values: Values = [],
) => (await ask(`SELECT record FROM ${tableOf(from)} ${which}`, values)).flat();

/**
 * Translates the port's queries into SQL. A collection's type vouches for that of its records, which are added to
 * `seen`.
 */
export function readerOf(ask: Ask, seen?: Set<string>): Reader & Required<Pick<Store, "findWith">> {
  async function records(from: AnyCollection, which: string, values: Values) {
    const found = await recordsOf(ask, from, which, values);
    for (const record of found) seen?.add(placeOf(from, unsafeCast(record)));
    return found;
  }
  return {
    get: async (from, id) => unsafeCast((await records(from, "WHERE id = $1", [keyOf([id])]))[0]),
    find: async (from, unique, values) =>
      unsafeCast(
        (await records(from, `WHERE ${keyIn(`unique_${unique}`)} = $1`, [keyOf(values)]))[0],
      ),
    async page(from, index, values, { offset, limit }) {
      const list = `index_${index}`;
      const part = `WHERE ${keyIn(list)} = $1 ORDER BY ${inOrder(list)} OFFSET $2 LIMIT $3`;
      return unsafeCast(await records(from, part, [keyOf(values), offset, limit]));
    },
    async count(from, index, values) {
      const text = `SELECT count(*) FROM ${tableOf(from)} WHERE ${keyIn(`index_${index}`)} = $1`;
      return Number((await ask(text, [keyOf(values)]))[0]?.[0]);
    },
    /** An index of one field has the same keys as the ids it refers to. */
    async findWith(from, unique, values, by, to) {
      const other = `SELECT record FROM ${tableOf(to)} WHERE id = ${keyIn(`index_${by}`, "mine.")}`;
      const one = `FROM ${tableOf(from)} AS mine WHERE ${keyIn(`unique_${unique}`)} = $1`;
      const [row] = await ask(`SELECT record, (${other}) ${one}`, [keyOf(values)]);
      return row && [unsafeCast(row[0]), unsafeCast(row[1] ?? undefined)];
    },
  };
}

const placeOf = ({ name }: AnyCollection, { id }: Entity): string => `${name} ${id}`;

/** `seen`: the records that this unit of work has read, and so does not create. */
const writerOf = (ask: Ask, seen: Set<string>): Pick<Tx, "put" | "remove"> => ({
  /**
   * A record with a null field of a list is not in that list. An older version does not remove keys it does not know.
   */
  async put(into, given) {
    const [table, record] = [tableOf(into), unsafeCast<StoredRecord>(given)];
    const keys: Record<string, unknown> = {};
    for (const [list, { by, order }] of listsOf(into)) {
      const valuesOf = (fields: readonly string[]) => keyOf(fields.map((field) => record[field]));
      keys[list] = valuesOf([...by, order ?? "id"]) && valuesOf(by);
      if (order !== undefined) keys[`${list} order`] = rankOf(record[order]);
    }
    // Creates are serialized by a lock: otherwise a later commit could have a lower sequence number than records
    // already listed.
    const turn = seen.has(placeOf(into, record))
      ? ""
      : `FROM pg_advisory_xact_lock('${table}'::regclass::oid::bigint)`;
    await ask(
      `INSERT INTO ${table} (id, record, keys) SELECT $1, $2, $3 ${turn}
       ON CONFLICT (id) DO UPDATE SET record = excluded.record, keys = ${table}.keys || excluded.keys`,
      [keyOf([record.id]), JSON.stringify(record), JSON.stringify(keys)],
    );
  },
  async remove(from, id) {
    await ask(`DELETE FROM ${tableOf(from)} WHERE id = $1`, [keyOf([id])]);
    seen.delete(placeOf(from, { id }));
  },
});

/** Returns the reader and writer of one unit of work. */
export function unitOf(ask: Ask) {
  const seen = new Set<string>();
  return { ...readerOf(ask, seen), ...writerOf(ask, seen) };
}

/** The name, also used as a lock, that all processes on these tables share. */
export const CHANNEL = "'apphost_' || md5(current_schema())";
const BEGINNING = [
  `SELECT 1 FROM pg_advisory_xact_lock(hashtextextended(${CHANNEL}, 0))`,
  "CREATE TABLE IF NOT EXISTS apphost_declared (line text PRIMARY KEY)",
  `CREATE TABLE IF NOT EXISTS apphost_leases
    (name text COLLATE "C" PRIMARY KEY, holder bigint NOT NULL, until timestamptz NOT NULL)`,
  "DELETE FROM apphost_leases WHERE until < clock_timestamp() - interval '1 hour'",
];

/** Creates missing tables and indexes, while other starting processes wait. */
export async function prepare(ask: Ask, collections: readonly AnyCollection[]): Promise<void> {
  for (const text of BEGINNING) await ask(text);
  // Descending, so that formats come first.
  const declared = await ask(
    `SELECT to_json(line) FROM apphost_declared ORDER BY line COLLATE "C" DESC`,
  );
  const found = new Set(declared.flat());
  const lines = new Set<unknown>([FORMAT, ...collections.flatMap(madeOf).map(([line]) => line)]);
  const other = [...found].find((line) => !lines.has(line));
  if (other !== undefined)
    throw new Error(
      `it was made by another version of this service (it has ${other}); start that one.`,
    );
  for (const collection of collections) {
    const lacking = madeOf(collection).filter(([line]) => !found.has(line));
    for (const [, text] of lacking) await ask(text);
    // Existing records have no key in a newly declared list.
    if (lacking.length > 0)
      for (const record of await recordsOf(ask, collection))
        await unitOf(ask).put(collection, unsafeCast(record));
  }
  await ask("INSERT INTO apphost_declared SELECT unnest($1::text[]) ON CONFLICT DO NOTHING", [
    [...lines],
  ]);
}
