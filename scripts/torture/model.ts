// The data of the torture: a counter, and for each number it has reached a record and, for the latest, its partner. One
// commit moves all of them on, so that half a commit, a lost one and a repeated one can all be told from the data.
import { collection, type Store, StoreRefusal } from "../../src/domain/store.ts";
import { jsonFileStore } from "../../src/store/json-file.ts";

const TOTAL = "total";
const KEPT = 40;

interface Counter {
  readonly id: string;
  readonly n: number;
}

interface Record {
  readonly id: string;
  readonly list: "all";
  readonly n: number;
  readonly text: string;
}

const counters = collection<Counter>()("counters");
const records = collection<Record>()("records", { all: { by: ["list"] } }, { n: ["n"] });
const partners = collection<Record>()("partners", { all: { by: ["list"] } });
export const collections = [counters, records, partners];

const idOf = (n: number) => `record ${n}`;
const make = (n: number): Record => ({ id: idOf(n), list: "all", n, text: "é\u2028".repeat(n % 30) });

/** One commit: the next number. */
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

/** The number that the data have reached. */
export const total = async (store: Store): Promise<number> => (await store.get(counters, TOTAL))?.n ?? 0;

export interface Found {
  readonly total: number;
  readonly warnings: readonly string[];
}

/** Opens the file as a start after the crash would. Answers how far it had come, or what is wrong with the data. */
export async function examine(file: string): Promise<Found | string> {
  const warnings: string[] = [];
  const store = jsonFileStore(file, { warn: (line) => warnings.push(line) });
  try {
    await store.open(collections);
  } catch (error) {
    return `does not open: ${error instanceof StoreRefusal ? error.message : error}`;
  }
  const reached = await total(store);
  const expected = Array.from({ length: Math.min(reached, KEPT) }, (_, at) =>
    make(Math.max(0, reached - KEPT) + at + 1),
  );
  const wrong: string[] = [];
  for (const from of [records, partners]) {
    const found = await store.page(from, "all", ["all"], { offset: 0, limit: 10 * KEPT });
    if (JSON.stringify(found) !== JSON.stringify(expected)) wrong.push(`half a commit in ${from.name} at ${reached}`);
  }
  await store.close();
  return wrong.length > 0 ? wrong.join("; ") : { total: reached, warnings };
}
