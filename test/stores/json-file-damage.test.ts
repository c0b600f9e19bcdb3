// The JSON-file store's promises 2 and 6: recovery from files that are truncated, damaged, or written by hand or by
// others.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { dirname } from "node:path";
import { test } from "node:test";
import { replaceFile } from "../../src/store/json-file/fs.ts";
import {
  crashed,
  idsIn,
  newFile,
  note,
  notes,
  numbered,
  openFilesIn,
  openStore,
  refused,
  storeWith,
  textOf,
  write,
} from "./fixture.ts";

test("promise 2: an incomplete last line is moved to a file of its own with one warning", async (t) => {
  const { file } = await storeWith(t, "a b");
  const copy = crashed(file);
  const [, second = ""] = textOf(`${copy}.journal`).split("\n");
  fs.truncateSync(`${copy}.journal`, textOf(`${copy}.journal`).length - 7);
  const { store: again, warnings } = await openStore(t, copy);
  assert.equal(await idsIn(again), "a");
  assert.match(
    warnings.join("\n"),
    /^.*data\.json-copy\.journal line 2 .*data\.json-copy\.torn-2$/,
  );
  assert.equal(textOf(`${copy}.torn-2`), second.slice(0, -6));
  assert.equal(textOf(`${copy}.journal`), "", "the start has folded the line before it into FILE");
  await write(again, note("c"));
  const third = await openStore(t, crashed(copy));
  assert.equal(await idsIn(third.store), "a c");
  assert.deepEqual(third.warnings, []);
  await again.close();
  for (const torn of ["first", "second"]) {
    fs.writeFileSync(`${copy}.journal`, torn);
    await (await openStore(t, copy)).store.close();
  }
  assert.deepEqual(
    [textOf(`${copy}.torn-3`), textOf(`${copy}.torn-3-2`)],
    ["first", "second"],
    "none is lost",
  );
});

const pretty = (text: string) => JSON.stringify(JSON.parse(text), null, 2);

/** A journal line that puts another note with the text of the first. */
const AS_A =
  '{"crc":"01070942","seq":4,"commits":[[["put","notes",{"id":"d","list":"all","text":"text of a"}]]]}\n';

/** Modifications of a journal with three notes, as a crash left it. */
for (const [what, part, by, says] of [
  ["a changed byte", "text of b", "text of x", /line 2 .*CRC/],
  ["a missing line", /\n.*\n/, "\n", /line 2 has the number 3 where 2 should follow/],
  ["a line twice", /.*\n/, "$&$&", /line 2 has the number 1 where 2/],
  ["a missing first line", /.*\n/, "", /line 1 has the number 2 where 1 should follow/],
  ["a damaged line feed", /\n(?=.*\n$)/, "\v", /line 2 has run together/],
  ["a unique key held twice", /$/, AS_A, /line 4 has a second record with the same text/],
] as const)
  test(`promise 2: opening a journal with ${what} rejects with file and line, and changes no file`, async (t) => {
    const copy = crashed((await storeWith(t, "a b c")).file);
    fs.writeFileSync(`${copy}.journal`, textOf(`${copy}.journal`).replace(part, by));
    await refused(copy, /data\.json-copy\.journal line/, says, /Restore/);
  });

/** Modifications of a FILE with 400 notes. */
for (const [what, part, by, says] of [
  ["changed", '"text of 300"', '"text of 3OO"', /lines 251 to 500: .*checksum/],
  ["no JSON", /.*"text of 298".*/, '{"id":', /line 301: not a whole JSON document/],
  ["no record", /.*"text of 298".*/, "12,", /line 301: not a record with an id/],
  ["a line twice", /.*"text of 298".*\n/, "$&$&", /line 302: a second record with the id "298"/],
  [
    "a line twice and a space",
    /.*"text of 298".*\n/,
    "$& $&",
    /line 302: a second record with the id "298"/,
  ],
] as const)
  test(`promise 6: the error for a damaged FILE (${what}) gives the line numbers`, async (t) => {
    const { file, store } = await openStore(t);
    await write(store, ...numbered(400));
    await store.close();
    fs.writeFileSync(file, textOf(file).replace(part, by));
    await refused(file, /data\.json/, says);
  });

const NO_NOTES = '{"format":1,"collections":{"notes":[]}}';
const FILES: Readonly<Record<string, RegExp>> = {
  "": /data\.json is empty.* delete it for a fresh start/,
  hello:
    /^\S*data\.json line 1: not a whole JSON document \(.*\)\. Put a good copy in its place\.$/,
  "[]": /not a JSON object/,
  '{"format":1,"collections":{"notes":[': /not a whole JSON document/,
  '{"format":2,"collections":{}}': /newer version/,
  '{"collections":{}}': /"format" is not 1.* name another file/,
  '{"collections":{},\n"format":"x"}': /data\.json line 2: "format" is not 1/,
  '{"format":1}': /no "collections"/,
  '{"format":1,"checksums":1,"collections":{}}': /"checksums" is not an array/,
  '{"format":1,"journal":-1,"collections":{}}': /"journal"/,
  '{"format":1,"collections":{},"colections":{}}': /unknown member "colections"/,
  '{"format":1,"collections":{"nots":[]}}': /collection "nots"/,
  '{"format":1,"collections":{"notes":{}}}': /"notes" is not an array/,
  '{"format":1,"collections":{"notes":[{"text":"x"}]}}': /notes\[0\]: not a record/,
  '{"format":1,"collections":{"notes":[{"id":"a"},{"id":"a"}]}}':
    /notes\[1\]: a second record .*"a"/,
  '{"format":1,"collections":{"notes":[{"id":"a","text":"x"},{"id":"b","text":"x"}]}}':
    /notes\[1\]: a second record with the same text/,
};
for (const [text, says] of Object.entries(FILES))
  test(`promise 6: opening a FILE that contains '${text}' rejects and changes no file`, async () => {
    const file = newFile();
    fs.writeFileSync(file, text);
    await refused(file, /data\.json/, says);
  });

