// The in-memory store: the store contract and rollbacks.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isStoreError } from "../../src/domain/store.ts";
import { createStore, memoryStore } from "../../src/store/memory.ts";
import { loadTables } from "../../src/store/tables.ts";
import { promised, turns } from "../support/index.ts";
import { storeContract } from "./contract.ts";
import { data, idsIn, note, notes, write } from "./fixture.ts";

storeContract(memoryStore);

async function openMemoryStore(store = memoryStore()) {
  await store.open([notes]);
  return store;
}

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
  await assert.rejects(
    store.transact(() => store.close()),
    /only its own transaction/,
  );
});

test("a restore is not repeated when a later commit of its batch fails", async (t) => {
  const replace = t.mock.fn(async () => undefined);
  const storage = createStore({
    load: async (collections) => loadTables(collections, {}, "The data"),
    append: () => Promise.reject(new Error("full")),
    replace,
    close: async () => undefined,
  });
  const store = await openMemoryStore(storage);
  const restored = store.restore(data(note("a")));
  await assert.rejects(write(store, note("b")), /full/);
  await restored;
  assert.deepEqual([replace.mock.callCount(), await idsIn(store)], [1, "a"]);
});

test("a restore of invalid data rejects and keeps the current data", async () => {
  const store = await openMemoryStore();
  await write(store, note("before"));
  for (const [second, fault] of [
    [note("b", "x"), "notes[1] is a second record with the same text in notes"],
    [note("a", "y"), 'notes[1] is a second record with the id "a"'],
  ] as const)
    await assert.rejects(
      store.restore(data(note("a", "x"), second)),
      (error) => isStoreError(error, "StoreOpenError") && error.message.includes(fault),
    );
  assert.deepEqual(await store.snapshot(), data(note("before")));
});
