// Store contract: work sees its own writes, in every kind of read.
import assert from "node:assert/strict";
import { ALL, type Case, type Item, idsOf, item, items, numbers, put } from "./fixture.ts";

export const ownWrites: readonly Case[] = [
  {
    title: "a record that was put, replaced or removed",
    async run(store) {
      await put(store, item("a"));
      await store.transact(async (tx) => {
        await tx.put(items, item("b", { slot: "s" }));
        assert.equal((await tx.get(items, "b"))?.id, "b");
        assert.equal((await tx.find(items, "slot", ["ann", "s"]))?.id, "b");
        await tx.put(items, item("b", { slot: "t", text: "new" }));
        assert.equal((await tx.get(items, "b"))?.text, "new");
        assert.equal(await tx.find(items, "slot", ["ann", "s"]), undefined);
        assert.equal((await tx.find(items, "slot", ["ann", "t"]))?.text, "new");
        await tx.remove(items, "a");
        assert.equal(await tx.get(items, "a"), undefined);
        await tx.remove(items, "b");
        assert.equal(await tx.find(items, "slot", ["ann", "t"]), undefined);
      });
    },
  },
  {
    title: "lists, counts and groups",
    async run(store) {
      await put(store, item("a", { colour: "red" }), item("b", { colour: "red" }));
      await store.transact(async (tx) => {
        await tx.put(items, item("c", { colour: "blue" }));
        await tx.put(items, item("a", { colour: "blue" }));
        const blue = await tx.page(items, "owner_colour", ["ann", "blue"], ALL);
        assert.deepEqual(
          blue.map(({ id }) => id),
          ["a", "c"],
        );
        assert.equal(await tx.count(items, "owner_colour", ["ann", "red"]), 1);
        await tx.remove(items, "b");
        assert.deepEqual(await tx.groups(items, "owner_colour"), [["ann", "blue"]]);
        assert.deepEqual(await idsOf(tx), ["a", "c"]);
      });
    },
  },
  {
    title: "a page with a record that was replaced at its place",
    async run(store) {
      await put(store, item("a"), item("b"), item("c"));
      await store.transact(async (tx) => {
        for (const id of ["a", "b", "c"]) {
          await tx.put(items, item(id, { text: "new" }));
          for (const [offset, at] of ["a", "b", "c"].entries())
            assert.deepEqual(
              (await tx.page(items, "owner", ["ann"], { offset, limit: 1 })).map((each) => [each.id, each.text]),
              [[at, at <= id ? "new" : ""]],
            );
        }
      });
    },
  },
  {
    title: "a record removed and put again in one unit of work is a new one, at the end",
    async run(store) {
      await put(store, item("a"), item("b"));
      await store.transact(async (tx) => {
        await tx.remove(items, "a");
        await tx.put(items, item("a"));
        assert.deepEqual(await idsOf(tx), ["b", "a"]);
      });
      assert.deepEqual(await idsOf(store), ["b", "a"]);
    },
  },
  {
    title: "3,000 writes at random show in every page as in a plain list, before and after the commit",
    run: randomWrites,
  },
];

const order = (record: Item) => record.rank ?? "";

async function randomWrites(store: Parameters<Case["run"]>[0]): Promise<void> {
  const pick = numbers(11);
  const make = (id: string) => item(id, { rank: String(pick(20) + 10) });
  const stored = Array.from({ length: 1500 }, (_, at) => make(`item ${at}`));
  await put(store, ...stored);
  /** What the list should be: in creation order. */
  const expected = new Map(stored.map((record) => [record.id, record]));
  const ranked = () => [...expected.values()].sort((a, b) => order(a).localeCompare(order(b)));
  await store.transact(async (tx) => {
    for (let write = 0; write < 3000; write += 1) {
      const record = make(`item ${pick(2500)}`);
      if (pick(3) === 0) expected.delete(record.id);
      else expected.set(record.id, record);
      if (expected.has(record.id)) await tx.put(items, record);
      else await tx.remove(items, record.id);
      if (write % 30 > 0) continue;
      const offset = pick(expected.size + 5);
      const page = await tx.page(items, "ranked", ["ann"], { offset, limit: 25 });
      assert.deepEqual(page, ranked().slice(offset, offset + 25));
      assert.deepEqual(await idsOf(tx, "ann", { offset, limit: 25 }), [...expected.keys()].slice(offset, offset + 25));
    }
  });
  assert.deepEqual(await store.page(items, "ranked", ["ann"], ALL), ranked());
  assert.deepEqual(await idsOf(store), [...expected.keys()]);
}
