// The JSON-file store: the store contract, its numbered promises 1 and 3 on real files, and restores. torture.test.ts
// tests crashes and failing disks as well.
import assert from "node:assert/strict";
import { copyFileSync, existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { test } from "node:test";
import { collection } from "../../src/domain/store.ts";
import { jsonFileStore } from "../../src/store/json-file.ts";
import { turns } from "../support/wait.ts";
import { storeContract } from "./contract.ts";
import {
  copyFiles,
  idsIn,
  newFile,
  note,
  notes,
  numbered,
  openFilesIn,
  openStore,
  storeWith,
  textOf,
  write,
} from "./fixture.ts";

storeContract(() => jsonFileStore(newFile()));

// The checksums were computed with Python's zlib.
const TEXTS = {
  file: '{"format":2,"journal":1,"collections":{\n"notes":[\n{"id":"b","list":"all","text":"text of b"},\n{"id":"a","list":"all","text":"text of a"},\n{"id":"c","list":"all","text":"\u2028 \\ud800 é"}\n]\n},"checksums":["ab155545","a8a34c1d","d12542cd","a77096dd","3a031755","c7d8c2c4","fcb6e20c"]}\n',
  journal:
    '{"crc":"c2c220b2","seq":2,"writes":[["put","notes",{"id":"d","list":"all","text":"x"}],["put","notes",{"id":"d","list":"all","text":"text of d"}],["remove","notes","b"],["put","notes",{"id":"b","list":"all","text":"new"}]]}\n{"crc":"995a49a6","seq":3,"writes":[["put","notes",{"id":"a","__proto__":1,"text":"text of b","list":null}]]}\n{"crc":"9ea3da85","seq":4,"writes":[["remove","notes","c"]]}\n',
  folded:
    '{"format":2,"journal":4,"collections":{\n"notes":[\n{"id":"a","__proto__":1,"text":"text of b","list":null},\n{"id":"d","list":"all","text":"text of d"},\n{"id":"b","list":"all","text":"new"}\n]\n},"checksums":["5fbbb9c9","a8a34c1d","1dd5e0bf","3d8eeaed","fdcb8af7","c7d8c2c4","fcb6e20c"]}\n',
};

test("promise 1: acknowledged commits are in the journal, concurrent ones on one line, and a clean stop folds it into FILE", async (t) => {
  const file = newFile();
  writeFileSync(file, TEXTS.file);
  const { store, warnings } = await openStore(t, file);
  assert.equal(textOf(file), TEXTS.file);
  const concurrent = [
    write(store, note("d", "x"), note("d")),
    store.transact(async (tx) => {
      await tx.remove(notes, "b");
      await tx.put(notes, note("b", "new"));
    }),
  ];
  await Promise.all(concurrent);
  await write(store, JSON.parse('{"id":"a","__proto__":1,"text":"text of b","list":null}'));
  await store.transact((tx) => tx.remove(notes, "c"));
  assert.equal(textOf(`${file}.journal`), TEXTS.journal);
  const copy = await openStore(t, copyFiles(file));
  assert.match(textOf(copy.file), /^\{"format":2,"journal":4,/, "the start has folded all lines");
  const { collections } = await copy.store.snapshot();
  assert.deepEqual(collections.notes, JSON.parse(TEXTS.folded).collections.notes);
  for (const each of [store, copy.store]) await each.close();
  assert.equal(textOf(file), TEXTS.folded);
  assert.deepEqual(readdirSync(dirname(file)), ["data.json", "data.json-copy"]);
  assert.deepEqual([...warnings, ...copy.warnings], []);
});

test("promise 1: a stop without changes does not rewrite FILE", async (t) => {
  const { file, store } = await openStore(t);
  await write(store, ...numbered(400));
  await store.close();
  const { store: again } = await openStore(t, file);
  const { ino } = statSync(file);
  await again.close();
  assert.equal(statSync(file).ino, ino);
});

test("promise 1: a read waits until its data is durable, but not for writes to another collection", async (t) => {
  const keys = collection<{ readonly id: string }>()("keys");
  const { store } = await openStore(t, newFile(), {}, [notes, keys]);
  const order: string[] = [];
  const written = write(store, note("a")).then(() => order.push("written"));
  // By the second turn the commit waits for the disk.
  await turns(2);
  const found = store.get(keys, "k").then(() => order.push("found"));
  const read = store.get(notes, "a").then(() => order.push("read"));
  await Promise.all([written, found, read]);
  assert.deepEqual(order, ["found", "written", "read"]);
});

test("promise 3: a growing journal is folded into FILE during writes, so that its size stays limited", async (t) => {
  const { file, store, warnings } = await openStore(t, undefined, { journal_bytes_max: 5_000 });
  let largest = 0;
  for (let n = 0; n < 1000; n += 1) {
    await Promise.all([
      write(store, note(`${n % 10}`, `text ${n}`)),
      write(store, note("x", `${n}`)),
    ]);
    largest = Math.max(largest, statSync(`${file}.journal`).size);
  }
  assert.ok(largest > 5_000 && largest < 10_000, `journal of ${largest} bytes`);
  assert.deepEqual(warnings, []);
  const copy = await openStore(t, copyFiles(file));
  assert.deepEqual(await copy.store.snapshot(), await store.snapshot());
  for (const each of [copy.store, store]) await each.close();
  assert.deepEqual(openFilesIn(dirname(file)), []);
});

test("promise 3: after a restore FILE is not rewritten before the journal has grown enough", async (t) => {
  const { file, store } = await openStore(t, undefined, { journal_bytes_max: 1_000 });
  await store.restore({ format: 2, collections: { notes: [note("large", "x".repeat(100_000))] } });
  const { ino } = statSync(file);
  for (const each of numbered(50)) await write(store, each);
  assert.ok(statSync(`${file}.journal`).size > 1_000);
  assert.equal(statSync(file).ino, ino);
});

test("promise 3: an old FILE with the whole journal and a new FILE with an uncut or earlier journal have the same data", async (t) => {
  const { file, store } = await storeWith(t, "a b");
  copyFileSync(`${file}.journal`, `${file}-early`);
  await store.transact((tx) => tx.remove(notes, "a"));
  await write(store, note("a"));
  // Repeating a batch that FILE contains would now put a unique key twice.
  await write(store, note("b", "free"));
  await write(store, note("a", "text of b"));
  const old = copyFiles(file);
  copyFileSync(`${file}.journal`, `${file}-whole`);
  const data = await store.snapshot();
  await store.close();
  for (const journal of ["-early", "-whole"]) {
    copyFileSync(file, `${file}-with${journal}`);
    copyFileSync(file + journal, `${file}-with${journal}.journal`);
  }
  for (const path of [old, `${file}-with-early`, `${file}-with-whole`]) {
    const { store: again } = await openStore(t, path);
    assert.deepEqual(await again.snapshot(), data);
    await write(again, note("z"));
    assert.equal(await idsIn((await openStore(t, copyFiles(path))).store), "b a z");
  }
});

test("promise 3: a start removes the unfinished file that a crash left", async (t) => {
  const { file, store } = await openStore(t);
  await store.close();
  writeFileSync(`${file}.new`, "half");
  await (await openStore(t, file)).store.close();
  assert.deepEqual(readdirSync(dirname(file)), ["data.json"]);
});

test("promise 3: a restore and later writes are durable during concurrent writes and folds", async (t) => {
  const { file, store } = await openStore(t, undefined, { journal_bytes_max: 1_000 });
  const writeMany = (name: string, count: number) =>
    numbered(count).map(({ id }) => write(store, note(`${name}${id}`)));
  const before = writeMany("before", 200);
  const restored = store.restore({ format: 2, collections: { notes: [note("restored")] } });
  await Promise.all([...before, restored]);
  await Promise.all([...writeMany("after", 50)]);
  const ids = await idsIn(store);
  assert.match(ids, /^restored.*( after\d+){50}$/);
  assert.equal(await idsIn((await openStore(t, copyFiles(file))).store), ids);
  await store.close();
  assert.equal(await idsIn((await openStore(t, file)).store), ids);
});

for (const restores of [false, true])
  test(`promise 3: a close waits for a running ${restores ? "restore" : "fold"} before it writes FILE`, async (t) => {
    const { file, store, warnings } = await openStore(t, newFile(), { journal_bytes_max: 1 });
    await write(store, note("before", "x".repeat(4_000_000)));
    // The fold that follows this write is still running at the close.
    await write(store, note("acknowledged"));
    const data = { format: 2, collections: { notes: [note("restored")] } } as const;
    await Promise.all([restores && store.restore(data), store.close()]);
    assert.deepEqual(warnings, []);
    assert.equal(existsSync(`${file}.journal`), false);
    const ids = await idsIn((await openStore(t, file)).store);
    assert.equal(ids, restores ? "restored" : "before acknowledged");
  });
