// The JSON-file store: the store contract, its numbered promises 1 and 3 on real files, and restores. torture.test.ts
// tests crashes and failing disks as well.
import assert from "node:assert/strict";
import { copyFileSync, existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { test } from "node:test";
import { collections } from "../../src/domain/collections.ts";
import { collection } from "../../src/domain/store.ts";
import { jsonFileStore } from "../../src/store/json-file.ts";
import { heapInUse } from "../support/costs.ts";
import { eventually } from "../support/wait.ts";
import { storeContract } from "./contract.ts";
import {
  crashed,
  idsIn,
  type Note,
  newFile,
  note,
  notes,
  numbered,
  openFilesIn,
  openStore,
  publish,
  storeWith,
  textOf,
  write,
} from "./fixture.ts";

storeContract(test, () => jsonFileStore(newFile()));

test("the collections keep the names used in the data of earlier versions", () => {
  const names = collections.map(({ name }) => name).sort();
  const before =
    "accounts api_keys apps clock data_contents data_sources deliveries deployments domains events gone_apps gone_deployments grants idempotency oauth_clients rates refresh_tokens sessions sign_ins signing_keys users webhooks";
  assert.deepEqual(names, before.split(" "));
});

// Written by the version of commit 5d27b9a: FILE and journal as a crash left them, and FILE after the next stop.
const OLD = {
  file: '{"format":1,"journal":1,"collections":{\n"notes":[\n{"id":"b","list":"all","text":"text of b"},\n{"id":"a","list":"all","text":"text of a"},\n{"id":"c","list":"all","text":"\u2028 \\ud800 é"}\n]\n},"checksums":["12c382bc"]}\n',
  journal:
    '{"crc":"b0363187","seq":2,"commits":[[["put","notes",{"id":"d","list":"all","text":"x"}],["put","notes",{"id":"d","list":"all","text":"text of d"}]],[["remove","notes","b"],["put","notes",{"id":"b","list":"all","text":"new"}]]]}\n{"crc":"3fd3a567","seq":3,"commits":[[["put","notes",{"id":"a","__proto__":1,"text":"text of b","list":null}]]]}\n{"crc":"12a3ff2f","seq":4,"commits":[[["remove","notes","c"]]]}\n',
  folded:
    '{"format":1,"journal":4,"collections":{\n"notes":[\n{"id":"a","__proto__":1,"text":"text of b","list":null},\n{"id":"d","list":"all","text":"text of d"},\n{"id":"b","list":"all","text":"new"}\n]\n},"checksums":["d5de00e9"]}\n',
};

test("promise 1: acknowledged commits are in the journal, concurrent ones on one line, and a clean stop folds it into FILE", async (t) => {
  const file = newFile();
  writeFileSync(file, OLD.file);
  const { store, warnings } = await openStore(t, file);
  const together = [
    write(store, note("d", "x"), note("d")),
    store.transact(async (tx) => {
      await tx.remove(notes, "b");
      await tx.put(notes, note("b", "new"));
    }),
  ];
  await Promise.all(together);
  await write(store, JSON.parse('{"id":"a","__proto__":1,"text":"text of b","list":null}'));
  await store.transact((tx) => tx.remove(notes, "c"));
  assert.equal(textOf(`${file}.journal`), OLD.journal);
  const again = await openStore(t, crashed(file));
  assert.deepEqual(
    (await again.store.snapshot()).collections.notes,
    JSON.parse(OLD.folded).collections.notes,
  );
  for (const each of [store, again.store]) await each.close();
  assert.deepEqual([textOf(file), textOf(again.file)], [OLD.folded, OLD.folded]);
  assert.deepEqual(readdirSync(dirname(file)), ["data.json", "data.json-copy"]);
  assert.deepEqual([...warnings, ...again.warnings], []);
});

test("promise 1: a stop without changes does not rewrite FILE, however long its lines are", async (t) => {
  const { file, store } = await openStore(t);
  await write(store, note("a", "é".repeat(100_000)), ...numbered(400));
  await store.close();
  const { store: again } = await openStore(t, file);
  const { ino } = statSync(file);
  await again.close();
  assert.equal(statSync(file).ino, ino);
});

test("promise 1: subscribers are notified once a commit is in the journal, in commit order", async (t) => {
  const { file, store } = await openStore(t);
  const received: string[] = [];
  store.subscribe("t", (id) => {
    assert.ok(textOf(`${file}.journal`).includes(`"text of ${id}"`));
    received.push(id);
  });
  await Promise.all(["a", "b", "c"].map((id) => publish(store, id)));
  assert.deepEqual(received, ["a", "b", "c"]);
});

test("a lookup resolves at once while writes to another collection wait for the disk", async (t) => {
  const keys = collection<{ readonly id: string }>()("keys");
  const { store } = await openStore(t, newFile(), {}, [notes, keys]);
  const order: string[] = [];
  const written = write(store, note("a")).then(() => order.push("written"));
  // The commit is in a batch by this turn; the disk write comes later.
  for (let step = 0; step < 30; step += 1) await Promise.resolve();
  const found = store.get(keys, "k").then(() => order.push("found"));
  const read = store.get(notes, "a").then(() => order.push("read"));
  await Promise.all([written, found, read]);
  assert.deepEqual(order, ["found", "written", "read"]);
});

test("promise 3: a growing journal is folded into FILE during writes, so that its size stays limited", async (t) => {
  const { file, store, warnings } = await openStore(t, undefined, { journal_bytes_max: 5_000 });
  let largest = 0;
  for (let n = 0; n < 3000; n += 1) {
    await write(store, note(`${n % 10}`, `text ${n}`));
    if (n % 50 === 0) largest = Math.max(largest, statSync(`${file}.journal`).size);
  }
  assert.ok(largest < 60_000, `journal of ${largest} bytes`);
  assert.deepEqual(warnings, []);
  const copy = await openStore(t, crashed(file));
  assert.deepEqual(await copy.store.snapshot(), await store.snapshot());
  for (const each of [copy.store, store]) await each.close();
  assert.deepEqual(openFilesIn(dirname(file)), []);
});

test("records committed with a rarely written table do not stay in memory", async (t) => {
  const seldom = collection<{ readonly id: string }>()("seldom");
  const { store } = await openStore(t, newFile(), {}, [notes, seldom]);
  const before = await heapInUse();
  const many = Array.from({ length: 100 }, (_, n) =>
    write(store, note(`${n}`, `${n} `.repeat(50_000))),
  );
  await Promise.all([store.transact((tx) => tx.put(seldom, { id: "s" })), ...many]);
  for (const id of many.keys()) await store.transact((tx) => tx.remove(notes, `${id}`));
  // Data being folded into FILE stays in memory until the fold ends.
  await eventually(async () => (await heapInUse()) - before < 5e6);
});

test("promise 3: after a restore FILE is not rewritten before the journal has grown enough", async (t) => {
  const { file, store } = await openStore(t, undefined, { journal_bytes_max: 1_000 });
  await store.restore({ format: 1, collections: { notes: [note("large", "x".repeat(100_000))] } });
  const { ino } = statSync(file);
  for (const each of numbered(50)) await write(store, each);
  assert.ok(statSync(`${file}.journal`).size > 1_000);
  assert.equal(existsSync(`${file}.new`), false);
  assert.equal(statSync(file).ino, ino);
});

test("promise 3: FILE contains the data of one moment, whatever changes during the rewrite", async (t) => {
  const { file, store, warnings } = await openStore(t, undefined, { journal_bytes_max: 1 });
  const all = numbered(3000).map(({ id }) => note(id, `text ${id} `.repeat(50)));
  await write(store, ...all);
  const before = statSync(file).ino;
  let changes = 0;
  while (statSync(file).ino === before) {
    changes += 1;
    // Changes, removes, recreates and adds records that are written early and late.
    await store.transact(async (tx) => {
      for (const id of ["0", "2999"]) await tx.put(notes, note(id, `change ${changes} of ${id}`));
      for (const id of ["1", "2998"]) {
        await tx.remove(notes, id);
        await tx.put(
          notes,
          note(changes % 2 === 0 ? id : `${id} anew`, `change ${changes} of ${id}`),
        );
      }
    });
  }
  assert.ok(changes > 2, `${changes} changes came meanwhile`);
  assert.deepEqual(JSON.parse(textOf(file)).collections.notes, all);
  assert.deepEqual(warnings, []);
  const copy = await openStore(t, crashed(file));
  assert.deepEqual(await copy.store.snapshot(), await store.snapshot());
});

test("promise 3: an old FILE with the whole journal and a new FILE with an uncut or earlier journal have the same data", async (t) => {
  const { file, store } = await storeWith(t, "a b");
  copyFileSync(`${file}.journal`, `${file}-early`);
  await store.transact((tx) => tx.remove(notes, "a"));
  await write(store, note("a"));
  const old = crashed(file);
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
    assert.equal(await idsIn((await openStore(t, crashed(path))).store), "b a z");
  }
});

