// Store contract: a store is opened once, before anything else, and refuses every call once it is closed.
import assert from "node:assert/strict";
import { collection, type Store } from "../../domain/store.ts";
import { ALL, type Case, counters, item, items, put } from "./fixture.ts";

const calls: readonly ((store: Store) => Promise<unknown>)[] = [
  (store) => store.get(items, "a"),
  (store) => store.find(items, "slot", ["ann", "s"]),
  (store) => store.page(items, "owner", ["ann"], ALL),
  (store) => store.count(items, "owner", ["ann"]),
  (store) => store.transact(async () => "nothing"),
  (store) => store.lease("l", 1),
  (store) => store.snapshot(),
  (store) => store.restore({ format: 1, collections: {} }),
];

export const life: readonly Case[] = [
  {
    title: "every call before open and after close rejects; a second open rejects",
    async run(store) {
      for (const call of calls) await assert.rejects(call(store));
      await store.open([items, counters]);
      await assert.rejects(store.open([items, counters]));
      for (const call of calls) await call(store);
      await store.close();
      for (const call of calls) await assert.rejects(call(store));
      await assert.rejects(store.open([items, counters]));
    },
  },
  {
    title: "every write that is under way at the close comes to an end",
    async run(store) {
      await store.open([items, counters]);
      const writes = Array.from({ length: 20 }, (_, at) => put(store, item(`item ${at}`)));
      const ends = Promise.allSettled(writes);
      await store.close();
      for (const end of await ends) if (end.status === "rejected") assert.ok(end.reason instanceof Error);
    },
  },
  {
    title: "a collection that was not declared is refused",
    async run(store) {
      await store.open([items, counters]);
      const other = collection<{ readonly id: string }>()({ name: "other" });
      await assert.rejects(store.get(other, "a"), /other/);
      await assert.rejects(
        store.transact((tx) => tx.put(other, { id: "a" })),
        /other/,
      );
      await store.close();
    },
  },
];
