// Store contract: writes are visible in lists, counts and unique keys, at once to their unit of work and to all later
// ones. All writes of a unit take effect together, or none does.
import assert from "node:assert/strict";
import { collection, isStoreError, type Store, type Tx } from "../../../src/domain/store.ts";
import { type Cases, each, item, items, shown, undone, write, written } from "./steps.ts";

/** The writes of consecutive units of work, and the expected result. */
const outcomes = {
  "a list has its records in creation order": "b a | c => ann: b a c",
  "a replaced record keeps its place in creation order, also in a list it moves to":
    "a b:owner=bob c d:owner=bob | a:text=new | c:owner=bob => ann: a(new); bob: b c d",
  "a record that is removed and put again is at the end": "a b | -a a => ann: b a",
  "removing a record that does not exist has no effect": "a | -b => ann: a",
  "a list is sorted by the text of its order field first, then by creation":
    "a:rank=2 b:rank=10 c d:rank=2 | b:rank=10,text=new => ann: a b(new) c d; ranked: b(new) a d",
  "a record moves in a list when its order field changes, and leaves it when that is null":
    "a:rank=2 b:rank=10 c d:rank=2 | a:rank=3 c:rank=2 d => ann: a b c d; ranked: b c a",
  "several order fields are compared one after the other, numbers by value":
    "a:level=10,rank=1 b:level=9,rank=2 c:level=9,rank=10 d:level=9,rank=2 | e:level=-1,rank=3 => ann: a b c d e; ranked: e c b d a",
  "a record with null in a field of a list or unique key is left out of it":
    "a:owner=~,colour=red,slot=s b:owner=~,slot=s | c:slot=~ d:slot=~ => ann: c d",
  "the holder of a unique key can be put again with the same key":
    "a:slot=s | a:slot=s,text=new => ann: a(new); s: a(new)",
  "a unique key is free when its holder is removed or gets another key":
    "a:slot=s b:slot=t | -a b:slot=u | c:slot=s d:slot=t => ann: b c d; s: c; t: d",
  "a unique key can pass from one record to another in one unit of work":
    "a:slot=s b | a b:slot=s => ann: a b; s: b",
};

/** Variants: separate units of work, a single unit, a unit that is rolled back, and after a restore. */
async function comesOut(store: Store, outcome: string) {
  const [units = "", shows = ""] = outcome.split(" => ");
  const together = async (tx: Tx) => {
    await write(tx, units.replaceAll("|", ""));
    return shown(tx);
  };
  await undone(store, together);
  assert.equal(await shown(store), "");
  await written(store, ...units.split("|"));
  const snapshot = await store.snapshot();
  assert.equal(await shown(store), shows);
  await store.restore({ format: 2, collections: {} });
  assert.deepEqual([await store.transact(together), await shown(store)], [shows, shows]);
  await store.restore(snapshot);
  assert.deepEqual([await shown(store), await store.snapshot()], [shows, snapshot]);
}

/** Owner and slot. The last four are equal if joined by a NUL, or if each value just follows its length. */
const KEYS =
  'true| x|y,z x,y|z x","y|z x|y","z x;|y x|;y x\0y|z x|y\0z 0|ABCDEFGH3xyz 12ABCDEFGH|xyz'.split(
    " ",
  );

const isViolation = (error: unknown) => isStoreError(error, "UniqueViolation");

export const writes: Cases = {
  ...each(outcomes, comesOut),
  async "a unit of work that is rolled back leaves all records in their places"(store) {
    await written(store, "a:slot=s,rank=2 b:rank=1 c:rank=2");
    const [before, snapshot] = [await shown(store), await store.snapshot()];
    await undone(store, (tx) =>
      write(tx, "b:owner=bob -a c:slot=s,rank=0 a:text=another,rank=9 -c d"),
    );
    assert.deepEqual([await shown(store), await store.snapshot()], [before, snapshot]);
    await written(store, "e d");
    assert.match(await shown(store), /^ann: a b c e d;/);
  },
  async "a second record with a unique key rejects with UniqueViolation and rolls back the unit of work, even if it catches the error"(
    store,
  ) {
    await written(store, "a:slot=s");
    const swallowing = async (tx: Tx) => write(tx, "b c:slot=s").catch(() => undefined);
    await assert.rejects(store.transact(swallowing), isViolation);
    for (const words of ["b c:slot=s", "d:slot=t e:slot=t"])
      await assert.rejects(written(store, words), isViolation);
    assert.equal(await shown(store), "ann: a; s: a");
  },
  async "values of different types and of several fields are distinct keys"(store) {
    const keys = KEYS.map((key) => key.split("|"));
    const records = keys.map(([owner = "", slot = ""], n) =>
      item(`${n}`, { owner, slot, bright: owner === "true", colour: "null" }),
    );
    await written(store, records);
    for (const [n, key] of keys.entries())
      assert.deepEqual(await store.find(items, "slot", key), records[n]);
    const counts = [true, "true", false, null].map((bright) =>
      store.count(items, "bright", [bright]),
    );
    counts.push(store.count(items, "owner_colour", ["true", null]));
    assert.deepEqual(await Promise.all(counts), [1, 0, KEYS.length - 1, 0, 0]);
  },
  async "a call with a collection that was not declared rejects"(store) {
    const other = collection<{ id: string }>()("other");
    const work = store.transact((tx) => tx.put(other, { id: "a" }));
    await assert.rejects(work, /other/);
    await assert.rejects(store.get(other, "a"), /other/);
  },
  async "a tx rejects every call after the end of its unit of work, whether committed or rolled back"(
    store,
  ) {
    const over: Tx[] = [];
    await store.transact(async (tx) => over.push(tx));
    await undone(store, async (tx) => over.push(tx));
    for (const tx of over) {
      const reads = [tx.get(items, "a"), tx.count(items, "owner", ["ann"]), shown(tx)];
      const ends = await Promise.allSettled([...reads, write(tx, "late"), write(tx, "-late")]);
      for (const { status } of ends) assert.equal(status, "rejected");
    }
    assert.equal(await shown(store), "");
  },
  async "a unit of work that calls the store itself is rejected and rolled back, and the store stays usable"(
    store,
  ) {
    const calls: (() => Promise<unknown>)[] = [
      () => store.get(items, "a"),
      () => written(store, "nested"),
      () => store.snapshot(),
      () => store.restore({ format: 2, collections: {} }),
    ];
    for (const call of calls) {
      const work = store.transact((tx) => write(tx, "never").then(call));
      await assert.rejects(work, Error);
    }
    await written(store, "a");
    assert.equal(await shown(store), "ann: a");
  },
};
