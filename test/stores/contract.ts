// Test suite for the contract of the store port (domain/store.ts), which every store must pass, including third-party
// ones (`npm run store-contract -- MODULE`). It asserts results, never how often `work` ran: a store may lock or retry.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../src/domain/store.ts";
import { data } from "./contract/data.ts";
import { isolation } from "./contract/isolation.ts";
import { counters, items, many, shown, written } from "./contract/steps.ts";
import { writes } from "./contract/writes.ts";

const calls: readonly ((store: Store) => Promise<unknown>)[] = [
  (store) => store.get(items, "a"),
  (store) => shown(store),
  (store) => written(store, "a"),
  (store) => store.snapshot(),
  (store) => store.restore({ format: 2, collections: {} }),
];

/** Registers all cases. `createStore` returns a new, empty store that has not been opened. */
export function storeContract(
  createStore: () => Store | Promise<Store>,
  options: { skip?: string | false } = {},
) {
  for (const [title, run] of Object.entries({ ...writes, ...isolation, ...data }))
    test(`store contract: ${title}`, options, async () => {
      const store = await createStore();
      await store.open([items, counters]);
      await run(store).finally(() => store.close());
    });

  test(
    "store contract: every call before open and after close rejects, and so does a second open",
    options,
    async () => {
      const store = await createStore();
      for (const call of calls) await assert.rejects(call(store));
      await store.open([items, counters]);
      await assert.rejects(store.open([items, counters]));
      for (const call of calls) await call(store);
      const ends = many(20, (n) => written(store, `${n}`).catch((error: unknown) => error));
      await store.close();
      for (const end of await ends) assert.ok(end === undefined || end instanceof Error);
      for (const call of calls) await assert.rejects(call(store));
    },
  );
}
