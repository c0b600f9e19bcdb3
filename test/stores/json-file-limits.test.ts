// The JSON-file store's promise 5: a full disk. A limit on the file size simulates it for this process: a write comes
// back short and the next one fails.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { type TestContext, test } from "node:test";
import {
  copyFiles,
  idsIn,
  isLost,
  note,
  notes,
  openStore,
  storeWith,
  textOf,
  write,
} from "./fixture.ts";

const limit = (bytes: number | "unlimited") =>
  spawnSync("prlimit", [`--pid=${process.pid}`, `--fsize=${bytes}:`]).status === 0;

type FullStore = Awaited<ReturnType<typeof storeWith>> & { readonly free: () => unknown };

/** Registers a test of a store with these notes, on a disk that is nearly full until `free` is called. */
function onFullDisk(
  title: string,
  ids: string,
  run: (full: FullStore, t: TestContext) => Promise<void>,
): void {
  test(`promise 5: ${title}`, async (t) => {
    if (!limit("unlimited")) return t.skip("prlimit is not installed");
    const opened = await storeWith(t, ids);
    limit(statSync(`${opened.file}.journal`).size + 30);
    const free = () => limit("unlimited");
    t.after(free);
    await run({ ...opened, free }, t);
  });
}

onFullDisk(
  "a failed write rejects and is cut off the journal, and writes resume once there is room",
  "a",
  async ({ file, store, warnings, free }, t) => {
    const before = textOf(`${file}.journal`);
    for (const id of ["b", "c"]) await isLost(write(store, note(id)));
    await isLost(store.restore({ format: 2, collections: { notes: [note("x")] } }));
    assert.equal(textOf(`${file}.journal`), before);
    assert.deepEqual(await store.transact((tx) => tx.get(notes, "a")), note("a"));
    free();
    await write(store, note("b"));
    const copy = await openStore(t, copyFiles(file));
    assert.equal(await idsIn(copy.store), "a b");
    assert.deepEqual([warnings, copy.warnings], [[], []]);
  },
);

onFullDisk(
  "a failure to rewrite FILE logs a warning and keeps the journal",
  "a",
  async ({ file, store, warnings, free }, t) => {
    limit(20);
    await store.close();
    assert.match(
      warnings.join("\n"),
      /^\S*data\.json could not be written \(.*\); changes stay in its journal$/,
    );
    free();
    assert.equal(await idsIn((await openStore(t, copyFiles(file))).store), "a");
  },
);

onFullDisk(
  "replaced, removed and moved records are restored when their commits fail, and units of work that saw them run again",
  "a b c",
  async ({ store }) => {
    const before = await store.snapshot();
    const changes = [
      store.transact((tx) => tx.remove(notes, "a")),
      write(store, { ...note("b"), list: "other" }, note("d", "text of a")),
      store.transact((tx) => tx.remove(notes, "d")),
    ];
    const reads = [
      store.get(notes, "d"),
      store.transact((tx) => tx.get(notes, "d")),
      store.find(notes, "text", ["text of d"]),
    ];
    const failing = store.transact(async (tx) => {
      throw new Error(`a is ${(await tx.get(notes, "a")) ? "there" : "gone"}`);
    });
    const snapshot = store.snapshot();
    const outcomes = Promise.all([...changes.map(isLost), assert.rejects(failing, /a is there/)]);
    assert.deepEqual(await Promise.all(reads), [undefined, undefined, undefined]);
    assert.deepEqual(await snapshot, before);
    await outcomes;
    assert.deepEqual(await store.snapshot(), before);
    assert.deepEqual(await store.find(notes, "text", ["text of a"]), note("a"));
    assert.equal(await idsIn(store), "a b c");
  },
);
