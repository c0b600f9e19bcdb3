// The JSON-file store: the store contract, and its numbered promises 1 (durable), 3 (replaced in one step) and 5 (full
// disk) on real files. torture.test.ts tests crashes and failing disks as well.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { test } from "node:test";
import { collection } from "../../src/domain/store.ts";
import { jsonFileStore } from "../../src/store/json-file.ts";
import { turns } from "../support/wait.ts";
import { storeContract } from "./contract.ts";
import {
  copyFiles,
  data,
  idsAfterCrash,
  idsIn,
  isLost,
  newFile,
  note,
  notes,
  numbered,
  openStore,
  storeWith,
  textOf,
  write,
} from "./fixture.ts";

storeContract(() => jsonFileStore(newFile()));

// The checksums were computed with Python's zlib.
const TEXTS = {
  file: '{"format":2,"journal":1,"collections":{\n"notes":[\n{"id":"b","list":"all","text":"text of b"},\n{"id":"a","list":"all","text":"text of a"},\n{"id":"c","list":"all","text":"\u2028 \\ud800 é"}\n]\n},"checksums":["ab155545","a8a34c1d","d12542cd","a77096dd","3a031755","c7d8c2c4"]}\n',
  journal:
    '{"crc":"369a7330","seq":2,"writes":[["notes","d",{"id":"d","list":"all","text":"x"}],["notes","d",{"id":"d","list":"all","text":"text of d"}],["notes","b",null],["notes","b",{"id":"b","list":"all","text":"new"}]]}\n{"crc":"e19686e8","seq":3,"writes":[["notes","a",{"id":"a","__proto__":1,"text":"text of b","list":null}]]}\n{"crc":"23424a67","seq":4,"writes":[["notes","c",null]]}\n',
  folded:
    '{"format":2,"journal":4,"collections":{\n"notes":[\n{"id":"a","__proto__":1,"text":"text of b","list":null},\n{"id":"d","list":"all","text":"text of d"},\n{"id":"b","list":"all","text":"new"}\n]\n},"checksums":["5fbbb9c9","a8a34c1d","1dd5e0bf","3d8eeaed","fdcb8af7","c7d8c2c4"]}\n',
};

test("promise 1: acknowledged commits are in the journal, concurrent ones on one line, and a start or clean stop folds it into FILE", async (t) => {
  const file = newFile();
  writeFileSync(file, TEXTS.file);
  const { store, warnings } = await openStore(t, file);
  assert.equal(textOf(file), TEXTS.file);
  const created = write(store, note("d", "x"), note("d"));
  const replaced = store.transact(async (tx) => {
    await tx.remove(notes, "b");
    await tx.put(notes, note("b", "new"));
  });
  await Promise.all([created, replaced]);
  await write(store, JSON.parse('{"id":"a","__proto__":1,"text":"text of b","list":null}'));
  await store.transact((tx) => tx.remove(notes, "c"));
  assert.equal(textOf(`${file}.journal`), TEXTS.journal);
  const copy = await openStore(t, copyFiles(file));
  assert.equal(textOf(copy.file), TEXTS.folded);
  for (const each of [store, copy.store]) await each.close();
  assert.equal(textOf(file), TEXTS.folded);
  assert.deepEqual(readdirSync(dirname(file)), ["data.json", "data.json-copy"]);
  assert.deepEqual([...warnings, ...copy.warnings], []);
});

test("promise 1: a read waits until its data is durable, but not for writes to another collection", async (t) => {
  const keys = collection<{ id: string }>()("keys");
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
  for (let n = 0; n < 500; n += 1) {
    await write(store, note(`${n % 10}`, `text ${n}`));
    largest = Math.max(largest, statSync(`${file}.journal`).size);
  }
  assert.ok(largest > 4_000 && largest < 10_000, `journal of ${largest} bytes`);
  assert.deepEqual(warnings, []);
  const copy = await openStore(t, copyFiles(file));
  assert.deepEqual(await copy.store.snapshot(), await store.snapshot());
});

