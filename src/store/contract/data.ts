// Store contract: snapshot and restore, and that every value comes back as it went in.
import assert from "node:assert/strict";
import { type Case, counters, type Item, idsOf, item, items, numbers, overtaken, put, remove } from "./fixture.ts";

const TRICKY = ["__proto__", "constructor", "\u2028\u2029", "\0", "\ud800", "\u{1F600}", '"\\\n\r\t', "\ufeff", ""];

export const data: readonly Case[] = [
  {
    title: "a snapshot holds every record by collection in creation order, and nothing else",
    async run(store) {
      await put(store, item("b"), item("c"), item("a"));
      await put(store, item("b", { text: "new" }));
      await remove(store, "c");
      const snapshot = await store.snapshot();
      assert.deepEqual(snapshot, {
        format: 1,
        collections: { items: [item("b", { text: "new" }), item("a")], counters: [] },
      });
    },
  },
  {
    title: "a snapshot does not follow later writes",
    async run(store) {
      await put(store, item("a"));
      const snapshot = await store.snapshot();
      await put(store, item("a", { text: "new" }), item("b"));
      assert.deepEqual(snapshot.collections.items, [item("a")]);
    },
  },
  {
    title: "a snapshot and what was restored can be changed by whoever has them, without effect on the store",
    async run(store) {
      await put(store, item("a"));
      const snapshot = JSON.parse(JSON.stringify(await store.snapshot()));
      await store.restore(snapshot);
      snapshot.collections.items[0].text = "changed";
      const another: { collections: { items?: { text?: string }[] } } = JSON.parse(JSON.stringify(snapshot));
      Object.assign(another, await store.snapshot());
      Object.assign(another.collections.items?.[0] ?? {}, { text: "changed" });
      assert.equal((await store.get(items, "a"))?.text, "");
    },
  },
  {
    title: "restore puts back exactly the snapshot: records, order, lists and unique keys",
    async run(store) {
      await put(store, item("b", { slot: "s", colour: "red" }), item("a", { rank: "1" }));
      const snapshot = JSON.parse(JSON.stringify(await store.snapshot()));
      await put(store, item("c", { slot: "t" }));
      await remove(store, "b");
      await store.transact((tx) => tx.put(counters, { id: "c", n: 1 }));
      await store.restore(snapshot);
      assert.deepEqual(await store.snapshot(), snapshot);
      assert.deepEqual(await idsOf(store), ["b", "a"]);
      assert.equal((await store.find(items, "slot", ["ann", "s"]))?.id, "b");
      assert.equal(await store.find(items, "slot", ["ann", "t"]), undefined);
      assert.equal(await store.get(counters, "c"), undefined);
      await put(store, item("d"));
      assert.deepEqual(await idsOf(store), ["b", "a", "d"]);
    },
  },
  {
    title: "work that a restore has overtaken is run again",
    async run(store) {
      await put(store, item("a"));
      const empty = { format: 1, collections: { items: [], counters: [] } } as const;
      const { runs, result } = await overtaken(
        store,
        (tx) => tx.get(items, "a"),
        () => store.restore(empty),
        async (tx, seen) => {
          await tx.put(counters, { id: "c", n: 1 });
          return seen;
        },
      );
      assert.deepEqual([runs, result], [2, undefined]);
    },
  },
  {
    title: "any string comes back as it was, as a value, an id and a key",
    async run(store) {
      const pick = numbers(3);
      const random = Array.from({ length: 50 }, () => String.fromCharCode(pick(65536), pick(65536), pick(256)));
      for (const text of [...TRICKY, ...new Set(random)]) {
        const record = item(text, { text, owner: text, slot: text, rank: text, colour: text });
        await put(store, record);
        assert.deepEqual(await store.get(items, text), record);
        assert.deepEqual(await store.find(items, "slot", [text, text]), record);
        assert.deepEqual(await idsOf(store, text), [text]);
        assert.equal(await store.count(items, "owner_colour", [text, text]), 1);
      }
      const snapshot = JSON.parse(JSON.stringify(await store.snapshot()));
      await store.restore(snapshot);
      for (const text of TRICKY) assert.equal((await store.get(items, text))?.text, text);
    },
  },
  {
    title: "a member called __proto__ is a member",
    async run(store) {
      const record: Item = JSON.parse('{"id":"p","owner":"ann","__proto__":{"slot":"s"},"constructor":null}');
      await put(store, record);
      const text = JSON.stringify(record);
      assert.equal(JSON.stringify(await store.get(items, "p")), text);
      assert.equal(await store.find(items, "slot", ["ann", "s"]), undefined);
      const snapshot = await store.snapshot();
      await store.restore(snapshot);
      assert.equal(JSON.stringify(await store.get(items, "p")), text);
    },
  },
];
