// The JSON-file store's promises 2 and 6: recovery from files that are cut short, damaged, or written by hand.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { dirname } from "node:path";
import { test } from "node:test";
import {
  copyFiles,
  data,
  failsToOpen,
  idsAfterCrash,
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

/** Replaces a part of a file byte by byte. */
function change(file: string, part: string | RegExp, replacement: string) {
  const text = fs.readFileSync(file, "latin1");
  fs.writeFileSync(file, text.replace(part, replacement), "latin1");
}

for (const [title, part, replacement] of [
  ["is cut short", /.{7}$/s, ""],
  ["has a wrong checksum", "text of b", "text of x"],
] as const)
  test(`promise 2: a last line that ${title} is moved to FILE.torn with one warning`, async (t) => {
    const copy = copyFiles((await storeWith(t, "a b")).file);
    change(`${copy}.journal`, part, replacement);
    const torn = textOf(`${copy}.journal`).split("\n")[1];
    const { store, warnings } = await openStore(t, copy);
    assert.equal(await idsIn(store), "a");
    const pattern = /^The last line of .*-copy\.journal was cut short .* moved to .*-copy\.torn$/;
    assert.match(warnings.join("\n"), pattern);
    assert.match(textOf(`${copy}.torn`), /^.*\n+$/);
    assert.equal(textOf(`${copy}.torn`).split("\n")[0], torn);
    await write(store, note("c"));
    assert.equal(await idsAfterCrash(t, copy), "a c");
  });

/** Modifications of a journal with three notes, as a crash left it. */
for (const [title, part, replacement, pattern] of [
  ["a changed byte", "text of b", "text of x", "line 2: checksum mismatch"],
  ["a missing line", /\n.*\n/, "\n", "line 2: number 3 where 2 should follow"],
  ["a repeated line", /.*\n/, "$&$&", "line 2: number 1 where 2 should follow"],
  ["a missing first line", /.*\n/, "", "line 1: number 2 where 1 should follow"],
  ["a damaged line feed", /\n(?=.*\n$)/, "\v", "line 2: checksum mismatch"],
] as const)
  test(`promise 2: opening a journal with ${title} rejects with file and line, and changes no file`, async (t) => {
    const copy = copyFiles((await storeWith(t, "a b c")).file);
    change(`${copy}.journal`, part, replacement);
    await failsToOpen(copy, "data.json-copy.journal line", pattern, "restore … from a copy");
  });

/** Modifications of a FILE with 400 notes. */
for (const [title, part, replacement, line] of [
  ["a changed record", '"text of 300"', '"text of 3OO"', 303],
  ["invalid JSON", /.*"text of 298".*/, '{"id":', 301],
  ["invalid UTF-8", '"text of 298"', '"\xe9"', 301],
  ["a missing record", /.*"text of 298".*\n/, "", 301],
  ["a changed number", '"journal":1', '"journal":2', 1],
  ["a changed checksum", '"checksums":["', '"checksums":["0', 1],
] as const)
  test(`promise 6: the error for a FILE with ${title} gives the line and what to do`, async (t) => {
    const { file, store } = await openStore(t);
    await write(store, ...numbered(400));
    await store.close();
    change(file, part, replacement);
    await failsToOpen(file, `data.json line ${line}: checksum mismatch;… from a copy`);
  });

/** Contents of a FILE written by hand. */
const FILES = {
  "": "data.json line 1: invalid JSON … Correct it",
  '{"format":2,\n"collections":{"notes":[': "line 2: invalid JSON",
  '{"collections":{},\n"format":1}':
    "line 2: the format is 1, but this version reads only format 2",
  '{"format":2,"collections":{},\n"colections":{}}': 'line 2: unknown member "colections"',
  '{"format":2,\n"collections":{"\xe9":[]}}': "line 2: invalid UTF-8",
  '{"format":2,"collections":{"nots":[]}}': "nots is a collection that this version does not have",
  '{"format":2,"collections":{"notes":{}}}': "notes is not an array",
  '{"format":2,"collections":{"notes":[{"text":"x"}]}}': "notes[0] is not a record",
};
for (const [text, pattern] of Object.entries(FILES))
  test(`promise 6: opening a FILE that contains '${text}' rejects and changes no file`, async () => {
    const file = newFile();
    fs.writeFileSync(file, text, "latin1");
    await failsToOpen(file, pattern);
  });

test("promise 6: opening a journal without FILE, or beside a FILE written by hand, rejects", async (t) => {
  const copy = copyFiles((await storeWith(t, "a")).file);
  const pattern = "data.json-copy is missing or was written by hand, but has a journal";
  fs.writeFileSync(copy, JSON.stringify({ ...data(), journal: 0 }));
  await failsToOpen(copy, pattern);
  fs.rmSync(copy);
  await failsToOpen(copy, pattern);
});

test("promise 6: FILE opens after its checksums were removed, in any layout, and from a snapshot", async (t) => {
  const { file, store } = await openStore(t);
  await write(store, note("b", "\u2028 \u{1F600} \ud800"), note("a"));
  const snapshot = await store.snapshot();
  await store.close();
  const text = textOf(file);
  const layouts = [
    JSON.stringify(snapshot),
    JSON.stringify(JSON.parse(text), null, 2),
    text.replace(/,"checksums":.*\]/, "").replace("text of a", "changed"),
  ];
  for (const layout of layouts) {
    const path = newFile();
    fs.writeFileSync(path, layout);
    const { store: opened } = await openStore(t, path);
    await write(opened, note("c"));
    assert.equal(await idsAfterCrash(t, path), "b a c");
    const isChanged = layout.includes("changed");
    assert.equal((await opened.get(notes, "a"))?.text, isChanged ? "changed" : "text of a");
  }
});

test("promise 6: data, journal and lock follow a symbolic link to its target", async (t) => {
  const real = newFile();
  const links = `${dirname(real)}/links`;
  fs.mkdirSync(links);
  fs.symlinkSync("../data.json", `${links}/link.json`);
  const { store } = await openStore(t, `${links}/link.json`);
  await write(store, note("a"));
  await failsToOpen(real, "in use");
  assert.deepEqual(fs.readdirSync(links), ["link.json"]);
  await store.close();
  assert.ok(await (await openStore(t, real)).store.get(notes, "a"));
});

test("promise 6: only the owner may read or write the files", async (t) => {
  const file = newFile();
  fs.writeFileSync(file, JSON.stringify(data()), { mode: 0o644 });
  const { store } = await openStore(t, file);
  await write(store, note("a"));
  for (const path of [file, `${file}.journal`, `${file}.lock`])
    assert.equal(fs.statSync(path).mode & 0o777, 0o600, path);
});
