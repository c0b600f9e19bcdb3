// Store contract: all writes of a unit of work take effect together, or none does.
import assert from "node:assert/strict";
import { type Case, counters, idsOf, item, items, put } from "./fixture.ts";

export const atomicity: readonly Case[] = [
  {
    title: "all writes of a unit of work are there when it resolves, with what the work answered",
    async run(store) {
      const answer = await store.transact(async (tx) => {
        await tx.put(items, item("a"));
        await tx.put(counters, { id: "c", n: 1 });
        return "done";
      });
      assert.equal(answer, "done");
      assert.deepEqual(await store.get(items, "a"), item("a"));
      assert.deepEqual(await store.get(counters, "c"), { id: "c", n: 1 });
    },
  },
  {
    title: "work that rejects leaves no record, no place in a list and no unique key, and its error comes through",
    async run(store) {
      const failure = new Error("no");
      const work = store.transact(async (tx) => {
        await tx.put(items, item("a", { slot: "s", colour: "red", rank: "1" }));
        throw failure;
      });
      await assert.rejects(work, (error) => error === failure);
      assert.equal(await store.get(items, "a"), undefined);
      assert.equal(await store.find(items, "slot", ["ann", "s"]), undefined);
      assert.equal(await store.count(items, "owner", ["ann"]), 0);
      assert.deepEqual(await store.page(items, "ranked", ["ann"], { offset: 0, limit: 9 }), []);
      await put(store, item("b", { slot: "s" }));
    },
  },
  {
    title: "a replacement and a removal that are rolled back leave the old records in their places",
    async run(store) {
      await put(store, item("a", { slot: "s" }), item("b"), item("c"));
      const work = store.transact(async (tx) => {
        await tx.put(items, item("b", { owner: "bob" }));
        await tx.remove(items, "a");
        await tx.put(items, item("c", { slot: "s" }));
        throw new Error("no");
      });
      await assert.rejects(work);
      assert.deepEqual(await idsOf(store), ["a", "b", "c"]);
      assert.deepEqual(await idsOf(store, "bob"), []);
      assert.equal((await store.find(items, "slot", ["ann", "s"]))?.id, "a");
    },
  },
  {
    title: "a creation that is rolled back takes no place in creation order",
    async run(store) {
      const work = store.transact(async (tx) => {
        await tx.put(items, item("a"));
        throw new Error("no");
      });
      await assert.rejects(work);
      await put(store, item("b"));
      await put(store, item("a"));
      assert.deepEqual(await idsOf(store), ["b", "a"]);
    },
  },
  {
    title: "nobody sees writes before the commit",
    async run(store) {
      await put(store, item("old"));
      await store.transact(async (tx) => {
        await tx.put(items, item("new", { slot: "s", colour: "red" }));
        await tx.remove(items, "old");
        assert.equal(await store.get(items, "new"), undefined);
        assert.equal(await store.find(items, "slot", ["ann", "s"]), undefined);
        assert.deepEqual(await idsOf(store), ["old"]);
        assert.equal(await store.count(items, "owner", ["ann"]), 1);
        assert.deepEqual(await store.transact((other) => idsOf(other)), ["old"]);
      });
      assert.deepEqual(await idsOf(store), ["new"]);
    },
  },
  {
    title: "a record that is not there can be removed without effect",
    async run(store) {
      await store.transact((tx) => tx.remove(items, "nothing"));
      assert.deepEqual(await idsOf(store), []);
    },
  },
];
