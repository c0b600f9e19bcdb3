// What the cases of the store contract keep: two collections that have every kind of index and unique key.
import { collection, type Reader, type Tx } from "../../domain/store.ts";

type Texts = Record<"id" | "text", string> & Record<"owner" | "colour" | "rank" | "slot", string | null>;
export type Item = Readonly<Texts & { bright: boolean }>;

export const items = collection<Item>()(
  "items",
  {
    owner: { by: ["owner"] },
    owner_colour: { by: ["owner", "colour"] },
    bright: { by: ["bright"] },
    ranked: { by: ["owner"], order: "rank" },
  },
  { slot: ["owner", "slot"] },
);

export const counters = collection<{ readonly id: string; readonly n: number }>()("counters");

const PLAIN: Item = { id: "", owner: "ann", colour: null, rank: null, slot: null, bright: false, text: "" };

export const item = (id: string, fields: Partial<Item> = {}): Item => ({ ...PLAIN, id, ...fields });

export const setCounter = (tx: Tx, id: string, n: number): Promise<void> => tx.put(counters, { id, n });
export const counter = async (from: Reader, id: string): Promise<number> => (await from.get(counters, id))?.n ?? 0;

export { ALL } from "../../domain/store.ts";
