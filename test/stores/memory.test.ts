// The in-memory store: the store contract, lists compared with a plain model, and the cost of long lists.
import assert from "node:assert/strict";
import { test } from "node:test";
import { collection, FIRST_RECORD, isStoreError, type Reader } from "../../src/domain/store.ts";
import { seededRandom } from "../../src/lib/ids.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { heapInUse, took } from "../support/costs.ts";
import { promised, turns } from "../support/wait.ts";
import { storeContract } from "./contract.ts";
import { data, idsIn, note, notes, numbered, write } from "./fixture.ts";

storeContract(memoryStore);

interface Row {
  readonly id: string;
  readonly list: string;
  readonly rank: number;
  readonly due: string;
}

const rows = collection<Row>()("rows", {
  list: { by: ["list"] },
  ranked: { by: ["list"], order: ["rank", "due"] },
});

const byRank = (a: Row, b: Row): number =>
  a.rank - b.rank || (a.due === b.due ? 0 : a.due < b.due ? -1 : 1);

test("random writes give the same pages as a plain list, whether committed or rolled back", async () => {
  const store = memoryStore();
  await store.open([rows]);
  const random = seededRandom("rows");
  const pick = (below: number) => random(2).readUInt16BE() % below;
  /** The records in creation order. */
  let expected = new Map<string, Row>();
  const compare = async (from: Reader, records: ReadonlyMap<string, Row>, list: string) => {
    const inList = [...records.values()].filter((row) => row.list === list);
    const range = { offset: pick(inList.length + 2), limit: 25 };
    const slice = (all: readonly Row[]) => all.slice(range.offset, range.offset + range.limit);
    assert.deepEqual(await from.page(rows, "list", [list], range), slice(inList));
    const ranked = await from.page(rows, "ranked", [list], range);
    assert.deepEqual(ranked, slice(inList.toSorted(byRank)));
    assert.equal(await from.count(rows, "ranked", [list]), inList.length);
  };
  for (let unit = 0; unit < 200; unit += 1) {
    const changed = new Map(expected);
    const isUndone = unit % 3 === 1;
    const work = store.transact(async (tx) => {
      for (let n = 0; n < 20; n += 1) {
        const id = `${pick(300)}`;
        const row = { id, list: `${pick(4)}`, rank: pick(12), due: `${pick(12)}` };
        const isRemoval = pick(4) === 0;
        if (isRemoval) changed.delete(id);
        else changed.set(id, row);
        await (isRemoval ? tx.remove(rows, id) : tx.put(rows, row));
      }
      await compare(tx, changed, `${pick(4)}`);
      if (isUndone) throw new Error("undone");
    });
    await work.catch((error) => assert.match(error.message, /^undone$/));
    if (!isUndone) expected = changed;
    await compare(store, expected, `${pick(4)}`);
  }
  assert.deepEqual((await store.snapshot()).collections.rows, [...expected.values()]);
});

async function openMemoryStore() {
  const store = memoryStore();
  await store.open([notes]);
  return store;
}

test("a unit of work that throws synchronously is rolled back, and the store stays usable", async () => {
  const store = await openMemoryStore();
  const throwing = (): Promise<void> => {
    throw new Error("at once");
  };
  await assert.rejects(store.transact(throwing), /at once/);
  await write(store, note("after"));
});

test("a unit of work that never ends is rolled back, and its later calls and those that it made of the store reject", async () => {
  const store = await openMemoryStore();
  const { keep: release, kept: released } = promised();
  const nested: Promise<unknown>[] = [];
  const running = store.transact(async (tx) => {
    await tx.put(notes, note("a"));
    nested.push(assert.rejects(write(store, note("nested")), /only its own transaction/));
    await released;
    await tx.put(notes, note("b"));
  });
  await assert.rejects(running, /may await only its own transaction/);
  await Promise.all(nested);
  release();
  await turns(3);
  await write(store, note("after"));
  assert.equal(await idsIn(store), "after");
});

test("a restore of invalid data rejects and keeps the current data", async () => {
  const store = await openMemoryStore();
  await write(store, note("before"));
  for (const [second, pattern] of [
    [note("b", "x"), /notes\[1\] is a second record with the same text in notes/],
    [note("a", "y"), /notes\[1\] is a second record with the id "a"/],
  ] as const)
    await assert.rejects(
      store.restore(data(note("a", "x"), second)),
      (error) => isStoreError(error, "StoreOpenError") && pattern.test(error.message),
    );
  assert.deepEqual(await store.snapshot(), data(note("before")));
});

test("1,000 reads, writes and removals at the start of a list of 100,000 records take less than a second", async () => {
  const store = await openMemoryStore();
  await write(store, ...numbered(100_000));
  const use = async () => {
    for (let n = 0; n < 1_000; n += 1) {
      const [oldest] = await store.page(notes, "list", ["all"], FIRST_RECORD);
      assert.equal(oldest?.id, `${n}`);
      await store.count(notes, "list", ["all"]);
      await store.transact((tx) => tx.remove(notes, `${n}`));
      await write(store, note(`new ${n}`));
    }
  };
  assert.ok((await took(use)) < 1_000);
});

test("lists that become empty use no memory", async () => {
  const store = await openMemoryStore();
  const createAndRemove = (round: string) =>
    store.transact(async (tx) => {
      for (const { id } of numbered(20_000)) {
        await tx.put(notes, { ...note(id), list: round + id });
        await tx.remove(notes, id);
      }
    });
  await createAndRemove("a");
  const before = await heapInUse();
  for (const round of ["b", "c", "d", "e"]) await createAndRemove(round);
  assert.ok((await heapInUse()) - before < 3e6);
});
