// Test suite for the contract of the store port (domain/store.ts), which every store must pass, including third-party
// ones (`npm run store-contract -- MODULE`). It asserts results, never how often `work` ran: a store may lock or retry.
import { test } from "node:test";
import type { Store } from "../../src/domain/store.ts";
import { data } from "./contract/data.ts";
import { isolation } from "./contract/isolation.ts";
import { life } from "./contract/life.ts";
import { counters, items } from "./contract/steps.ts";
import { writes } from "./contract/writes.ts";

/** Registers all cases. `createStore` returns a new, empty store that has not been opened. */
export function storeContract(
  createStore: () => Store | Promise<Store>,
  options: { readonly skip?: string | false } = {},
): void {
  for (const cases of [writes, isolation, data, life])
    for (const [title, run] of Object.entries(cases))
      test(`store contract: ${title}`, options, async () => {
        const store = await createStore();
        if (cases !== life) await store.open([items, counters]);
        await run(store).finally(async () => cases !== life && store.close());
      });
}
