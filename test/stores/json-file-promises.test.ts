// The numbered promises of the JSON-file store, on real files. Crashes and failing disks are in torture.test.ts.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { StorageUnavailable, StoreRefusal } from "../../src/domain/store.ts";
import { jsonFileStore } from "../../src/store/json-file.ts";
import { folderFor, idsIn, note, notes, openStore, textOf, write } from "./fixture.ts";

/** FILE and FILE.journal as a crash would leave them: copied while the store has them open. */
function crashed(file: string, to: string): string {
  copyFileSync(file, to);
  if (existsSync(`${file}.journal`)) copyFileSync(`${file}.journal`, `${to}.journal`);
  return to;
}

const refused = (open: Promise<unknown>, ...says: RegExp[]) =>
  assert.rejects(open, (error) => {
    assert.ok(error instanceof StoreRefusal, String(error));
    for (const said of says) assert.match(error.message, said);
    assert.doesNotMatch(error.message, /\n/);
    return true;
  });

/** What this process has open in a folder, also what is deleted by now; nothing where the system does not say. */
function openFilesIn(folder: string): string[] {
  if (!existsSync("/proc/self/fd")) return [];
  const names = readdirSync("/proc/self/fd").map((fd) => join("/proc/self/fd", fd));
  // The one that lists them is closed again.
  const still = names.filter((name) => lstatSync(name, { throwIfNoEntry: false }) !== undefined);
  return still.map((name) => readlinkSync(name)).filter((path) => path.startsWith(folder));
}

const opening = (file: string) => jsonFileStore(file).open([notes]);

test("promise 1: what is acknowledged stands in the journal as one JSON line with CRC, number and operations", async (t) => {
  const file = join(folderFor(t), "data.json");
  const { store } = await openStore(t, file);
  await write(store, note("a"));
  await store.transact((tx) => tx.remove(notes, "a"));
  // The CRC-32 values were computed with python3's zlib.crc32 over the bytes after `,` to the end of the line.
  assert.equal(
    textOf(`${file}.journal`),
    '{"crc":"151cff65","seq":1,"commits":[[["put","notes",{"id":"a","list":"all","text":"text of a"}]]]}\n' +
      '{"crc":"232c6193","seq":2,"commits":[[["remove","notes","a"]]]}\n',
  );
});

test("promise 1: commits that come together share a line, in order, and each is atomic", async (t) => {
  const file = join(folderFor(t), "data.json");
  const { store } = await openStore(t, file);
  await Promise.all(Array.from({ length: 100 }, (_, at) => write(store, note(`${at}`))));
  const lines = textOf(`${file}.journal`).trim().split("\n");
  assert.equal(lines.length, 1);
  const copy = await openStore(t, crashed(file, `${file}-copy`));
  assert.deepEqual(await idsIn(copy.store), await idsIn(store));
});

test("promise 1: a clean stop leaves FILE alone, with everything in it, one record a line", async (t) => {
  const folder = folderFor(t);
  const file = join(folder, "data.json");
  const { store } = await openStore(t, file);
  await write(store, note("b"), note("a"));
  await store.close();
  assert.deepEqual(readdirSync(folder), ["data.json"]);
  assert.equal(
    textOf(file),
    '{"format":1,"journal":1,"collections":{\n"notes":[\n' +
      '{"id":"b","list":"all","text":"text of b"},\n{"id":"a","list":"all","text":"text of a"}\n]\n' +
      '},"checksums":["ca77b2f6"]}\n',
  );
  assert.deepEqual(await idsIn((await openStore(t, file)).store), ["b", "a"]);
});

test("promise 1: a stop without changes does not write FILE again", async (t) => {
  const file = join(folderFor(t), "data.json");
  await (await openStore(t, file)).store.close();
  const before = statSync(file).ino;
  await (await openStore(t, file)).store.close();
  assert.equal(statSync(file).ino, before);
});

test("promise 1: what a transaction answers rests on durable data, though others wait for the disk", async (t) => {
  const file = join(folderFor(t), "data.json");
  const { store } = await openStore(t, file);
  const first = write(store, note("a"));
  const seen = store.transact(async (tx) => (await tx.get(notes, "a")) !== undefined);
  const outside = store.get(notes, "a");
  for (const look of [outside, seen]) if (await look) assert.match(textOf(`${file}.journal`), /"text of a"/);
  await first;
});

