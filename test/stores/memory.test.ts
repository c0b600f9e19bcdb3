// The in-memory store: the store contract, lists compared with a plain model, work that awaits something else, and
// subscribers that throw. The JSON-file store has the same engine.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { collection, type Reader, type Store, type Tx } from "../../src/domain/store.ts";
import { seededRandom } from "../../src/lib/ids.ts";
import { storeContract } from "../../src/store/contract.ts";
import { createGroupCommit, type DurableWriter } from "../../src/store/group-commit.ts";
import { MemoryStore, memoryStore } from "../../src/store/memory.ts";
import { heapInUse } from "../support/costs.ts";
import { turns } from "../support/wait.ts";
import { lost, note, notes, numbered, publish, refusesBadData, write } from "./fixture.ts";

storeContract(test, memoryStore);

interface Row {
  readonly id: string;
  readonly list: string;
  readonly rank: number;
}

const rows = collection<Row>()("rows", {
  list: { by: ["list"] },
  ranked: { by: ["list"], order: "rank" },
});

for (const [what, { units, writes, ids, lists }] of Object.entries({
  "in one long list": { units: 3, writes: 4000, ids: 3500, lists: 1 },
  "in lists of a record or two": { units: 200, writes: 10, ids: 60, lists: 40 },
})) {
  test(`random writes ${what} give the same pages as a plain list, whether committed or rolled back`, async () => {
    const store = memoryStore();
    await store.open([rows]);
    const random = seededRandom("rows");
    const pick = (below: number) => random(2).readUInt16BE() % below;
    /** The records in creation order. */
    let expected = new Map<string, Row>();
    const same = async (from: Reader, records: ReadonlyMap<string, Row>, list: string) => {
      const own = [...records.values()].filter((row) => row.list === list);
      const ranked = own.toSorted((a, b) => a.rank - b.rank);
      const span = { offset: pick(own.length + 2), limit: 25 };
      const shown = (all: readonly Row[]) => all.slice(span.offset, span.offset + span.limit);
      assert.deepEqual(await from.page(rows, "list", [list], span), shown(own));
      assert.deepEqual(await from.page(rows, "ranked", [list], span), shown(ranked));
      assert.equal(await from.count(rows, "ranked", [list]), own.length);
    };
    for (let unit = 0; unit < units; unit += 1) {
      const now = new Map(expected);
      const isUndone = unit % 3 === 1;
      const work = store.transact(async (tx) => {
        for (let n = 0; n < writes; n += 1) {
          const row = { id: `${pick(ids)}`, list: `${pick(lists)}`, rank: 10 + pick(80) };
          const isRemoval = pick(4) === 0;
          if (isRemoval) now.delete(row.id);
          else now.set(row.id, row);
          await (isRemoval ? tx.remove(rows, row.id) : tx.put(rows, row));
          if (n % (writes / 10) < 1) await same(tx, now, row.list);
        }
        if (isUndone) throw new Error("undone");
      });
      await work.catch((error) => assert.match(error.message, /^undone$/));
      if (!isUndone) expected = now;
      for (let list = 0; list < lists; list += 1) await same(store, expected, `${list}`);
    }
    assert.deepEqual((await store.snapshot()).collections.rows, [...expected.values()]);
  });
}

async function opened() {
  const store = memoryStore();
  await store.open([notes]);
  return store;
}

for (const [what, wait] of Object.entries({
  "a timer": () => new Promise((resolve) => setTimeout(resolve, 60_000).unref()),
  "the next turn": () => new Promise((resolve) => setImmediate(resolve)),
  "an event that never comes": () => new Promise(() => undefined),
  "what fails in the end": () =>
    new Promise((_, reject) => setImmediate(() => reject(new Error("late")))),
})) {
  test(`a unit of work that waits for ${what} is aborted, and the units behind it continue`, async () => {
    const store = await opened();
    const waiting = store.transact(async (tx) => {
      await tx.put(notes, note("never"));
      await wait();
      await tx.put(notes, note("later"));
    });
    const [next, read] = [write(store, note("next")), store.get(notes, "never")];
    await assert.rejects(waiting, /may only await its own transaction; .* given up/);
    await next;
    assert.equal(await read, undefined);
    // Later calls of the aborted work have no effect and cause no unhandled rejection.
    await turns(3);
    assert.equal(await store.count(notes, "list", ["all"]), 1);
  });
}

/** Opens a store that loses its first commit; `meanwhile` runs during that write. */
async function losing(meanwhile: (store: Store) => void) {
  const written: unknown[] = [];
  const append: DurableWriter["append"] = async (commits) => {
    written.push(...commits.flat().map(({ after }) => after?.id));
    if (written.length > 1) return;
    meanwhile(store);
    for (let step = 0; step < 20; step += 1) await undefined;
    throw new Error("lost");
  };
  const done = async () => undefined;
  const store = new MemoryStore(
    createGroupCommit(async () => ({ append, replace: done, close: done })),
  );
  await store.open([notes]);
  return { store, written };
}