test("promise 3: a start removes the unfinished files that a crash left", async (t) => {
  const { file, store } = await openStore(t);
  await store.close();
  for (const left of [".new", ".journal.new"]) writeFileSync(`${file}${left}`, "half");
  await (await openStore(t, file)).store.close();
  assert.deepEqual(readdirSync(dirname(file)), ["data.json"]);
});

test("a restore and later writes are durable during concurrent writes and folds", async (t) => {
  const { file, store } = await openStore(t, undefined, { journal_bytes_max: 1_000 });
  const some = (name: string, count: number) =>
    numbered(count).map(({ id }) => write(store, note(`${name}${id}`)));
  const before = some("before", 200);
  const restored = store.restore({ format: 1, collections: { notes: [note("restored")] } });
  await Promise.all([...before, restored, ...some("during", 50)]);
  await Promise.all(some("after", 50));
  const ids = await idsIn(store);
  assert.match(ids, /^(?!.*before)restored( during\d+){50}( after\d+){50}$/);
  assert.equal(await idsIn((await openStore(t, crashed(file))).store), ids);
  await store.close();
  assert.equal(await idsIn((await openStore(t, file)).store), ids);
});

test("a close waits for a running fold or restore before it writes FILE", async (t) => {
  for (const meets of ["a folding", "a restore"]) {
    const { file, store, warnings } = await openStore(t, newFile(), { journal_bytes_max: 1 });
    // The fold started by the first write is still running when the second is durable, which leaves a line for the
    // close to fold.
    await write(store, note("before", "x".repeat(4_000_000)));
    await write(store, note("acknowledged"));
    const data = {
      format: 1,
      collections: { notes: [note("restored", "y".repeat(2_000_000))] },
    } as const;
    await Promise.all([meets === "a restore" && store.restore(data), store.close()]);
    assert.deepEqual(warnings, []);
    const ids = await idsIn((await openStore(t, file)).store);
    assert.equal(ids, meets === "a restore" ? "restored" : "before acknowledged");
  }
});

test("promise 6: a long list is stored as plain JSON in journal and FILE, and is read back complete", async (t) => {
  interface Listed extends Note {
    readonly items: readonly unknown[];
  }
  const lists = collection<Listed>()("lists", {}, {});
  const rows = Array.from({ length: 300_000 }, (_, n) => ({
    n,
    text: "\u2028",
    __proto__: null,
    none: undefined,
  }));
  const record = {
    ...note("long"),
    empty: [],
    none: undefined,
    items: rows,
    last: rows.slice(0, 1_001),
  };
  const { file, store } = await openStore(t, newFile(), {}, [lists]);
  await store.transact((tx) => tx.put(lists, record));
  const text = JSON.stringify(record);
  assert.equal(textOf(`${file}.journal`).includes(`["put","lists",${text}]`), true);
  await store.close();
  assert.equal(textOf(file).split("\n")[2], text);
  const again = await openStore(t, file, {}, [lists]);
  assert.equal(JSON.stringify(await again.store.get(lists, "long")), text);
});