test("promise 2: a last line that was cut short is set aside, cut off and told in one warning", async (t) => {
  const folder = folderFor(t);
  const file = join(folder, "data.json");
  const { store } = await openStore(t, file);
  await write(store, note("a"));
  await write(store, note("b"));
  const copy = crashed(file, join(folder, "copy.json"));
  const whole = textOf(`${copy}.journal`);
  truncateSync(`${copy}.journal`, whole.length - 7);
  const { store: again, warnings } = await openStore(t, copy);
  assert.deepEqual(await idsIn(again), ["a"]);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /copy\.json\.journal line 2 .*copy\.json\.torn-2/);
  assert.equal(textOf(`${copy}.torn-2`), whole.slice(whole.indexOf("\n") + 1, -7));
  assert.equal(textOf(`${copy}.journal`), whole.slice(0, whole.indexOf("\n") + 1));
  await write(again, note("c"));
  const third = await openStore(t, crashed(copy, join(folder, "third.json")));
  assert.deepEqual(await idsIn(third.store), ["a", "c"]);
  assert.deepEqual(third.warnings, []);
});

test("promise 2: a second torn line does not overwrite the first one's copy", async (t) => {
  const folder = folderFor(t);
  const file = join(folder, "data.json");
  await openStore(t, file);
  const copy = crashed(file, join(folder, "copy.json"));
  for (const torn of ["first", "second"]) {
    appendFileSync(`${copy}.journal`, torn);
    await (await openStore(t, copy)).store.close();
  }
  assert.equal(textOf(`${copy}.torn-1`), "first");
  assert.equal(textOf(`${copy}.torn-1-2`), "second");
});

for (const [what, change, says] of [
  [
    "a changed byte",
    (lines: string[]) => (lines[1] = lines[1]?.replace("text of b", "text of x") ?? ""),
    /line 2 .*CRC/,
  ],
  ["a missing line", (lines: string[]) => lines.splice(1, 1), /line 2 has the number 3 where 2 should follow/],
  ["a line twice", (lines: string[]) => lines.splice(1, 0, lines[0] ?? ""), /line 2 has the number 1 where 2/],
  ["a missing first line", (lines: string[]) => lines.shift(), /line 1 has the number 2 where 1 should follow/],
] as const) {
  test(`promise 2: ${what} before another line is refused by file and line, and nothing is touched`, async (t) => {
    const folder = folderFor(t);
    const file = join(folder, "data.json");
    const { store } = await openStore(t, file);
    for (const id of ["a", "b", "c"]) await write(store, note(id));
    const copy = crashed(file, join(folder, "copy.json"));
    const lines = textOf(`${copy}.journal`).split("\n");
    change(lines);
    writeFileSync(`${copy}.journal`, lines.join("\n"));
    const before = [textOf(copy), textOf(`${copy}.journal`)];
    await refused(opening(copy), /copy\.json\.journal/, says, /Restore/);
    assert.deepEqual([textOf(copy), textOf(`${copy}.journal`)], before);
    assert.equal(existsSync(`${copy}.lock`), false);
  });
}

test("promise 3: a journal that grows is folded into FILE while writes go on; its size follows the data", async (t) => {
  const file = join(folderFor(t), "data.json");
  const { store, warnings } = await openStore(t, file, { journal_bytes_max: 5_000 });
  let largest = 0;
  for (let n = 0; n < 3000; n += 1) {
    await write(store, note(`${n % 10}`, `text ${n}`));
    if (n % 50 === 0) largest = Math.max(largest, statSync(`${file}.journal`).size);
  }
  assert.ok(largest < 60_000, `journal of ${largest} bytes`);
  assert.deepEqual(warnings, []);
  const copy = await openStore(t, crashed(file, `${file}-copy`));
  assert.deepEqual(await copy.store.snapshot(), await store.snapshot());
  for (const each of [copy.store, store]) await each.close();
  assert.deepEqual(openFilesIn(dirname(file)), []);
});

