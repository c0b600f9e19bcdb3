// Store contract: work sees one consistent state; where that state has changed by the commit, work is run again.
import assert from "node:assert/strict";
import type { Store, Tx } from "../../domain/store.ts";
import {
  ALL,
  type Case,
  type Counter,
  counters,
  idsOf,
  item,
  items,
  numbers,
  overtaken,
  put,
  remove,
} from "./fixture.ts";

/** A case in which `look` is overtaken by `meanwhile`: the work runs twice and acts on what it then sees. */
const phantom = (
  title: string,
  look: (tx: Tx) => Promise<unknown>,
  meanwhile: (store: Store) => Promise<void>,
  fresh: unknown,
): Case => ({
  title,
  async run(store) {
    await put(store, item("a"), item("b", { colour: "red" }));
    const { runs, result } = await overtaken(
      store,
      look,
      () => meanwhile(store),
      async (tx, seen) => {
        await tx.put(counters, { id: "written", n: 1 });
        return seen;
      },
    );
    assert.equal(runs, 2);
    assert.deepEqual(result, fresh);
  },
});

const ids = (tx: Tx) => idsOf(tx);
const taken = item("c", { slot: "s" });

export const isolation: readonly Case[] = [
  {
    title: "of 50 increments at once none is lost",
    async run(store) {
      const increment = () =>
        store.transact(async (tx) => {
          const n = (await tx.get(counters, "c"))?.n ?? 0;
          await tx.put(counters, { id: "c", n: n + 1 });
        });
      await Promise.all(Array.from({ length: 50 }, increment));
      assert.equal((await store.get(counters, "c"))?.n, 50);
    },
  },
  {
    title: "the one record of a list that goes from before what the work has put there",
    async run(store) {
      await put(store, item("a"));
      const { runs, result } = await overtaken(
        store,
        async (tx) => {
          await tx.put(items, item("b"));
          return idsOf(tx, "ann", { offset: 1, limit: 1 });
        },
        () => remove(store, "a"),
        async (_, seen) => seen,
      );
      assert.equal(runs, 2);
      assert.deepEqual(result, []);
      assert.deepEqual(await idsOf(store), ["b"]);
    },
  },
  {
    title: "work that is given up runs again, also where the state has become what it was before it ended",
    async run(store) {
      let runs = 0;
      const count = await store.transact(async (tx) => {
        runs += 1;
        await tx.count(items, "owner", ["ann"]);
        if (runs === 1) await put(store, item("a"));
        try {
          return await tx.count(items, "owner", ["ann"]);
        } finally {
          if (runs === 1) await remove(store, "a");
        }
      });
      assert.equal(count, 0);
    },
  },
  phantom(
    "a record that was replaced meanwhile",
    async (tx) => (await tx.get(items, "a"))?.text,
    (store) => put(store, item("a", { text: "new" })),
    "new",
  ),
  phantom(
    "a record that was removed meanwhile",
    (tx) => tx.get(items, "a"),
    (store) => remove(store, "a"),
    undefined,
  ),
  phantom(
    "a record that was absent",
    (tx) => tx.get(items, "c"),
    (store) => put(store, taken),
    taken,
  ),
  phantom(
    "a unique key that was free",
    (tx) => tx.find(items, "slot", ["ann", "s"]),
    (store) => put(store, taken),
    taken,
  ),
  phantom("a page that has grown", ids, (store) => put(store, item("c")), ["a", "b", "c"]),
  phantom("a page that has shrunk", ids, (store) => remove(store, "a"), ["b"]),
  phantom(
    "a page with a replaced record",
    async (tx) => (await tx.page(items, "owner", ["ann"], ALL)).map(({ text }) => text),
    (store) => put(store, item("b", { text: "new" })),
    ["", "new"],
  ),
  phantom(
    "a count",
    (tx) => tx.count(items, "owner", ["ann"]),
    (store) => put(store, item("c")),
    3,
  ),
  phantom(
    "a count of nothing",
    (tx) => tx.count(items, "owner", ["bob"]),
    (store) => put(store, item("c", { owner: "bob" })),
    1,
  ),
  {
    title: "a page that follows own writes is read again too when others have written",
    async run(store) {
      await put(store, item("a"), item("b"), item("c"));
      const look = async (tx: Tx) => {
        await tx.remove(items, "a");
        await tx.put(items, item("own"));
        return idsOf(tx, "ann", { offset: 1, limit: 2 });
      };
      const { result } = await overtaken(
        store,
        look,
        () => put(store, item("d")),
        async (_, seen) => seen,
      );
      assert.deepEqual(result, ["c", "d"]);
      assert.deepEqual(await idsOf(store), ["b", "c", "d", "own"]);
    },
  },
  {
    title: "no run sees two states, not even one that is run again",
    async run(store) {
      const both = (n: number) =>
        store.transact(async (tx) => {
          await tx.put(counters, { id: "left", n });
          await tx.put(counters, { id: "right", n });
        });
      await both(1);
      const pairs: (number | undefined)[][] = [];
      const look = async (tx: Tx) => (await tx.get(counters, "left"))?.n;
      await overtaken(
        store,
        look,
        () => both(2),
        async (tx, left) => {
          pairs.push([left, (await tx.get(counters, "right"))?.n]);
        },
      );
      for (const [left, right] of pairs) assert.equal(left, right);
    },
  },
  {
    title: "two that each read what the other writes do not both commit on the old state",
    async run(store) {
      await store.transact(async (tx) => {
        await tx.put(counters, { id: "a", n: 1 });
        await tx.put(counters, { id: "b", n: 1 });
      });
      const leave = (id: string) =>
        store.transact(async (tx) => {
          const on = [await tx.get(counters, "a"), await tx.get(counters, "b")].filter((one) => one?.n === 1);
          if (on.length === 2) await tx.put(counters, { id, n: 0 });
        });
      await Promise.all([leave("a"), leave("b")]);
      const left = [await store.get(counters, "a"), await store.get(counters, "b")];
      assert.equal(left.filter((one) => one?.n === 1).length, 1);
    },
  },
  {
    title: "of 150 that count a list, read its end and add to it, each sees one more than the one before",
    async run(store) {
      const add = () =>
        store.transact(async (tx) => {
          const count = await tx.count(items, "owner", ["ann"]);
          const [last] = await idsOf(tx, "ann", { offset: Math.max(0, count - 1), limit: 5 });
          assert.equal(last, count === 0 ? undefined : `item ${count - 1}`);
          await tx.put(items, item(`item ${count}`));
        });
      const adds: Promise<void>[] = [];
      for (let n = 0; n < 150; n += 1) {
        adds.push(add());
        // They come at different moments, some while the store is busy with those before.
        if (n % 3 === 0) await new Promise(setImmediate);
      }
      await Promise.all(adds);
      assert.deepEqual(
        await idsOf(store),
        Array.from({ length: 150 }, (_, n) => `item ${n}`),
      );
    },
  },
  { title: "300 transfers at once between 8 accounts keep the sum at every look", run: transfers },
];

async function transfers(store: Store): Promise<void> {
  const names = Array.from({ length: 8 }, (_, at) => `account ${at}`);
  const pick = numbers(7);
  const name = () => names[pick(names.length)] ?? "";
  const read = async (tx: Tx, id: string): Promise<Counter> => (await tx.get(counters, id)) ?? { id, n: 0 };
  await store.transact(async (tx) => {
    for (const id of names) await tx.put(counters, { id, n: 100 });
  });
  const transfer = async (from: string, to: string, amount: number) =>
    store.transact(async (tx) => {
      const source = await read(tx, from);
      for (let yields = pick(4); yields > 0; yields -= 1) await Promise.resolve();
      await tx.put(counters, { id: from, n: source.n - amount });
      const target = await read(tx, to);
      await tx.put(counters, { id: to, n: target.n + amount });
    });
  const look = async () =>
    store.transact(async (tx) => {
      let sum = 0;
      for (const id of names) sum += (await read(tx, id)).n;
      assert.equal(sum, 800);
    });
  const work = Array.from({ length: 300 }, (_, at) => (at % 10 === 0 ? look() : transfer(name(), name(), pick(50))));
  await Promise.all(work);
  await look();
}
