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
  {
    title: "1,000 writes at random to lists of a record or two show in every page as in plain lists",
    run: shortLists,
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

/** Sixty records change between forty owners, so that most lists have none, one or two of them. */
async function shortLists(store: Parameters<Case["run"]>[0]): Promise<void> {
  const pick = numbers(7);
  const expected = new Map<string, Item>();
  const one = (offset: number) => ({ offset, limit: 1 });
  for (let round = 0; round < 100; round += 1) {
    await store.transact(async (tx) => {
      for (let write = 0; write < 10; write += 1) {
        const owner = String(pick(40));
        const record = item(`item ${pick(60)}`, { owner, rank: String(pick(3)) });
        if (pick(4) === 0) expected.delete(record.id);
        else expected.set(record.id, record);
        if (expected.has(record.id)) await tx.put(items, record);
        else await tx.remove(items, record.id);
        const own = [...expected.values()].filter((each) => each.owner === owner);
        const ranked = [...own].sort((a, b) => order(a).localeCompare(order(b)));
        assert.equal(await tx.count(items, "owner", [owner]), own.length);
        for (const offset of [0, 1, 2]) {
          assert.deepEqual(await tx.page(items, "owner", [owner], one(offset)), own.slice(offset, offset + 1));
          assert.deepEqual(await tx.page(items, "ranked", [owner], one(offset)), ranked.slice(offset, offset + 1));
        }
      }
    });
    for (let owner = 0; owner < 40; owner += 1) {
      const own = [...expected.values()].filter((each) => each.owner === String(owner));
      assert.deepEqual(await store.page(items, "owner", [String(owner)], ALL), own);
      for (const offset of [0, 1])
        assert.deepEqual(await store.page(items, "owner", [String(owner)], one(offset)), own.slice(offset, offset + 1));
    }
  }
}