test("promise 3: after a restore too, FILE is not written again before the journal has grown as large", async (t) => {
  const file = join(folderFor(t), "data.json");
  const { store } = await openStore(t, file, { journal_bytes_max: 1_000 });
  await store.restore({ format: 1, collections: { notes: [note("large", "x".repeat(100_000))] } });
  const { ino } = statSync(file);
  for (let n = 0; n < 50; n += 1) await write(store, note(`${n}`));
  assert.ok(statSync(`${file}.journal`).size > 1_000);
  assert.equal(existsSync(`${file}.new`), false);
  assert.equal(statSync(file).ino, ino);
});

test("promise 3: FILE holds what was there at one moment, whatever changes while it is written", async (t) => {
  const folder = folderFor(t);
  const file = join(folder, "data.json");
  const { store, warnings } = await openStore(t, file, { journal_bytes_max: 1 });
  const all = Array.from({ length: 3000 }, (_, at) => note(`${at}`, `text ${at} `.repeat(50)));
  await write(store, ...all);
  const before = statSync(file).ino;
  let changes = 0;
  while (statSync(file).ino === before) {
    changes += 1;
    // What is written early and what is written late is changed, taken away, made anew and added.
    await store.transact(async (tx) => {
      for (const id of ["0", "2999"]) await tx.put(notes, note(id, `change ${changes} of ${id}`));
      for (const id of ["1", "2998"]) {
        await tx.remove(notes, id);
        await tx.put(notes, note(changes % 2 === 0 ? id : `${id} anew`, `change ${changes} of ${id}`));
      }
    });
  }
  assert.ok(changes > 2, `${changes} changes came meanwhile`);
  assert.deepEqual(JSON.parse(textOf(file)).collections.notes, all);
  assert.deepEqual(warnings, []);
  const copy = await openStore(t, crashed(file, join(folder, "copy.json")));
  assert.deepEqual(await copy.store.snapshot(), await store.snapshot());
});

test("promise 3: old FILE with the whole journal, and new FILE with a journal not cut yet, are the same data", async (t) => {
  const folder = folderFor(t);
  const file = join(folder, "data.json");
  const { store } = await openStore(t, file);
  const old = crashed(file, join(folder, "old.json"));
  for (const id of ["a", "b", "c"]) await write(store, note(id));
  await store.transact((tx) => tx.remove(notes, "a"));
  await write(store, note("a"));
  copyFileSync(`${file}.journal`, `${old}.journal`);
  const journal = readFileSync(`${file}.journal`);
  const data = await store.snapshot();
  await store.close();
  writeFileSync(`${file}.journal`, journal);
  for (const path of [old, file]) {
    const { store: again } = await openStore(t, path);
    assert.deepEqual(await again.snapshot(), data);
    await write(again, note("z"));
  }
});

test("promise 3: what a crash leaves of an unfinished snapshot is removed at the next start", async (t) => {
  const folder = folderFor(t);
  const file = join(folder, "data.json");
  await (await openStore(t, file)).store.close();
  for (const left of [".new", ".journal.new"]) writeFileSync(`${file}${left}`, "half");
  await (await openStore(t, file)).store.close();
  assert.deepEqual(readdirSync(folder), ["data.json"]);
});

test("promise 4: while one store has the file a second is refused and told which process has it", async (t) => {
  const file = join(folderFor(t), "data.json");
  const { store } = await openStore(t, file);
  await write(store, note("a"));
  const before = textOf(`${file}.journal`);
  await refused(opening(file), new RegExp(`data\\.json is in use by process ${process.pid}\\.`));
  assert.equal(textOf(`${file}.journal`), before);
  await store.close();
  assert.deepEqual(await idsIn((await openStore(t, file)).store), ["a"]);
});

test("promise 2: a damaged line feed before the last line is not taken for a torn line", async (t) => {
  const folder = folderFor(t);
  const file = join(folder, "data.json");
  const { store } = await openStore(t, file);
  for (const id of ["a", "b", "c"]) await write(store, note(id));
  const copy = crashed(file, join(folder, "copy.json"));
  const [first, second, third] = textOf(`${copy}.journal`).split("\n");
  const damaged = `${first}\n${second}\v${third}\n`;
  writeFileSync(`${copy}.journal`, damaged);
  await refused(opening(copy), /copy\.json\.journal line 2 has run together/);
  assert.equal(textOf(`${copy}.journal`), damaged);
});