test("when a commit is lost, its readers are retried, dependent writes are lost, and waiting units of work are aborted", async () => {
  const ends: Promise<unknown>[] = [];
  const builds = async (tx: Tx) =>
    tx.put(notes, note("b", `on ${(await tx.get(notes, "a"))?.text}`));
  const waits = async (tx: Tx) => {
    await tx.put(notes, note("a", "replaced"));
    await new Promise(() => undefined);
  };
  const { store, written } = await losing((store) => {
    const looks = [store.get(notes, "a"), store.transact((tx) => tx.get(notes, "a"))];
    ends.push(Promise.all(looks).then((found) => assert.deepEqual(found, [undefined, undefined])));
    ends.push(store.snapshot().then(({ collections }) => assert.deepEqual(collections.notes, [])));
    ends.push(lost(store.transact(builds)));
    const givenUp = () => ends.push(assert.rejects(store.transact(waits), /given up/));
    givenUp();
    setImmediate(givenUp);
    ends.push(store.transact(async (tx) => assert.equal(await tx.get(notes, "a"), undefined)));
  });
  await lost(write(store, note("a")));
  await Promise.all(ends);
  await write(store, note("c"));
  assert.deepEqual((await store.snapshot()).collections.notes, [note("c")]);
  assert.deepEqual(written, ["a", "c"]);
});

test("a unit of work retried after a lost commit resolves before later notifications, and rejects once the store is closed", async () => {
  const ended: string[] = [];
  const ends: Promise<unknown>[] = [];
  const ending = (id: string, work: Promise<void>) => ends.push(work.then(() => ended.push(id)));
  const again = (store: Store) =>
    store.transact(async (tx) => {
      if (await tx.get(notes, "lost")) throw new Error("is there already");
      await tx.put(notes, note("again"));
      tx.publish("t", "again");
      ending("next", publish(store, "next"));
    });
  const { store } = await losing((store) => ending("again", again(store)));
  const received: string[] = [];
  store.subscribe("t", (subject) => received.push(subject));
  await lost(publish(store, "lost"));
  for (const end of ends) await end;
  for (const order of [received, ended]) assert.deepEqual(order, ["again", "next"]);
  const { store: closing, written } = await losing((store) => {
    ends.push(assert.rejects(again(store), /closed/), store.close());
  });
  await lost(write(closing, note("lost")));
  await Promise.all(ends);
  assert.deepEqual(written, ["lost"]);
});

test("a unit of work that throws synchronously is rolled back, and the store stays usable", async () => {
  const store = await opened();
  const failing = (): Promise<void> => {
    throw new Error("at once");
  };
  await assert.rejects(store.transact(failing), /at once/);
  await write(store, note("after"));
});

test("an error in one subscriber affects neither the commit nor other subscribers, and is an unhandled rejection", async (t) => {
  const store = await opened();
  const received: string[] = [];
  // node:test counts an unhandled rejection as a failure.
  const listeners = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  t.after(() => {
    for (const listener of listeners) process.on("unhandledRejection", listener);
  });
  const surfaced = once(process, "unhandledRejection");
  store.subscribe("t", () => {
    throw new Error("the hearer's own");
  });
  store.subscribe("t", (subject) => void received.push(subject));
  await publish(store, "a");
  assert.deepEqual([received, (await store.get(notes, "a"))?.id], [["a"], "a"]);
  assert.match(String((await surfaced)[0]), /the hearer's own/);
});

test("a restore of invalid data rejects and keeps the current data", async () =>
  refusesBadData(await opened()));

test("a discarded snapshot uses no memory", async () => {
  const store = await opened();
  const taken = async () => (await store.snapshot()).collections.notes?.length;
  assert.equal(await taken(), 0);
  await write(
    store,
    ...numbered(10_000).map(({ id }) => note(`n${id}`, `${id} ${"x".repeat(500)}`)),
  );
  const before = await heapInUse();
  assert.equal(await taken(), 10_000);
  assert.ok((await heapInUse()) - before < 1e6);
});

test("index lists that become empty use no memory", async () => {
  const store = memoryStore();
  const pairs = collection<Row>()("pairs", { pair: { by: ["list", "rank"] } });
  await store.open([pairs]);
  const comingAndGoing = (lists: string) =>
    store.transact(async (tx) => {
      for (const { id } of numbered(20_000)) {
        await tx.put(pairs, { id, list: lists + id, rank: Number(id) });
        await tx.remove(pairs, id);
      }
    });
  await comingAndGoing("a");
  const before = await heapInUse();
  for (const lists of ["b", "c", "d", "e"]) await comingAndGoing(lists);
  assert.ok((await heapInUse()) - before < 3e6);
});
