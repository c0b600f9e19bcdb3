// Store contract: concurrent units of work have the same result as in some serial order.
import assert from "node:assert/strict";
import { ALL_RECORDS, type Reader, type Store, type Tx } from "../../../src/domain/store.ts";
import { nextTurn } from "../../../src/lib/clock.ts";
import {
  type Cases,
  counter,
  each,
  items,
  many,
  setCounter,
  shown,
  undone,
  write,
  written,
} from "./steps.ts";

const looks: Readonly<Record<string, (from: Reader) => Promise<unknown>>> = {
  "reading a record is serialized with concurrent writes": (from) => from.get(items, "a"),
  "reading a record that does not exist is serialized with concurrent writes": (from) =>
    from.get(items, "c"),
  "finding the holder of a unique key is serialized with concurrent writes": (from) =>
    from.find(items, "slot", ["ann", "s"]),
  "reading a page is serialized with concurrent writes": (from) =>
    from.page(items, "owner", ["ann"], { offset: 1, limit: 1 }),
  "reading a page in the order of a field is serialized with concurrent writes": (from) =>
    from.page(items, "ranked", ["ann"], ALL_RECORDS),
  "counting a list is serialized with concurrent writes": (from) =>
    from.count(items, "owner_colour", ["ann", "red"]),
};

const CHANGES = [
  "a:text=new",
  "-a",
  "c",
  "c:slot=s,colour=red,rank=1",
  "b:owner=bob",
  "b:colour=red,rank=3",
];

/**
 * One unit of work reads and leaves a mark, another changes something. If the change found no mark, the read must see
 * the change.
 */
async function crossed(store: Store, look: (from: Reader) => Promise<unknown>): Promise<void> {
  for (const [n, change] of [...CHANGES, ...CHANGES].entries()) {
    await store.restore({ format: 2, collections: {} });
    await written(store, "a:rank=1 b:rank=2,slot=t");
    const before = await look(store);
    const looking = async (tx: Tx) => {
      const seen = await look(tx);
      await setCounter(tx, "mark", 1);
      return seen;
    };
    const changing = async (tx: Tx) => {
      const mark = await counter(tx, "mark");
      await write(tx, change);
      return mark;
    };
    const early = n < CHANGES.length && store.transact(looking);
    const [mark, seen] = await Promise.all([
      store.transact(changing),
      early || store.transact(looking),
    ]);
    assert.deepEqual(seen, mark === 1 ? before : await look(store), change);
  }
}

export const isolation: Cases = {
  ...each(looks, crossed),
  async "none of 50 concurrent increments is lost"(store) {
    await many(50, () =>
      store.transact(async (tx) => setCounter(tx, "c", (await counter(tx, "c")) + 1)),
    );
    assert.equal(await counter(store, "c"), 50);
  },
  async "a list only grows at its end while records are added concurrently"(store) {
    const look = async () =>
      (await store.page(items, "owner", ["ann"], ALL_RECORDS)).map(({ id }) => id).join(" ");
    const looks = await many(8, async (n) => {
      const seen: string[] = [];
      for (let time = 0; time < 20; time += 1) {
        await store.transact((tx) => write(tx, `${n}.${time}`).then(() => tx.get(items, "none")));
        seen.push(await look());
      }
      return seen;
    });
    const end = await look();
    for (const seen of looks.flat())
      assert.ok(end.startsWith(seen), `${seen} is not how ${end} begins`);
  },
  async "neither another unit of work nor a snapshot sees part of a unit of work"(store) {
    const set = (n: number) => async (tx: Tx) => {
      await setCounter(tx, "n", n);
      await write(tx, `n:text=${n}`);
      return [];
    };
    const look = async (tx: Tx) => [
      `${await counter(tx, "n")}`,
      (await tx.get(items, "n"))?.text ?? "0",
    ];
    const snapshot = async () =>
      JSON.stringify(await store.snapshot()).match(/(?<="(n":|text":"))\d+/g) ?? [];
    const seen = await many<readonly unknown[]>(60, (n) =>
      n % 3 === 2 ? snapshot() : store.transact(n % 3 === 1 ? look : set(n)),
    );
    for (const [left, right] of seen) assert.equal(left, right);
  },
  async "nobody sees the writes of a unit of work that is rolled back"(store) {
    const look = (n: number) => (n % 3 === 1 ? shown(store) : store.transact(shown));
    const fail = () => undone(store, (tx) => write(tx, "never:slot=s")).then(() => "");
    const seen = await many(30, (n) => (n % 3 === 0 ? fail() : look(n)));
    assert.deepEqual(new Set(seen), new Set([""]));
  },
  async "each of 150 concurrent units of work that count a list and append to it sees one more record"(
    store,
  ) {
    const add = async (tx: Tx) => {
      const count = await tx.count(items, "owner", ["ann"]);
      const end = await tx.page(items, "owner", ["ann"], {
        offset: Math.max(0, count - 1),
        limit: 5,
      });
      await write(tx, `${count}`);
      return [count, ...end.map(({ id }) => id)].join();
    };
    const adds: Promise<string>[] = [];
    for (let n = 0; n < 150; n += 1) {
      adds.push(store.transact(add));
      // The calls come at different moments, some while the store is busy with earlier ones.
      if (n % 3 === 0) await nextTurn();
    }
    const expected = Array.from({ length: 150 }, (_, n) => (n === 0 ? "0" : `${n},${n - 1}`));
    assert.deepEqual(new Set(await Promise.all(adds)), new Set(expected));
  },
};