for (const [what, lock] of [
  ["of a process that is no more", '{"pid":4194304,"started":"x"}\n'],
  ["whose number another process has by now", `{"pid":${process.pid},"started":"another boot/1"}\n`],
  ["that is empty", ""],
] as const) {
  test(`promise 4: a lock ${what} is taken over`, async (t) => {
    const file = join(folderFor(t), "data.json");
    writeFileSync(`${file}.lock`, lock);
    const { store } = await openStore(t, file);
    assert.match(textOf(`${file}.lock`), new RegExp(`"pid":${process.pid},`));
    await store.close();
    assert.equal(existsSync(`${file}.lock`), false);
  });
}

test("promise 4: of two that find the same dead owner, the later does not remove the lock of the earlier", async (t) => {
  const file = join(folderFor(t), "data.json");
  writeFileSync(`${file}.lock`, '{"pid":4194304,"started":"x"}\n');
  const earlier = `{"pid":${process.ppid},"started":""}\n`;
  // Where this store asks whether the owner lives, the other one has just taken over.
  t.mock.method(process, "kill", (pid: number) => {
    if (pid === process.ppid) return true;
    writeFileSync(`${file}.lock`, earlier);
    throw Object.assign(new Error("no such process"), { code: "ESRCH" });
  });
  await refused(opening(file), new RegExp(`in use by process ${process.ppid}\\.`));
  assert.equal(textOf(`${file}.lock`), earlier);
});

test("promise 5: a write for which there is no room is refused and cut off, nothing of it is seen, and writing resumes", async (t) => {
  // A limit on the size of files makes a disk full for this process: the write comes back short, the next one fails.
  const limit = (bytes: string) => spawnSync("prlimit", [`--pid=${process.pid}`, `--fsize=${bytes}:`]).status === 0;
  if (!limit("unlimited")) return t.skip("prlimit is not installed");
  const folder = folderFor(t);
  const file = join(folder, "data.json");
  const { store, warnings } = await openStore(t, file);
  await write(store, note("a"));
  const before = textOf(`${file}.journal`);
  limit(`${before.length + 30}`);
  try {
    for (const id of ["b", "c"]) await assert.rejects(write(store, note(id)), StorageUnavailable);
    assert.equal(textOf(`${file}.journal`), before);
    assert.deepEqual(await idsIn(store), ["a"]);
    assert.equal(await store.find(notes, "text", ["text of b"]), undefined);
    assert.deepEqual(await store.transact((tx) => tx.get(notes, "a")), note("a"));
  } finally {
    limit("unlimited");
  }
  await write(store, note("b"));
  const copy = await openStore(t, crashed(file, join(folder, "copy.json")));
  assert.deepEqual(await idsIn(copy.store), ["a", "b"]);
  assert.deepEqual([...warnings, ...copy.warnings], []);
});

test("promise 6: an empty FILE is refused and left alone", async (t) => {
  const file = join(folderFor(t), "data.json");
  writeFileSync(file, "");
  await refused(opening(file), /data\.json is empty/, /delete it for a fresh start/);
  assert.equal(statSync(file).size, 0);
});

test("promise 6: a missing FILE beside a journal is refused", async (t) => {
  const file = join(folderFor(t), "data.json");
  writeFileSync(`${file}.journal`, "x\n");
  await refused(opening(file), /data\.json is missing/, /delete both/);
});

