// The data model of the torture: a counter, a record for each number reached, and a partner record for the latest. One
// commit advances all of them, so that a partial, lost or repeated commit shows in the data.
import { collection, type Store, StoreOpenError } from "../../src/domain/store.ts";
import { jsonFileStore } from "../../src/store/json-file.ts";

const TOTAL = "total";
const KEPT = 40;

interface Counter {
  readonly id: string;
  readonly n: number;
}

interface Record extends Counter {
  readonly list: "all";
  readonly text: string;
}

const counters = collection<Counter>()("counters");
const records = collection<Record>()("records", { all: { by: ["list"] } }, { n: ["n"] });
const partners = collection<Record>()("partners", { all: { by: ["list"] } });
export const collections = [counters, records, partners];

const idOf = (n: number) => `record ${n}`;
const make = (n: number): Record => ({
  id: idOf(n),
  list: "all",
  n,
  text: "é\u2028".repeat(n % 30),
});

export async function opened(
  file: string,
  options: Parameters<typeof jsonFileStore>[1] = {},
): Promise<Store> {
  const store = jsonFileStore(file, options);
  await store.open(collections);
  return store;
}

/** Commits the next number. */
export const advance = (store: Store): Promise<number> =>
  store.transact(async (tx) => {
    const n = ((await tx.get(counters, TOTAL))?.n ?? 0) + 1;
    await tx.put(records, make(n));
    await tx.put(counters, { id: TOTAL, n });
    await tx.put(partners, make(n));
    await tx.remove(records, idOf(n - KEPT));
    await tx.remove(partners, idOf(n - KEPT));
    return n;
  });

/** The number reached so far. */
export const total = async (store: Store): Promise<number> =>
  (await store.get(counters, TOTAL))?.n ?? 0;

/**
 * Opens the file as a start after the crash would. It must hold every acknowledged commit and no partial one. `torn`
 * holds the warnings about torn lines that were set aside; `refused` is the error if the store does not open.
 */
export async function examine(file: string, least: number, most = Infinity) {
  const [torn, wrong]: [string[], string[]] = [[], []];
  const store = await opened(file, { warn: (line) => torn.push(line) }).catch(
    (error: Error) => error,
  );
  if (store instanceof Error) {
    const refused = store instanceof StoreOpenError ? store.message : undefined;
    return { total: 0, torn, wrong: [`${file} does not open: ${store}`], refused };
  }
  const reached = await total(store);
  const first = Math.max(0, reached - KEPT) + 1;
  const expected = JSON.stringify(
    Array.from({ length: reached + 1 - first }, (_, at) => make(first + at)),
  );
  for (const from of [records, partners]) {
    const found = await store.page(from, "all", ["all"], { offset: 0, limit: 10 * KEPT });
    if (JSON.stringify(found) !== expected)
      wrong.push(`${file}: half a commit in ${from.name} at ${reached}`);
  }
  await store.close();
  if (reached < least || reached > most)
    wrong.push(`${file}: ${least} acknowledged, ${reached} kept`);
  return { total: reached, torn, wrong };
}
