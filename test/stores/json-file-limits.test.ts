// The JSON-file store's promises 4 and 5: one process at a time (more of it in torture.test.ts), and a disk that does not take what it is given. A limit
// on the size of files makes it full for this process, so that a write comes back short and the next one fails.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { crashed, idsIn, lost, newFile, note, notes, openStore, storeWith, tell, textOf, write } from "./fixture.ts";

/** As proc(5) has it: the boot, and the 22nd field, ours being a name without blanks; other systems do not say. */
const STARTED = existsSync("/proc/self/stat") ? `[^/]+/${readFileSync("/proc/self/stat", "utf8").split(" ")[21]}` : "";

for (const [what, lock] of [
  ["whose number another process has by now", `{"pid":${process.pid},"started":"another boot/1"}\n`],
  ["that is empty", ""],
] as const) {
  test(`promise 4: a lock ${what} is taken over`, async (t) => {
    const file = newFile();
    writeFileSync(`${file}.lock`, lock);
    const { store } = await openStore(t, file);
    assert.match(textOf(`${file}.lock`), new RegExp(`"pid":${process.pid},"started":"${STARTED}"`));
    await store.close();
    assert.equal(existsSync(`${file}.lock`), false);
  });
}

test("promise 4: of two that find the same dead owner, the later does not remove the lock of the earlier", async (t) => {
  const file = newFile();
  writeFileSync(`${file}.lock`, '{"pid":4194304,"started":"x"}\n');
  const earlier = `{"pid":${process.ppid},"started":""}\n`;
  // The other one is about to take over, and has done so when this store has waited for it.
  writeFileSync(`${file}.lock.takeover`, "");
  t.mock.method(Atomics, "wait", () => {
    writeFileSync(`${file}.lock`, earlier);
    rmSync(`${file}.lock.takeover`);
  });
  await assert.rejects(openStore(t, file), new RegExp(`in use by process ${process.ppid}\\.`));
  assert.equal(textOf(`${file}.lock`), earlier);
});

test("promise 4: who was about to take over and died holds nobody up", async (t) => {
  const file = newFile();
  writeFileSync(`${file}.lock.takeover`, "");
  await openStore(t, file);
  assert.equal(existsSync(`${file}.lock.takeover`), false);
});

const limit = (bytes: number | "unlimited") =>
  spawnSync("prlimit", [`--pid=${process.pid}`, `--fsize=${bytes}:`]).status === 0;

type FullStore = Awaited<ReturnType<typeof storeWith>> & { readonly free: () => unknown };

/** A test of a store with these notes, on a disk that takes not much more until `free` is called. */
function onFullDisk(title: string, ids: string, run: (full: FullStore, t: TestContext) => Promise<void>): void {
  test(`promise 5: ${title}`, async (t) => {
    if (!limit("unlimited")) return t.skip("prlimit is not installed");
    const opened = await storeWith(t, ids);
    limit(statSync(`${opened.file}.journal`).size + 30);
    const free = () => limit("unlimited");
    t.after(free);
    await run({ ...opened, free }, t);
  });
}

onFullDisk("what cannot be kept is refused, cut off and not heard; with room writing resumes", "a", async (full, t) => {
  const { file, store, warnings, free } = full;
  const heard: string[] = [];
  store.hear("t", (subject) => void heard.push(subject));
  const before = textOf(`${file}.journal`);
  for (const id of ["b", "c"]) await lost(tell(store, id));
  assert.equal(textOf(`${file}.journal`), before);
  assert.deepEqual(await store.transact((tx) => tx.get(notes, "a")), note("a"));
  free();
  await tell(store, "b");
  const copy = await openStore(t, crashed(file));
  assert.equal(await idsIn(copy.store), "a b");
  assert.deepEqual([warnings, copy.warnings, heard], [[], [], ["b"]]);
});

onFullDisk("a FILE that cannot be written anew is told, and the journal stays", "a", async (full, t) => {
  const { file, store, warnings, free } = full;
  limit(20);
  await store.close();
  const told = /^\S*data\.json could not be written \(.*\); changes stay in \S*data\.json\.journal$/;
  assert.match(warnings.join("\n"), told);
  free();
  assert.equal(await idsIn((await openStore(t, crashed(file))).store), "a");
});

onFullDisk("replaced, removed and moved records are as before when that cannot be kept", "a b c", async (full) => {
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
});