for (const [what, text, says] of [
  ["a newer format", '{"format":2,"collections":{}}', /newer version/],
  ["no JSON", "hello", /not a whole JSON document/],
  ["half a document", '{"format":1,"collections":{"notes":[', /not a whole JSON document/],
  ["an array", "[]", /not a JSON object/],
  ["an unknown member", '{"format":1,"collections":{},"colections":{}}', /unknown member "colections"/],
  ["an unknown collection", '{"format":1,"collections":{"nots":[]}}', /collection "nots"/],
  ["no format", '{"collections":{}}', /"format" is not 1/],
  ["no collections", '{"format":1}', /no "collections"/],
  ["a list that is none", '{"format":1,"collections":{"notes":{}}}', /"notes" is not an array/],
  ["a record without id", '{"format":1,"collections":{"notes":[{"text":"x"}]}}', /notes\[0\]: not a record/],
  ["one id twice", '{"format":1,"collections":{"notes":[{"id":"a"},{"id":"a"}]}}', /notes\[1\]: a second record .*"a"/],
  [
    "a unique value twice",
    '{"format":1,"collections":{"notes":[{"id":"a","text":"x"},{"id":"b","text":"x"}]}}',
    /notes\[1\]: a second record with the same text/,
  ],
  ["a wrong journal number", '{"format":1,"journal":-1,"collections":{}}', /"journal"/],
] as const) {
  test(`promise 6: a FILE with ${what} is refused and left alone`, async (t) => {
    const file = join(folderFor(t), "data.json");
    writeFileSync(file, text);
    await refused(opening(file), /data\.json/, says);
    assert.equal(textOf(file), text);
  });
}

test("promise 6: damage in FILE is told by lines, and how to accept a change made on purpose", async (t) => {
  const file = join(folderFor(t), "data.json");
  const { store } = await openStore(t, file);
  await write(store, ...Array.from({ length: 400 }, (_, at) => note(`${at}`)));
  await store.close();
  const changed = textOf(file).replace('"text of 300"', '"text of 3OO"');
  writeFileSync(file, changed);
  await refused(opening(file), /data\.json lines 251 to 500: .*checksum/, /remove its member "checksums"/);
  writeFileSync(file, changed.replace(/,"checksums":\[.*\]/, ""));
  const { store: again } = await openStore(t, file);
  assert.equal((await again.get(notes, "300"))?.text, "text of 3OO");
});

for (const [what, change, says] of [
  ["that is no JSON", (lines: string[]) => (lines[299] = '{"id":'), /data\.json line 300: not a whole JSON document/],
  ["that is no record", (lines: string[]) => (lines[299] = "12,"), /data\.json line 300: not a record with an id/],
  [
    "that stands twice",
    (lines: string[]) => (lines[300] = lines[299] ?? ""),
    /line 301: a second record .* text in notes/,
  ],
] as const) {
  test(`promise 6: a line of FILE ${what} is told by its number, though many are read together`, async (t) => {
    const file = join(folderFor(t), "data.json");
    const { store } = await openStore(t, file);
    await write(store, ...Array.from({ length: 400 }, (_, at) => note(`${at}`)));
    await store.close();
    const lines = textOf(file).split("\n");
    change(lines);
    writeFileSync(file, lines.join("\n"));
    await refused(opening(file), says);
  });
}

test("promise 6: records that are two on a line, and one on two lines, are the same document", async (t) => {
  const file = join(folderFor(t), "data.json");
  const { store } = await openStore(t, file);
  await write(store, ...["a", "b", "c", "d"].map((id) => note(id)));
  await store.close();
  const [a, b, c, d] = ["a", "b", "c", "d"].map((id) => JSON.stringify(note(id)));
  const changed = textOf(file).replace(`${a},\n${b},\n${c},\n${d}`, `${a},${b},\n${c},${d}`);
  assert.notEqual(changed, textOf(file));
  writeFileSync(file, changed);
  assert.deepEqual(await idsIn((await openStore(t, file)).store), ["a", "b", "c", "d"]);
});

test("promise 6: lines of any length come back, from FILE and from the journal", async (t) => {
  const folder = folderFor(t);
  const file = join(folder, "data.json");
  const { store } = await openStore(t, file);
  // 4 MiB are read at a time: lines lie across the end of that, are longer, and have characters of several bytes there.
  for (const [id, text, times] of [
    ["across", "a\u00e9\u{1F600}", 650_000],
    ["short", "x", 1],
    ["longer", "\u{1F600}\u20ac", 1_300_000],
    ["ASCII", "x", 100],
  ] as const)
    await write(store, note(id, text.repeat(times)));
  const data = await store.snapshot();
  const torn = crashed(file, join(folder, "torn.json"));
  appendFileSync(`${torn}.journal`, "torn");
  const journalled = await openStore(t, torn);
  // Not by deepEqual, which takes minutes to say how so much text differs.
  assert.ok(isDeepStrictEqual(await journalled.store.snapshot(), data));
  assert.ok(readFileSync(`${torn}.journal`).equals(readFileSync(`${file}.journal`)));
  await store.close();
  const { ino } = statSync(file);
  const folded = await openStore(t, file);
  assert.ok(isDeepStrictEqual(await folded.store.snapshot(), data));
  assert.equal(statSync(file).ino, ino, "it was read as written");
});

