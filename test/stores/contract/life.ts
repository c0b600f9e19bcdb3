// Store contract: the calls that resolve or reject before open, while open and after close. These stores are not opened
// yet.
import assert from "node:assert/strict";
import type { Store } from "../../../src/domain/store.ts";
import { type Cases, counters, items, many, shown, written } from "./steps.ts";

const calls: readonly ((store: Store) => Promise<unknown>)[] = [
  (store) => store.get(items, "a"),
  (store) => shown(store),
  (store) => written(store, "a"),
  (store) => store.snapshot(),
  (store) => store.restore({ format: 2, collections: {} }),
];

export const life: Cases = {
  async "every call before open and after close rejects, and so does a second open"(store) {
    for (const call of calls) await assert.rejects(call(store));
    await store.open([items, counters]);
    await assert.rejects(store.open([items, counters]));
    for (const call of calls) await call(store);
    await store.close();
    for (const call of calls) await assert.rejects(call(store));
    await assert.rejects(store.open([items, counters]));
  },
  async "every write in progress at the close resolves or rejects"(store) {
    await store.open([items, counters]);
    const ends = many(20, (n) => written(store, `${n}`).catch((error: unknown) => error));
    await store.close();
    for (const end of await ends) assert.ok(end === undefined || end instanceof Error);
  },
};
