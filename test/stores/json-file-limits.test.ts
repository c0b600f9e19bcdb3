// The JSON-file store's promise 5: a full disk. A limit on the file size simulates it for this process: a write comes
// back short and the next one fails.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { type TestContext, test } from "node:test";
import {
  crashed,
  idsIn,
  lost,
  note,
  notes,
  openStore,
  publish,
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
  "a failed write rejects, is cut off the journal and publishes nothing, and writes resume once there is room",
  "a",
  async (full, t) => {
    const { file, store, warnings, free } = full;
    const received: string[] = [];
    store.subscribe("t", (subject) => void received.push(subject));
    const before = textOf(`${file}.journal`);
    for (const id of ["b", "c"]) await lost(publish(store, id));
    assert.equal(textOf(`${file}.journal`), before);
    assert.deepEqual(await store.transact((tx) => tx.get(notes, "a")), note("a"));
    free();
    await publish(store, "b");
    const copy = await openStore(t, crashed(file));
    assert.equal(await idsIn(copy.store), "a b");
    assert.deepEqual([warnings, copy.warnings, received], [[], [], ["b"]]);
  },
);

onFullDisk(
  "a failure to rewrite FILE logs a warning and keeps the journal",
  "a",
  async (full, t) => {
    const { file, store, warnings, free } = full;
    limit(20);
    await store.close();
    const reported =
      /^\S*data\.json could not be written \(.*\); changes stay in \S*data\.json\.journal$/;
    assert.match(warnings.join("\n"), reported);
    free();
    assert.equal(await idsIn((await openStore(t, crashed(file))).store), "a");
  },
);

onFullDisk(
  "replaced, removed and moved records are restored when their commit fails",
  "a b c",
  async (full) => {
    const { store } = full;
    const before = await store.snapshot();
    const changes = [
      store.transact((tx) => tx.remove(notes, "a")),
      write(store, { ...note("b"), list: "other" }, note("d", "text of a")),
      store.transact((tx) => tx.remove(notes, "d")),
    ];
    for (const change of changes) await lost(change);
    assert.deepEqual(await store.snapshot(), before);
    assert.deepEqual(await store.find(notes, "text", ["text of a"]), note("a"));
    assert.equal(await idsIn(store), "a b c");
  },
);