test("promise 6: any layout of the same document opens: pretty printed, on one line, written by hand, with a BOM", async (t) => {
  const folder = folderFor(t);
  const file = join(folder, "data.json");
  const { store } = await openStore(t, file);
  await write(store, note("b", "\u2028 \u{1F600} \ud800"), note("a"));
  const data = await store.snapshot();
  await store.close();
  const document = JSON.parse(textOf(file));
  const layouts = [
    JSON.stringify(document, null, 2),
    JSON.stringify(data),
    `\ufeff${JSON.stringify(data, null, "\t")}`,
    '{"collections":{"notes":[{"id":"b","list":"all","text":"x"},{"id":"a","list":"all","text":"y"}]},"format":1}',
  ];
  for (const [at, layout] of layouts.entries()) {
    const path = join(folder, `${at}.json`);
    writeFileSync(path, layout);
    const { store: opened } = await openStore(t, path);
    assert.deepEqual(await idsIn(opened), ["b", "a"]);
    await write(opened, note("c", "z"));
    const copy = await openStore(t, crashed(path, join(folder, `${at}-copy.json`)));
    assert.deepEqual(await idsIn(copy.store), ["b", "a", "c"]);
  }
});

test("promise 6: a pretty printed copy that was changed is refused while it carries checksums", async (t) => {
  const file = join(folderFor(t), "data.json");
  const { store } = await openStore(t, file);
  await write(store, note("a"));
  await store.close();
  writeFileSync(file, JSON.stringify(JSON.parse(textOf(file)), null, 2).replace("text of a", "text of x"));
  await refused(opening(file), /checksum/);
});

test("promise 6: a FILE written by hand is not mixed with a journal that it does not know", async (t) => {
  const folder = folderFor(t);
  const file = join(folder, "data.json");
  const { store } = await openStore(t, file);
  await write(store, note("a"));
  const copy = crashed(file, join(folder, "copy.json"));
  writeFileSync(copy, '{"format":1,"collections":{"notes":[]}}');
  await refused(opening(copy), /copy\.json\.journal does not belong to/);
});

test("promise 6: a journal from before FILE has nothing to add", async (t) => {
  const folder = folderFor(t);
  const file = join(folder, "data.json");
  const { store } = await openStore(t, file);
  await write(store, note("a"));
  const early = readFileSync(`${file}.journal`);
  await write(store, note("b"));
  await store.close();
  writeFileSync(`${file}.journal`, early);
  const { store: again } = await openStore(t, file);
  await write(again, note("c"));
  const copy = await openStore(t, crashed(file, join(folder, "copy.json")));
  assert.deepEqual(await idsIn(copy.store), ["a", "b", "c"]);
});

test("promise 6: a symbolic link is the file it leads to, for the data, the journal and the lock", async (t) => {
  const folder = folderFor(t);
  mkdirSync(join(folder, "real"));
  mkdirSync(join(folder, "links"));
  const real = join(folder, "real", "data.json");
  const link = join(folder, "links", "data.json");
  symlinkSync("../real/data.json", link);
  const { store } = await openStore(t, link);
  await write(store, note("a"));
  await refused(opening(real), /in use/);
  assert.deepEqual(readdirSync(join(folder, "links")), ["data.json"]);
  await store.close();
  assert.deepEqual(await idsIn((await openStore(t, real)).store), ["a"]);
});

test("promise 6: all files are for the owner only", async (t) => {
  const folder = folderFor(t);
  const file = join(folder, "data.json");
  writeFileSync(file, '{"format":1,"collections":{}}');
  chmodSync(file, 0o644);
  const { store } = await openStore(t, file);
  await write(store, note("a"));
  for (const name of readdirSync(folder)) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name);
});

