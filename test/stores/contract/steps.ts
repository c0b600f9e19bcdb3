// Fixtures of the store contract: two collections with every kind of index and unique key, and a shorthand for writes
// and results.
import assert from "node:assert/strict";
import {
  ALL_RECORDS,
  collection,
  type Reader,
  type Store,
  type Tx,
} from "../../../src/domain/store.ts";

export interface Item {
  id: string;
  owner: string | null;
  colour: string | null;
  rank: string | null;
  slot: string | null;
  bright: boolean;
  level: number;
  text: string;
}

export const items = collection<Item>()(
  "items",
  {
    all: { by: [] },
    owner: { by: ["owner"] },
    owner_colour: { by: ["owner", "colour"] },
    bright: { by: ["bright"] },
    ranked: { by: ["owner"], order: ["level", "rank"] },
  },
  { slot: ["owner", "slot"] },
);

export const counters = collection<{ id: string; n: number }>()("counters");

export const item = (id: string, fields: Partial<Item> = {}) => ({
  id,
  owner: "ann",
  colour: null,
  rank: null,
  slot: null,
  bright: false,
  level: 0,
  text: "",
  ...fields,
});

export const setCounter = (tx: Tx, id: string, n: number) => tx.put(counters, { id, n });
export const counter = async (from: Reader, id: string) => (await from.get(counters, id))?.n ?? 0;

/** Test functions by title. */
export type Cases = Readonly<Record<string, (store: Store) => Promise<void>>>;

/** Returns a case for each row of a table. */
export const each = <T>(
  rows: Readonly<Record<string, T>>,
  run: (store: Store, row: T) => Promise<void>,
): Cases =>
  Object.fromEntries(
    Object.entries(rows).map(([title, row]) => [title, (store) => run(store, row)]),
  );

/** Executes the words: "a" puts a record, "a:slot=s,text=~" puts one with these fields (~ is null), "-a" removes it. */
export async function write(tx: Tx, words: string) {
  for (const word of words.match(/\S+/g) ?? []) {
    const [id = "", fields = ""] = word.split(":");
    const values: Record<string, string | number | null> = {};
    for (const [, name = "", value = ""] of fields.matchAll(/(\w+)=([^,]*)/g))
      values[name] = name === "level" ? Number(value) : value === "~" ? null : value;
    await (id.startsWith("-") ? tx.remove(items, id.slice(1)) : tx.put(items, item(id, values)));
  }
}

/** Runs each text or list of records in a unit of work of its own. */
export async function written(store: Store, ...units: readonly (string | readonly Item[])[]) {
  for (const unit of units)
    await store.transact(async (tx) => {
      if (typeof unit === "string") await write(tx, unit);
      else for (const record of unit) await tx.put(items, record);
    });
}

/** Runs a unit of work that rejects at its end, and asserts that its error is thrown. */
export async function undone(store: Store, work: (tx: Tx) => Promise<unknown>) {
  const end = new Error("undone");
  const failing = store.transact((tx) => work(tx).then(() => Promise.reject(end)));
  await assert.rejects(failing, (error) => error === end);
}

/**
 * Formats the data as "ann: a b(its text); s: a": the records of two owners, ann's ranked and red ones, and the holders
 * of slots s and t.
 */
export async function shown(from: Reader) {
  const red = await from.page(items, "owner_colour", ["ann", "red"], ALL_RECORDS);
  assert.equal(await from.count(items, "owner_colour", ["ann", "red"]), red.length);
  const lists = {
    ann: await from.page(items, "owner", ["ann"], ALL_RECORDS),
    bob: await from.page(items, "owner", ["bob"], ALL_RECORDS),
    ranked: await from.page(items, "ranked", ["ann"], ALL_RECORDS),
    red,
    s: [(await from.find(items, "slot", ["ann", "s"])) ?? []].flat(),
    t: [(await from.find(items, "slot", ["ann", "t"])) ?? []].flat(),
  };
  const text = (list: readonly Item[]) =>
    list.map(({ id, text }) => id + (text && `(${text})`)).join(" ");
  const parts = Object.entries(lists).flatMap(([name, list]) =>
    list.length > 0 ? `${name}: ${text(list)}` : [],
  );
  return parts.join("; ");
}

/** Runs `count` calls concurrently. */
export const many = <T>(count: number, run: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => run(n)));
