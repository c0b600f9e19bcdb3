// The JSON-file store where the disk does not take what it is given: a limit on the size of files makes it full for this
// process, so that a write comes back short and the next one fails. And the formats: what the first versions wrote opens,
// and what is written is the same, byte for byte.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, copyFileSync, ftruncateSync, openSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { collection, isStoreError } from "../../src/domain/store.ts";
import { writeParts } from "../../src/store/json-file/disk.ts";
import { jsonFileStore } from "../../src/store/json-file.ts";
import { folderFor, idsIn, note, notes, openStore, textOf, write } from "./fixture.ts";

const limit = (bytes: number | "unlimited") =>
  spawnSync("prlimit", [`--pid=${process.pid}`, `--fsize=${bytes}:`]).status === 0;
const canLimit = limit("unlimited");

/** A store with the note a, on a disk that takes not much more until `free` is called. */
async function fullStore(t: TestContext) {
  const file = join(folderFor(t), "data.json");
  const { store } = await openStore(t, file);
  await write(store, note("a"));
  limit(statSync(`${file}.journal`).size + 30);
  const free = () => limit("unlimited");
  t.after(free);
  return { file, store, free };
}

const unavailable = (work: Promise<unknown>) =>
  assert.rejects(work, (error) => isStoreError(error, "StorageUnavailable"));

test("promise 5: who has read what could not be kept is asked again; what was built on it is refused", async (t) => {
  if (!canLimit) return t.skip("prlimit is not installed");
  const { store, free } = await fullStore(t);
  const lost = write(store, note("b"));
  const read = store.get(notes, "b");
  const looked = store.transact(async (tx) => (await tx.get(notes, "b"))?.id ?? "nothing");
  const refused = store.transact(async (tx) => {
    if ((await tx.get(notes, "b")) !== undefined) throw new Error("there is one");
  });
  const built = store.transact(async (tx) => tx.put(notes, note("c", (await tx.get(notes, "b"))?.text)));
  const snapshot = store.snapshot();
  for (const work of [lost, built]) await unavailable(work);
  assert.deepEqual([await read, await looked, await refused], [undefined, "nothing", undefined]);
  assert.deepEqual((await snapshot).collections.notes, [note("a")]);
  free();
  await write(store, note("c"));
  assert.deepEqual(await idsIn(store), ["a", "c"]);
});

test("promise 5: replaced, removed and moved records are as before when that cannot be kept", async (t) => {
  if (!canLimit) return t.skip("prlimit is not installed");
  const { file, store, free } = await fullStore(t);
  free();
  await write(store, note("b"), note("c"));
  const before = await store.snapshot();
  limit(statSync(`${file}.journal`).size + 30);
  const changes = [
    store.transact((tx) => tx.remove(notes, "a")),
    write(store, { ...note("b"), list: "other" }, note("d", "text of a")),
    store.transact((tx) => tx.remove(notes, "d")),
  ];
  for (const change of changes) await unavailable(change);
  assert.deepEqual(await store.snapshot(), before);
  free();
  await write(store, note("e"));
  await store.close();
  const again = await openStore(t, file);
  assert.deepEqual(await idsIn(again.store), ["a", "b", "c", "e"]);
});

test("promise 5: a unit of work that still runs when a write fails is given up, and nothing of it stays", async (t) => {
  if (!canLimit) return t.skip("prlimit is not installed");
  const { store } = await fullStore(t);
  const lost = write(store, note("b"));
  const waiting = store.transact(async (tx) => {
    await tx.put(notes, note("c"));
    await new Promise(() => undefined);
  });
  await Promise.all([unavailable(lost), assert.rejects(waiting, /given up/)]);
  assert.deepEqual(await idsIn(store), ["a"]);
});

test("promise 5: what is told by a unit of work that could not be kept is not heard", async (t) => {
  if (!canLimit) return t.skip("prlimit is not installed");
  const { store, free } = await fullStore(t);
  const heard: string[] = [];
  store.hear("t", (subject) => void heard.push(subject));
  const tell = (id: string) =>
    store.transact(async (tx) => {
      await tx.put(notes, note(id));
      tx.tell("t", id);
    });
  await unavailable(tell("b"));
  free();
  await tell("c");
  assert.deepEqual(heard, ["c"]);
});

test("promise 1: what is told is heard once it stands in the journal, in the order of the commits", async (t) => {
  const file = join(folderFor(t), "data.json");
  const { store } = await openStore(t, file);
  const heard: string[] = [];
  store.hear("t", (id) => {
    assert.ok(textOf(`${file}.journal`).includes(`"text of ${id}"`));
    heard.push(id);
  });
  const tells = ["a", "b", "c"].map((id) =>
    store.transact(async (tx) => {
      await tx.put(notes, note(id));
      tx.tell("t", id);
    }),
  );
  await Promise.all(tells);
  assert.deepEqual(heard, ["a", "b", "c"]);
});