test("promise 6: every string comes back from the file as it was, in any place", async (t) => {
  const folder = folderFor(t);
  const file = join(folder, "data.json");
  const texts = ["__proto__", "\u2028\u2029", "\ud800", "\udc00\ud800", "\0\b\f", '"\\/', "\ufeff", "\u{10FFFF}", ""];
  const { store } = await openStore(t, file);
  const tricky: typeof texts = [];
  for (const text of texts) {
    const record = JSON.parse(
      `{"id":${JSON.stringify(text)},"list":"all","text":${JSON.stringify(text)},"__proto__":1}`,
    );
    await write(store, record);
    tricky.push(JSON.stringify(record));
  }
  const journalled = await openStore(t, crashed(file, join(folder, "copy.json")));
  await store.close();
  const folded = await openStore(t, file);
  for (const { store: again } of [journalled, folded]) {
    const records = await again.page(notes, "list", ["all"], { offset: 0, limit: 100 });
    assert.deepEqual(
      records.map((record) => JSON.stringify(record)),
      tricky,
    );
    for (const text of texts) assert.equal((await again.find(notes, "text", [text]))?.id, text);
  }
});

for (const [what, path, says] of [
  ["in a folder that is not there", "nowhere/data.json", /folder does not exist/],
  ["that is a folder", ".", /folder/],
  ["under something that is no folder", "/dev/null/data.json", /Look into the disk/],
] as const) {
  test(`promise 6: a data file ${what} is refused with what to do`, async (t) => {
    await refused(opening(resolve(folderFor(t), path)), says);
  });
}

test("restore is as durable as a commit, and a crash after it finds the new data", async (t) => {
  const folder = folderFor(t);
  const file = join(folder, "data.json");
  const { store } = await openStore(t, file);
  await write(store, note("a"));
  await store.restore({ format: 1, collections: { notes: [note("b")] } });
  await write(store, note("c"));
  const copy = await openStore(t, crashed(file, join(folder, "copy.json")));
  assert.deepEqual(await idsIn(copy.store), ["b", "c"]);
});

test("a restore among writes and foldings leaves what was written after it, and nothing from before", async (t) => {
  const file = join(folderFor(t), "data.json");
  const { store } = await openStore(t, file, { journal_bytes_max: 1_000 });
  const before = Array.from({ length: 200 }, (_, at) => write(store, note(`before ${at}`)));
  const restored = store.restore({ format: 1, collections: { notes: [note("restored")] } });
  const during = Array.from({ length: 50 }, (_, at) => write(store, note(`during ${at}`)));
  await Promise.all([...before, restored, ...during]);
  await Promise.all(Array.from({ length: 50 }, (_, at) => write(store, note(`after ${at}`))));
  const ids = await idsIn(store);
  for (const name of ["during", "after"]) assert.equal(ids.filter((id) => id.startsWith(name)).length, 50);
  assert.ok(ids.includes("restored"));
  await store.close();
  assert.deepEqual(await idsIn((await openStore(t, file)).store), ids);
});

test("a restore that meets a folding waits for it, and both succeed", async (t) => {
  const file = join(folderFor(t), "data.json");
  const { store, warnings } = await openStore(t, file, { journal_bytes_max: 1 });
  const before = write(store, note("before", "x".repeat(100_000)));
  // In the first turn the batch gathers, in the second it goes to the disk; the folding that it leads to begins before
  // the restore has its turn.
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  await store.restore({ format: 1, collections: { notes: [note("restored")] } });
  await before;
  assert.deepEqual(warnings, []);
  const copy = await openStore(t, crashed(file, `${file}-copy`));
  for (const each of [store, copy.store]) assert.deepEqual(await idsIn(each), ["restored"]);
});

test("a close that meets a folding and a restore lets both end before it writes FILE itself", async (t) => {
  const file = join(folderFor(t), "data.json");
  const { store, warnings } = await openStore(t, file, { journal_bytes_max: 1 });
  // The folding that the first begins still runs when the second is kept, which leaves a line for the close to fold.
  await write(store, note("before", "x".repeat(4_000_000)));
  await write(store, note("acknowledged"));
  const restored = store.restore({ format: 1, collections: { notes: [note("restored", "y".repeat(2_000_000))] } });
  await Promise.all([restored, store.close()]);
  assert.deepEqual(warnings, []);
  const { store: again } = await openStore(t, file);
  assert.deepEqual(await idsIn(again), ["restored"]);
});
