// Test suite for the contract of the store port (domain/store.ts), which every store must pass, including third-party
// ones. `storeContract(test, makeStore)` registers the cases with node:test's `test`. It asserts results, never how
// often `work` ran: a store may lock or retry. Nothing it requires is impossible for a database shared by several
// processes. Only the case that expects an error for it calls the store inside a unit of work.
import type { Store } from "../../src/domain/store.ts";
import { data } from "./contract/data.ts";
import { isolation } from "./contract/isolation.ts";
import { life } from "./contract/life.ts";
import { counters, items } from "./contract/steps.ts";
import { writes } from "./contract/writes.ts";

/** The part of node:test's `test` that is used. */
export type RegisterTest = (title: string, run: () => Promise<void>) => unknown;

/** Registers all cases. `makeStore` returns a new, empty store that has not been opened. */
export function storeContract(test: RegisterTest, makeStore: () => Store | Promise<Store>): void {
  const deps = { writes, isolation, data, life };
  for (const [at, [name, cases]] of Object.entries(deps).entries())
    for (const [n, [title, run]] of Object.entries(cases).entries())
      test(`store contract ${at + 1}.${n + 1} ${name}: ${title}`, async () => {
        const store = await makeStore();
        if (cases !== life) await store.open([items, counters]);
        await run(store).finally(async () => cases !== life && store.close());
      });
}
