// Store contract: only one record at a time has the values of a unique key.
import assert from "node:assert/strict";
import { type Store, UniqueViolation } from "../../domain/store.ts";
import { type Case, idsOf, item, items, overtaken, put, remove } from "./fixture.ts";

const holder = async (store: Store, slot: string) => (await store.find(items, "slot", ["ann", slot]))?.id;

export const unique: readonly Case[] = [
  {
    title: "a key that is held rejects with UniqueViolation and keeps nothing of the unit of work",
    async run(store) {
      await put(store, item("a", { slot: "s" }));
      await assert.rejects(put(store, item("b"), item("c", { slot: "s" })), UniqueViolation);
      assert.deepEqual(await idsOf(store), ["a"]);
      assert.equal(await holder(store, "s"), "a");
    },
  },
  {
    title: "two records of one unit of work cannot hold the same key",
    async run(store) {
      await assert.rejects(put(store, item("a", { slot: "s" }), item("b", { slot: "s" })), UniqueViolation);
      assert.deepEqual(await idsOf(store), []);
    },
  },
  {
    title: "work that swallows the violation does not commit",
    async run(store) {
      await put(store, item("a", { slot: "s" }));
      const work = store.transact(async (tx) => {
        await tx.put(items, item("b"));
        await assert.rejects(tx.put(items, item("c", { slot: "s" })), UniqueViolation);
      });
      await assert.rejects(work, UniqueViolation);
      assert.deepEqual(await idsOf(store), ["a"]);
    },
  },
  {
    title: "the holder may be put again with its key",
    async run(store) {
      await put(store, item("a", { slot: "s" }));
      await put(store, item("a", { slot: "s", text: "new" }));
      assert.equal((await store.find(items, "slot", ["ann", "s"]))?.text, "new");
    },
  },
  {
    title: "a key is free again when its holder is removed or takes another",
    async run(store) {
      await put(store, item("a", { slot: "s" }), item("b", { slot: "t" }));
      await remove(store, "a");
      assert.equal(await holder(store, "s"), undefined);
      await put(store, item("b", { slot: "u" }));
      assert.equal(await holder(store, "t"), undefined);
      await put(store, item("c", { slot: "s" }), item("d", { slot: "t" }));
      assert.deepEqual([await holder(store, "s"), await holder(store, "t")], ["c", "d"]);
    },
  },
  {
    title: "a key can pass from one record to another within a unit of work",
    async run(store) {
      await put(store, item("a", { slot: "s" }), item("b"));
      await put(store, item("a"), item("b", { slot: "s" }));
      assert.equal(await holder(store, "s"), "b");
      await store.transact(async (tx) => {
        await tx.remove(items, "b");
        await tx.put(items, item("c", { slot: "s" }));
      });
      assert.equal(await holder(store, "s"), "c");
    },
  },
  {
    title: "null in one of the fields leaves the record out",
    async run(store) {
      await put(
        store,
        item("a"),
        item("b"),
        item("c", { owner: null, slot: "s" }),
        item("d", { owner: null, slot: "s" }),
      );
      assert.equal(await store.find(items, "slot", ["ann", null]), undefined);
      assert.equal(await store.find(items, "slot", [null, "s"]), undefined);
    },
  },
  {
    title: "the values of two fields are not mixed up",
    async run(store) {
      await put(store, item("a", { owner: "x", slot: "y,z" }), item("b", { owner: "x,y", slot: "z" }));
      await put(store, item("c", { owner: 'x","y', slot: "z" }), item("d", { owner: "x", slot: 'y","z' }));
      assert.equal((await store.find(items, "slot", ["x", "y,z"]))?.id, "a");
      assert.equal((await store.find(items, "slot", ["x", 'y","z']))?.id, "d");
    },
  },
  {
    title: "of two that look and then take the same key one gets it, and the other sees that when it is run again",
    async run(store) {
      const { runs, result } = await overtaken(
        store,
        (tx) => tx.find(items, "slot", ["ann", "s"]),
        () => put(store, item("first", { slot: "s" })),
        async (tx, seen) => {
          if (seen === undefined) await tx.put(items, item("second", { slot: "s" }));
          return seen?.id;
        },
      );
      assert.deepEqual([runs, result], [2, "first"]);
      assert.deepEqual(await idsOf(store), ["first"]);
    },
  },
  {
    title: "of 20 that take the same key at once without looking one gets it",
    async run(store) {
      const takes = Array.from({ length: 20 }, (_, at) => put(store, item(`item ${at}`, { slot: "s" })));
      const ends = await Promise.allSettled(takes);
      const refused = ends.filter((end) => end.status === "rejected" && end.reason instanceof UniqueViolation);
      assert.equal(refused.length, 19);
      assert.equal((await idsOf(store)).length, 1);
    },
  },
];
