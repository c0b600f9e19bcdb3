// What the cases of the store contract share: two collections that have every kind of index and unique key, and the
// way in which a transaction is overtaken by another at a chosen point.
import { collection, type Store, type Tx } from "../../domain/store.ts";

export interface Case {
  readonly title: string;
  readonly run: (store: Store) => Promise<void>;
}

export interface Item {
  readonly id: string;
  readonly owner: string | null;
  readonly colour: string | null;
  readonly rank: string | null;
  readonly slot: string | null;
  readonly bright: boolean;
  readonly text: string;
}

export const items = collection<Item>()({
  name: "items",
  indexes: {
    owner: { by: ["owner"] },
    owner_colour: { by: ["owner", "colour"] },
    bright: { by: ["bright"] },
    ranked: { by: ["owner"], order: "rank" },
  },
  unique: { slot: ["owner", "slot"] },
});

export interface Counter {
  readonly id: string;
  readonly n: number;
}

export const counters = collection<Counter>()({ name: "counters" });

const PLAIN: Item = { id: "", owner: "ann", colour: null, rank: null, slot: null, bright: false, text: "" };

export const item = (id: string, fields: Partial<Item> = {}): Item => ({ ...PLAIN, id, ...fields });

/** Puts the records in this order, in one unit of work. */
export const put = (store: Store, ...records: readonly Item[]): Promise<void> =>
  store.transact(async (tx) => {
    for (const record of records) await tx.put(items, record);
  });

export const remove = (store: Store, ...ids: readonly string[]): Promise<void> =>
  store.transact(async (tx) => {
    for (const id of ids) await tx.remove(items, id);
  });

export const ALL = { offset: 0, limit: 1_000_000 };

/** The ids in the list of an owner. */
export async function idsOf(from: Pick<Store, "page">, owner = "ann", span = ALL): Promise<string[]> {
  return (await from.page(items, "owner", [owner], span)).map(({ id }) => id);
}

/**
 * Runs a unit of work that reads with `look`, then lets `meanwhile` happen (in its first run only), then goes on with
 * `act`. Answers how often it ran and what `act` answered at last.
 */
export async function overtaken<S, T>(
  store: Store,
  look: (tx: Tx) => Promise<S>,
  meanwhile: () => Promise<void>,
  act: (tx: Tx, seen: S) => Promise<T>,
): Promise<{ readonly runs: number; readonly result: T }> {
  let runs = 0;
  const result = await store.transact(async (tx) => {
    runs += 1;
    const seen = await look(tx);
    if (runs === 1) await meanwhile();
    return act(tx, seen);
  });
  return { runs, result };
}

/** A number sequence that looks random and is the same each time (a linear congruential generator). */
export function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
