// Store contract: concurrent units of work have the same result as in some serial order.
import assert from "node:assert/strict";
import { ALL_RECORDS, type Reader, type Store, type Tx } from "../../../src/domain/store.ts";
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
  "reading the holder of a unique key is serialized with concurrent writes": (from) =>
    from.find(items, "slot", ["ann", "s"]),
  "reading a page is serialized with concurrent writes": (from) =>
    from.page(items, "owner", ["ann"], { offset: 1, limit: 1 }),
  "reading a page in the order of a field is serialized with concurrent writes": (from) =>
    from.page(items, "ranked", ["ann"], ALL_RECORDS),
  "reading a count is serialized with concurrent writes": (from) =>
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
async function crossed(store: Store, look: (from: Reader) => Promise<unknown>) {
  for (const change of CHANGES)
    for (const isEarly of [true, false]) {
      await store.restore({ format: 2, collections: {} });
      await written(store, "a:rank=1 b:rank=2,slot=t");
      const before = await look(store);
      const looking = () =>
        store.transact(async (tx) => {
          const seen = await look(tx);
          await setCounter(tx, "mark", 1);
          return seen;
        });
      const early = isEarly && looking();
      const changing = store.transact(async (tx) => {
        const mark = await counter(tx, "mark");
        await write(tx, change);
        return mark;
      });
      const [mark, seen] = await Promise.all([changing, early || looking()]);
      assert.deepEqual(seen, mark === 1 ? before : await look(store), change);
    }
}

export const isolation: Cases = {
  ...each(looks, crossed),
  async "each of 50 concurrent units of work that count a list and append to it sees one more record"(
    store,
  ) {
    const counts = await many(50, () =>
      store.transact(async (tx) => {
        const count = await tx.count(items, "owner", ["ann"]);
        await write(tx, `${count}`);
        return count;
      }),
    );
    assert.deepEqual(new Set(counts), new Set(Array.from({ length: 50 }, (_, n) => n)));
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
    const snapshot = async () => {
      const { collections } = await store.snapshot();
      const { n, text } = Object.assign({ n: 0, text: "0" }, ...Object.values(collections).flat());
      return [`${n}`, text];
    };
    const seen = await many<readonly unknown[]>(60, (n) =>
      n % 3 === 2 ? snapshot() : store.transact(n % 3 === 1 ? look : set(n)),
    );
    for (const [left, right] of seen) assert.equal(left, right);
    assert.notDeepEqual(await snapshot(), ["0", "0"]);
    assert.deepEqual(await snapshot(), await store.transact(look));
  },
  async "nobody sees the writes of a unit of work that is rolled back"(store) {
    const look = (n: number) => (n % 3 === 1 ? shown(store) : store.transact(shown));
    const fail = () => undone(store, (tx) => write(tx, "never:slot=s")).then(() => "");
    const seen = await many(30, (n) => (n % 3 === 0 ? fail() : look(n)));
    assert.deepEqual(new Set(seen), new Set([""]));
  },
};