test("a look-up is answered at once while writes of another collection wait for the disk", async (t) => {
  const keys = collection<{ readonly id: string }>()("keys");
  const store = jsonFileStore(join(folderFor(t), "data.json"));
  await store.open([notes, keys]);
  t.after(() => store.close());
  await store.transact((tx) => tx.put(keys, { id: "k" }));
  const order: string[] = [];
  const written = write(store, note("a")).then(() => order.push("written"));
  // In this turn the commit has gathered; the disk has it later.
  for (let step = 0; step < 30; step += 1) await Promise.resolve();
  const found = store.get(keys, "k").then(() => order.push("found"));
  const read = store.get(notes, "a").then(() => order.push("read"));
  await Promise.all([written, found, read]);
  assert.deepEqual(order, ["found", "written", "read"]);
});

test("promise 6: a FILE too large to be read is refused by its size and with what to do", async (t) => {
  const file = join(folderFor(t), "data.json");
  const fd = openSync(file, "w");
  ftruncateSync(fd, 600_000_000);
  closeSync(fd);
  const opening = jsonFileStore(file).open([notes]);
  await assert.rejects(opening, (error) => {
    assert.ok(isStoreError(error, "StoreRefusal"));
    assert.match(error.message, /^\S*data\.json has 600000000 bytes, and no more than \d+ can be read\. Put [^\n]*$/);
    return true;
  });
});

test("promise 6: a FILE that could not be read again is not written", async (t) => {
  const file = join(folderFor(t), "parts");
  const fd = openSync(file, "w");
  t.after(() => closeSync(fd));
  const parts = () => [Buffer.from("12345"), Buffer.from("67890")];
  await writeParts(fd, parts(), 10);
  assert.equal(textOf(file), "1234567890");
  await assert.rejects(writeParts(fd, parts(), 9), /more than 9 bytes/);
});

// Written by the version of commit 5d27b9a: FILE and journal as a crash left them, and FILE after the next stop.
const OLD = {
  file: '{"format":1,"journal":1,"collections":{\n"notes":[\n{"id":"b","list":"all","text":"text of b"},\n{"id":"a","list":"all","text":"text of a"},\n{"id":"c","list":"all","text":"\u2028 \\ud800 é"}\n]\n},"checksums":["12c382bc"]}\n',
  journal:
    '{"crc":"b0363187","seq":2,"commits":[[["put","notes",{"id":"d","list":"all","text":"x"}],["put","notes",{"id":"d","list":"all","text":"text of d"}]],[["remove","notes","b"],["put","notes",{"id":"b","list":"all","text":"new"}]]]}\n{"crc":"3fd3a567","seq":3,"commits":[[["put","notes",{"id":"a","__proto__":1,"text":"text of b","list":null}]]]}\n{"crc":"12a3ff2f","seq":4,"commits":[[["remove","notes","c"]]]}\n',
  folded:
    '{"format":1,"journal":4,"collections":{\n"notes":[\n{"id":"a","__proto__":1,"text":"text of b","list":null},\n{"id":"d","list":"all","text":"text of d"},\n{"id":"b","list":"all","text":"new"}\n]\n},"checksums":["d5de00e9"]}\n',
};

test("the formats stay: old files open, and the same commits make the same files, byte for byte", async (t) => {
  const folder = folderFor(t);
  const file = join(folder, "old.json");
  writeFileSync(file, OLD.file);
  writeFileSync(`${file}.journal`, OLD.journal);
  const { store, warnings } = await openStore(t, file);
  assert.deepEqual((await store.snapshot()).collections.notes, JSON.parse(OLD.folded).collections.notes);
  await store.close();
  assert.deepEqual([textOf(file), warnings], [OLD.folded, []]);

  const anew = join(folder, "new.json");
  writeFileSync(anew, OLD.file);
  const { store: again } = await openStore(t, anew);
  await Promise.all([
    write(again, note("d", "x"), note("d")),
    again.transact(async (tx) => {
      await tx.remove(notes, "b");
      await tx.put(notes, note("b", "new"));
    }),
  ]);
  await write(again, JSON.parse('{"id":"a","__proto__":1,"text":"text of b","list":null}'));
  await again.transact((tx) => tx.remove(notes, "c"));
  copyFileSync(`${anew}.journal`, join(folder, "journal"));
  await again.close();
  assert.deepEqual([textOf(join(folder, "journal")), readFileSync(anew, "utf8")], [OLD.journal, OLD.folded]);
});

test("a removal that is undone leaves its record at its place in FILE", async (t) => {
  const file = join(folderFor(t), "data.json");
  const { store } = await openStore(t, file);
  await write(store, note("a"), note("b"));
  const undone = store.transact(async (tx) => {
    await tx.remove(notes, "a");
    throw new Error("undone");
  });
  await assert.rejects(undone, /undone/);
  await write(store, note("c"));
  await store.close();
  assert.deepEqual(
    JSON.parse(textOf(file)).collections.notes.map(({ id }: { id: string }) => id),
    ["a", "b", "c"],
  );
});
