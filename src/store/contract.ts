// The contract of the store port (domain/store.ts) as a test suite. Every store must pass it, also one written elsewhere:
// `storeContract(test, makeStore)` registers the cases with node:test's `test`. It asserts what comes out, never how often
// `work` was run: a store may lock, or run it again. It asks for nothing that a database shared by several processes could
// not do; but for the one case that says this is refused, no work asks the store itself.
import type { Store } from "../domain/store.ts";
import { data } from "./contract/data.ts";
import { isolation } from "./contract/isolation.ts";
import { life } from "./contract/life.ts";
import { signals } from "./contract/signals.ts";
import { counters, items } from "./contract/steps.ts";
import { writes } from "./contract/writes.ts";

/** The part of node:test's `test` that is used. */
export type RegisterTest = (title: string, run: () => Promise<void>) => unknown;

/** `makeStore` gives a fresh, empty store that has not been opened. */
export function storeContract(test: RegisterTest, makeStore: () => Store | Promise<Store>): void {
  const deps = { writes, isolation, signals, data, life };
  for (const [at, [name, cases]] of Object.entries(deps).entries())
    for (const [n, [title, run]] of Object.entries(cases).entries())
      test(`store contract ${at + 1}.${n + 1} ${name}: ${title}`, async () => {
        const store = await makeStore();
        if (cases !== life) await store.open([items, counters]);
        await run(store).finally(async () => cases !== life && store.close());
      });
}
