// The contract of the store port (domain/store.ts) as a test suite. Every store must pass it, also one written
// elsewhere: `storeContract(test, makeStore)` registers the cases with node:test's `test`. It asks for nothing that a
// database shared by several processes could not do: no case writes before it waits for another transaction.
import type { Store } from "../domain/store.ts";
import { atomicity } from "./contract/atomicity.ts";
import { data } from "./contract/data.ts";
import { type Case, counters, items } from "./contract/fixture.ts";
import { isolation } from "./contract/isolation.ts";
import { leases } from "./contract/leases.ts";
import { life } from "./contract/life.ts";
import { lists } from "./contract/lists.ts";
import { ownWrites } from "./contract/own-writes.ts";
import { unique } from "./contract/unique.ts";

/** The part of node:test's `test` that is used. */
export type RegisterTest = (title: string, run: () => Promise<void>) => unknown;

/** `makeStore` gives a fresh, empty store that has not been opened. */
export function storeContract(test: RegisterTest, makeStore: () => Store | Promise<Store>): void {
  const parts = { atomicity, isolation, "own writes": ownWrites, unique, lists, leases, data };
  let part = 0;
  for (const [name, cases] of Object.entries(parts)) {
    part += 1;
    cases.forEach(({ title, run }, at) => {
      test(`store contract ${part}.${at + 1} ${name}: ${title}`, () => opened(makeStore, run));
    });
  }
  life.forEach(({ title, run }, at) => {
    test(`store contract ${part + 1}.${at + 1} life: ${title}`, async () => run(await makeStore()));
  });
}

async function opened(makeStore: () => Store | Promise<Store>, run: Case["run"]): Promise<void> {
  const store = await makeStore();
  await store.open([items, counters]);
  try {
    await run(store);
  } finally {
    await store.close();
  }
}