test("promise 6: opening a journal without FILE, or beside a FILE written by hand, rejects", async (t) => {
  const copy = crashed((await storeWith(t, "a")).file);
  fs.writeFileSync(copy, NO_NOTES);
  await refused(copy, /data\.json-copy\.journal does not belong to/);
  fs.rmSync(copy);
  await refused(copy, /data\.json-copy is missing/, /delete both/);
});

test("promise 6: an edited FILE is accepted in any layout once its checksums are removed", async (t) => {
  const { file, store } = await storeWith(t, "a");
  await store.close();
  const changed = textOf(file).replace('"text of a"', '"changed"');
  for (const layout of [changed, pretty(changed)]) {
    fs.writeFileSync(file, layout);
    await refused(file, /lines 1 to 250: .*remove its member "checksums"/);
  }
  fs.writeFileSync(file, changed.replace(/,"checksums":\[.*\]/, ""));
  assert.equal((await (await openStore(t, file)).store.get(notes, "a"))?.text, "changed");
});

test("promise 6: FILE opens in any JSON layout: pretty printed, on fewer lines, written by hand, with a BOM", async (t) => {
  const { file, store } = await openStore(t);
  await write(store, note("b", "\u2028 \u{1F600} \ud800"), note("a"));
  const data = await store.snapshot();
  await store.close();
  const layouts = [
    pretty(textOf(file)),
    textOf(file).replace("},\n{", "},{"),
    JSON.stringify(data),
    `\ufeff${JSON.stringify(data, null, "\t")}`,
    '{"collections":{"notes":[{"id":"b","list":"all","text":"x"},{"id":"a","list":"all","text":"y"}]},"format":1}',
  ];
  for (const layout of layouts) {
    const path = newFile();
    fs.writeFileSync(path, layout);
    const { store: opened } = await openStore(t, path);
    assert.equal(await idsIn(opened), "b a");
    await write(opened, note("c", "z"));
    assert.equal(await idsIn((await openStore(t, crashed(path))).store), "b a c");
  }
});

test("promise 6: an oversized FILE is never written, and opening one rejects with its size and a remedy", async () => {
  const file = newFile();
  fs.writeFileSync(file, "");
  fs.truncateSync(file, 600_000_000);
  await refused(
    file,
    /^\S*data\.json has 600000000 bytes, and no more than \d+ can be read\. Put /,
  );
  const parts = [Buffer.from("12345"), Buffer.from("67890")];
  fs.closeSync(await replaceFile(file, parts, () => {}, 10));
  await assert.rejects(
    replaceFile(file, parts, () => {}, 9),
    /more than 9 bytes/,
  );
  assert.ok(
    !openFilesIn(dirname(file)).join().includes(".new"),
    "what could not be written is closed",
  );
  assert.ok(!fs.existsSync(`${file}.new`), "and gone");
  assert.equal(textOf(file), "1234567890");
});

test("promise 6: data, journal and lock follow a symbolic link to its target", async (t) => {
  const real = newFile();
  const links = `${dirname(real)}/links`;
  fs.mkdirSync(links);
  fs.symlinkSync("../data.json", `${links}/link.json`);
  const { store } = await openStore(t, `${links}/link.json`);
  await write(store, note("a"));
  await refused(real, /in use/);
  assert.deepEqual(fs.readdirSync(links), ["link.json"]);
  await store.close();
  assert.equal(await idsIn((await openStore(t, real)).store), "a");
});

test("promise 6: only the owner may read or write the files", async (t) => {
  const file = newFile();
  fs.writeFileSync(file, '{"format":1,"collections":{}}');
  fs.chmodSync(file, 0o644);
  const { store } = await openStore(t, file);
  await write(store, note("a"));
  for (const each of [file, `${file}.journal`, `${file}.lock`])
    assert.equal(fs.statSync(each).mode & 0o777, 0o600, each);
});

test("promise 6: every string is read back unchanged from the journal and from FILE, as id and as text", async (t) => {
  const texts = [
    "__proto__",
    "\u2028\u2029",
    "\ud800",
    "\udc00\ud800",
    "\0\b\f",
    '"\\/',
    "\ufeff",
    "\u{10FFFF}",
    "",
  ];
  const quoted = texts.map((text) => JSON.stringify(text));
  const records = quoted.map((text) => `{"id":${text},"list":"all","text":${text},"__proto__":1}`);
  const { file, store } = await openStore(t);
  for (const record of records) await write(store, JSON.parse(record));
  const journalled = await openStore(t, crashed(file));
  await store.close();
  for (const { store: again } of [journalled, await openStore(t, file)]) {
    const data = JSON.parse(JSON.stringify(await again.snapshot()));
    assert.equal(
      JSON.stringify(data.collections.notes),
      JSON.stringify(records.map((record) => JSON.parse(record))),
    );
    for (const text of texts) assert.equal((await again.find(notes, "text", [text]))?.id, text);
  }
});
