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
  (store) => store.restore({ format: 1, collections: {} }),
];

export const life: Cases = {
  async "every call before open and after close rejects; a second open rejects"(store) {
    for (const request of calls) await assert.rejects(request(store));
    await store.open([items, counters]);
    await assert.rejects(store.open([items, counters]));
    for (const call of calls) await call(store);
    await store.close();
    for (const call of calls) await assert.rejects(call(store));
    await assert.rejects(store.open([items, counters]));
  },
  async "every write that is under way at the close comes to an end"(store) {
    await store.open([items, counters]);
    const ends = many(20, (n) => written(store, `${n}`).catch((error: unknown) => error));
    await store.close();
    for (const end of await ends) assert.ok(end === undefined || end instanceof Error);
  },
};
