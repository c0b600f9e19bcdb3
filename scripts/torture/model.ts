// The data model of the torture: a counter, a record for each number reached, and a partner record for the latest. One
// commit advances all of them, so that a partial, lost or repeated commit shows in the data.
import { isDeepStrictEqual } from "node:util";
import { ALL_RECORDS, collection, type Store } from "../../src/domain/store.ts";
import { jsonFileStore } from "../../src/store/json-file.ts";

const TOTAL = "total";
const KEPT = 40;

interface Numbered {
  readonly id: string;
  readonly list: "all";
  readonly n: number;
  readonly text: string;
}

const inList = { all: { by: ["list"] } } as const;
const counters = collection<Numbered>()("counters");
const records = collection<Numbered>()("records", inList);
const partners = collection<Numbered>()("partners", inList);

const toId = (n: number) => `record ${n}`;
const createRecord = (n: number, id = toId(n)): Numbered => {
  const text = "é\u2028".repeat(n % 30);
  return { id, list: "all", n, text };
};

export async function opened(file: string, options: Parameters<typeof jsonFileStore>[1] = {}) {
  const store = jsonFileStore(file, options);
  await store.open([counters, records, partners]);
  return store;
}

/** Commits the next number. */
export const advance = (store: Store) =>
  store.transact(async (tx) => {
    const n = ((await tx.get(counters, TOTAL))?.n ?? 0) + 1;
    await tx.put(counters, createRecord(n, TOTAL));
    for (const each of [records, partners]) {
      await tx.put(each, createRecord(n));
      await tx.remove(each, toId(n - KEPT));
    }
    return n;
  });

/** The number reached so far. */
export const total = async (store: Store) => (await store.get(counters, TOTAL))?.n ?? 0;

/**
 * Opens the file as a start after the crash would. It must hold every acknowledged commit and no partial one. `torn`
 * holds the warnings about torn lines that were set aside.
 */
export async function examine(file: string, least: number, most = Infinity) {
  const torn: string[] = [];
  const wrong: string[] = [];
  const result = (reached: number) => ({ total: reached, torn, wrong });
  const store = await opened(file, { warn: (line) => torn.push(line) }).catch(String);
  if (typeof store === "string") {
    wrong.push(`${file} does not open: ${store}`);
    return result(0);
  }
  const reached = await total(store);
  const count = Math.min(reached, KEPT);
  const expected = Array.from({ length: count }, (_, at) => createRecord(reached - count + 1 + at));
  for (const from of [records, partners])
    if (!isDeepStrictEqual(await store.page(from, "all", ["all"], ALL_RECORDS), expected))
      wrong.push(`${file}: half a commit in ${from.name} at ${reached}`);
  await store.close();
  if (reached < least || reached > most)
    wrong.push(`${file}: ${least} acknowledged, ${reached} kept`);
  return result(reached);
}