test("promise 3: a new FILE ignores the batches of an uncut journal that it contains", async (t) => {
  const { file, store } = await storeWith(t, "a b");
  await store.transact((tx) => tx.remove(notes, "a"));
  // Repeating these batches would move it to the end.
  await write(store, note("a"));
  await write(store, note("c"));
  copyFileSync(`${file}.journal`, `${file}-uncut`);
  const before = await store.snapshot();
  await store.close();
  copyFileSync(`${file}-uncut`, `${file}.journal`);
  const { store: again } = await openStore(t, file);
  assert.deepEqual(await again.snapshot(), before);
  await write(again, note("z"));
  assert.equal(await idsAfterCrash(t, file), "b a c z");
});

test("promise 3: once a restore has replaced FILE, a failure to cut the journal stops all writes", async (t) => {
  const { file, store } = await storeWith(t, "old");
  const handle = await open(file);
  await handle.close();
  const failure = Object.assign(new Error("EIO: i/o error"), { code: "EIO" });
  const truncate = t.mock.method(Object.getPrototypeOf(handle), "truncate", async () => {
    throw failure;
  });
  await isLost(store.restore(data(note("restored"))));
  truncate.mock.restore();
  await isLost(write(store, note("after")));
  assert.equal(truncate.mock.callCount(), 1);
  assert.equal(await idsAfterCrash(t, file), "restored");
});

test("promise 3: a restore and the writes after it are durable, and a close waits for both", async (t) => {
  const { file, store } = await openStore(t, undefined, { journal_bytes_max: 1_000 });
  const writeMany = (name: string) =>
    numbered(50).map(({ id }) => write(store, note(`${name}${id}`)));
  const before = writeMany("before");
  const restored = store.restore(data(note("restored")));
  await Promise.all([...before, restored, ...writeMany("after")]);
  const ids = await idsIn(store);
  assert.match(ids, /^restored( after\d+){50}$/);
  assert.equal(await idsAfterCrash(t, file), ids);
  await Promise.all([store.restore(data(note("last"))), store.close()]);
  assert.deepEqual(readdirSync(dirname(file)), [
    "data.json",
    "data.json-copy",
    "data.json-copy.journal",
    "data.json-copy.lock",
  ]);
  assert.equal(await idsIn((await openStore(t, file)).store), "last");
});

/** Limits the size of the files that this process writes: a write comes back short and the next one fails. */
const limit = (bytes: number | "unlimited") =>
  spawnSync("prlimit", [`--pid=${process.pid}`, `--fsize=${bytes}:`]).status === 0;
const free = () => limit("unlimited");
const needsLimit = { skip: !free() && "prlimit is not installed" };

test(
  "promise 5: while the disk is full writes reject, data and files stay as before, and writes resume once there is room",
  needsLimit,
  async (t) => {
    const { file, store, warnings } = await storeWith(t, "a b c");
    const before = await store.snapshot();
    const journal = textOf(`${file}.journal`);
    t.after(free);
    limit(journal.length + 30);
    const lost = [
      store.transact((tx) => tx.remove(notes, "a")),
      write(store, { ...note("b"), list: "other" }, note("d", "text of a")),
      store.restore(data(note("x", "x".repeat(1_000)))),
    ];
    // These run in the same batch, see what is undone, and run again.
    const failing = store.transact(async (tx) => {
      throw new Error(`a is ${(await tx.get(notes, "a")) ? "there" : "gone"}`);
    });
    const reads = [
      store.transact((tx) => tx.get(notes, "d")),
      store.find(notes, "text", ["text of d"]),
    ];
    await Promise.all([...lost.map(isLost), assert.rejects(failing, /a is there/)]);
    assert.deepEqual(await Promise.all(reads), [undefined, undefined]);
    assert.deepEqual(await store.snapshot(), before);
    assert.deepEqual(await store.find(notes, "text", ["text of a"]), note("a"));
    assert.equal(textOf(`${file}.journal`), journal);
    free();
    await write(store, note("e"));
    assert.deepEqual(warnings, []);
    limit(20);
    await store.close();
    assert.match(
      warnings.join(),
      /^\S*data\.json could not be written \(.*\); changes stay in its journal$/,
    );
    free();
    assert.equal(await idsAfterCrash(t, file), "a b c e");
  },
);

test("promise 5: a store that cannot open on a full disk leaves no file", needsLimit, async (t) => {
  const file = newFile();
  limit(0);
  await assert.rejects(openStore(t, file), { name: "StoreOpenError" }).finally(free);
  assert.deepEqual(readdirSync(dirname(file)), []);
});
