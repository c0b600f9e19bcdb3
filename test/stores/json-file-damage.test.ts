// The JSON-file store's promises 2 and 6: recovery from files that are truncated, damaged, or written by hand or by
// others.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { dirname } from "node:path";
import { test } from "node:test";
import {
  copyFiles,
  failsToOpen,
  idsIn,
  newFile,
  note,
  notes,
  numbered,
  openStore,
  storeWith,
  textOf,
  write,
} from "./fixture.ts";

test("promise 2: an incomplete last line is moved to FILE.torn with one warning", async (t) => {
  const { file } = await storeWith(t, "a b");
  const copy = copyFiles(file);
  const journal = textOf(`${copy}.journal`);
  fs.truncateSync(`${copy}.journal`, journal.length - 7);
  const { store, warnings } = await openStore(t, copy);
  assert.equal(await idsIn(store), "a");
  assert.match(
    warnings.join("\n"),
    /^.*data\.json-copy\.journal line 2 was cut short .* moved to .*\.torn$/,
  );
  const torn = journal.split("\n")[1]?.slice(0, -6);
  assert.equal(textOf(`${copy}.torn`), `${torn}\n`);
  assert.equal(textOf(`${copy}.journal`), "", "the start has folded the line before it into FILE");
  assert.match(textOf(copy), /^\{"format":2,"journal":1,/);
  await write(store, note("c"));
  const third = await openStore(t, copyFiles(copy));
  assert.deepEqual([await idsIn(third.store), third.warnings], ["a c", []]);
  await store.close();
  fs.writeFileSync(`${copy}.journal`, "another");
  await openStore(t, copy);
  assert.equal(textOf(`${copy}.torn`), `${torn}\nanother\n`, "none is lost");
});

test("promise 2: a complete last line with a wrong checksum is moved to FILE.torn with one warning", async (t) => {
  const copy = copyFiles((await storeWith(t, "a b")).file);
  fs.writeFileSync(`${copy}.journal`, textOf(`${copy}.journal`).replace("text of b", "text of x"));
  const { store, warnings } = await openStore(t, copy);
  assert.deepEqual([await idsIn(store), warnings.length], ["a", 1]);
});

/** A journal line that puts another note with the text of the first. */
const AS_A =
  '{"crc":"39cae71d","seq":4,"writes":[["put","notes",{"id":"d","list":"all","text":"text of a"}]]}\n';

/** Modifications of a journal with three notes, as a crash left it. */
for (const [title, part, replacement, pattern] of [
  ["a changed byte", "text of b", "text of x", /line 2: checksum mismatch/],
  ["a missing line", /\n.*\n/, "\n", /line 2: number 3 where 2 should follow/],
  ["a repeated line", /.*\n/, "$&$&", /line 2: number 1 where 2 should follow/],
  ["a missing first line", /.*\n/, "", /line 1: number 2 where 1 should follow/],
  ["a damaged line feed", /\n(?=.*\n$)/, "\v", /line 2: the line feed at its end is damaged/],
  ["a repeated unique key", /$/, AS_A, /line 4: a second record with the same text/],
] as const)
  test(`promise 2: opening a journal with ${title} rejects with file and line, and changes no file`, async (t) => {
    const copy = copyFiles((await storeWith(t, "a b c")).file);
    fs.writeFileSync(`${copy}.journal`, textOf(`${copy}.journal`).replace(part, replacement));
    await failsToOpen(copy, /data\.json-copy\.journal line/, pattern, /Restore/);
  });

/** Modifications of a FILE with 400 notes. */
for (const [title, part, replacement, pattern] of [
  ["a changed record", '"text of 300"', '"text of 3OO"', /line 303: checksum mismatch/],
  ["invalid JSON", /.*"text of 298".*/, '{"id":', /line 301: invalid JSON/],
  ["invalid UTF-8", '"text of 298"', Buffer.of(34, 0xe9, 34), /line 301: invalid UTF-8/],
  ["a missing record", /.*"text of 298".*\n/, "", /line 301: checksum mismatch/],
  ["a repeated record", /.*"text of 298".*\n/, "$&$&", /line 302: checksum mismatch/],
  ["a changed number", '"journal":1', '"journal":2', /line 1: checksum mismatch/],
  ["a changed checksum", '"checksums":["', '"checksums":["0', /line 1: checksum mismatch/],
] as const)
  test(`promise 6: the error for a FILE with ${title} gives the line number and a remedy`, async (t) => {
    const { file, store } = await openStore(t);
    await write(store, ...numbered(400));
    await store.close();
    // Latin-1 keeps the bytes of the replacement.
    const text = fs.readFileSync(file, "latin1").replace(part, replacement.toString("latin1"));
    fs.writeFileSync(file, text, "latin1");
    await failsToOpen(file, /data\.json/, pattern, /Put a good copy in its place/);
  });

const EMPTY = '{"format":2,"collections":{"notes":[]}}';
const FILES: Readonly<Record<string, RegExp>> = {
  "": /data\.json is empty.* delete it to start afresh/,
  hello: /^\S*data\.json line 1: invalid JSON \(.*\)\. Put a good copy in its place/,
  "[]": /line 1: the format is undefined, but this version reads only format 2/,
  null: /line 1: the format is undefined/,
  '{"format":2,\n"collections":{"notes":[': /line 2: invalid JSON/,
  '{"format":1,"collections":{}}': /line 1: the format is 1, .* name another file/,
  '{"collections":{},\n"format":3}': /line 2: the format is 3/,
  '{"collections":{},\n"format":"x"}': /line 2: the format is x/,
  '{"format":2}': /"collections" is not an object/,
  '{"format":2,"checksums":1,"collections":{}}': /checksum mismatch/,
  '{"format":2,"journal":-1,"collections":{}}': /"journal" is not the number/,
  '{"format":2,"collections":{},\n"colections":{}}': /line 2: unknown member "colections"/,
  '{"format":2,"collections":{"nots":[]}}': /nots is a collection that this version does not have/,
  '{"format":2,"collections":{"notes":{}}}': /notes is not an array/,
  '{"format":2,"collections":{"notes":[{"text":"x"}]}}': /notes\[0\] is not a record/,
  '{"format":2,"collections":{"notes":[{"id":"a"},{"id":"a"}]}}':
    /notes\[1\] is a second record .*"a"/,
};
for (const [text, pattern] of Object.entries(FILES))
  test(`promise 6: opening a FILE that contains '${text}' rejects and changes no file`, async () => {
    const file = newFile();
    fs.writeFileSync(file, text);
    await failsToOpen(file, /data\.json/, pattern);
  });

test("promise 6: opening a journal without FILE, or beside a FILE written by hand, rejects", async (t) => {
  const copy = copyFiles((await storeWith(t, "a")).file);
  fs.writeFileSync(copy, EMPTY);
  await failsToOpen(copy, /data\.json-copy was written by hand, but has a journal/);
  fs.rmSync(copy);
  await failsToOpen(copy, /data\.json-copy is missing/, /delete both/);
});

const toPretty = (text: string) => JSON.stringify(JSON.parse(text), null, 2);

test("promise 6: an edited FILE is accepted in any layout once its checksums are removed", async (t) => {
  const { file, store } = await storeWith(t, "a");
  await store.close();
  const changed = textOf(file).replace('"text of a"', '"changed"');
  for (const layout of [changed, toPretty(changed)]) {
    fs.writeFileSync(file, layout);
    await failsToOpen(file, /checksum mismatch\. .*remove the member "checksums"/);
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
    toPretty(textOf(file)),
    textOf(file).replace("},\n{", "},{"),
    JSON.stringify(data),
    `\ufeff${JSON.stringify(data, null, "\t")}`,
    '{"collections":{"notes":[{"id":"b","list":"all","text":"x"},{"id":"a","list":"all","text":"y"}]},"format":2}',
  ];
  for (const layout of layouts) {
    const path = newFile();
    fs.writeFileSync(path, layout);
    const { store: opened } = await openStore(t, path);
    assert.equal(await idsIn(opened), "b a");
    await write(opened, note("c", "z"));
    assert.equal(await idsIn((await openStore(t, copyFiles(path))).store), "b a c");
  }
});

test("promise 6: data, journal and lock follow a symbolic link to its target", async (t) => {
  const real = newFile();
  const links = `${dirname(real)}/links`;
  fs.mkdirSync(links);
  fs.symlinkSync("../data.json", `${links}/link.json`);
  const { store } = await openStore(t, `${links}/link.json`);
  await write(store, note("a"));
  await failsToOpen(real, /in use/);
  assert.deepEqual(fs.readdirSync(links), ["link.json"]);
  await store.close();
  assert.equal(await idsIn((await openStore(t, real)).store), "a");
});

test("promise 6: opening a FILE in a folder that does not exist rejects with a remedy", async () =>
  failsToOpen(`${newFile()}/none/data.json`, /ENOENT.* Its folder does not exist/));

test("promise 6: only the owner may read or write the files", async (t) => {
  const file = newFile();
  fs.writeFileSync(file, EMPTY);
  fs.chmodSync(file, 0o644);
  const { store } = await openStore(t, file);
  await write(store, note("a"));
  for (const path of [file, `${file}.journal`, `${file}.lock`])
    assert.equal(fs.statSync(path).mode & 0o777, 0o600, path);
});
