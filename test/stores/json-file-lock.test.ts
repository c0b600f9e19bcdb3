// The JSON-file store's promise 4: one process at a time uses FILE. Locks of owners whose liveness is unknown (another
// container, another machine) are written by hand. The waiting of the new process is counted instead of done.
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { type TestContext, test } from "node:test";
import { contains, started } from "../support/index.ts";
import {
  data,
  failsToOpen,
  idsAfterCrash,
  idsIn,
  isLost,
  newFile,
  note,
  notes,
  openStore,
  storeWith,
  textOf,
  write,
} from "./fixture.ts";

const needsProc = { skip: !existsSync("/proc/self/stat") && "this system has no /proc" };
const WATCH_MS = 10_000;
/** The wait after a takeover, in which several new processes see which one has the lock. */
const TAKEOVER_MS = 50;
const NO_PROCESS = 4_194_304;

/** Returns the lock text of this process with other values; proc(5) describes the source of its parts. */
async function lockText(t: TestContext, values: object = {}) {
  const { file, store } = await openStore(t);
  const own = JSON.parse(textOf(`${file}.lock`));
  await store.close();
  return `${JSON.stringify({ ...own, id: "of another owner", ...values })}\n`;
}

/** Opens a file with this lock and counts the milliseconds of waiting; `during` may change the lock. */
async function openLocked(
  t: TestContext,
  lock: string,
  during = (_waited_ms: number, _lockFile: string) => {},
) {
  const file = newFile();
  const lockFile = `${file}.lock`;
  writeFileSync(lockFile, lock);
  let waited_ms = 0;
  const wait = async (for_ms: number) => {
    waited_ms += for_ms;
    during(waited_ms, lockFile);
  };
  const opened = await openStore(t, file, { wait }).catch(String);
  const { store = undefined, warnings = [] } = typeof opened === "string" ? {} : opened;
  return { store, warnings, message: opened, waited_ms, lockFile };
}

test(
  "promise 4: the lock contains boot, PID namespace, process id, start time and a counter, and a clean stop removes it",
  needsProc,
  async (t) => {
    const { file, store } = await openStore(t);
    const { id, ...rest } = JSON.parse(textOf(`${file}.lock`));
    const { stdout } = await started(["-p", "require('fs').readlinkSync('/proc/self/ns/pid')"])
      .ended;
    assert.deepEqual(rest, {
      boot: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(),
      pid_namespace: stdout.trim(),
      pid: process.pid,
      started: readFileSync("/proc/self/stat", "utf8").split(" ")[21],
      count: 0,
    });
    assert.match(id, /^[0-9a-f]{24}$/);
    await failsToOpen(
      file,
      `data.json is in use by process ${process.pid}. Stop that process first`,
    );
    await store.close();
    assert.equal(existsSync(`${file}.lock`), false);
  },
);

for (const [title, values] of [
  ["a process that has ended", { pid: NO_PROCESS }],
  ["an earlier process with the number of a later one", { started: "1" }],
] as const)
  test(`promise 4: the lock of ${title} is taken over within a second`, needsProc, async (t) => {
    const { lockFile, store, waited_ms, warnings } = await openLocked(t, await lockText(t, values));
    assert.deepEqual([store !== undefined, waited_ms, warnings], [true, TAKEOVER_MS, []]);
    assert.equal(JSON.parse(textOf(lockFile)).pid, process.pid);
  });

test("promise 4: the lock of a zombie is taken over within a second", needsProc, async (t) => {
  // The shell becomes a program that does not wait for its child.
  const script = "sleep 0.1 & echo $!; exec sleep 60";
  const { child, said, prints } = started(["-c", script], {}, 0, "sh");
  t.after(() => child.kill());
  await prints("\n");
  const pid = Number(said.stdout);
  const readStat = () => readFileSync(`/proc/${pid}/stat`, "utf8").split(" ");
  await untilSeen(() => readStat()[2] === "Z");
  const { store } = await openLocked(t, await lockText(t, { pid, started: readStat()[21] }));
  assert.ok(store);
});

const FAR = "process 1 in another container or on another machine";
/** Owners whose liveness cannot be checked from here. */
const UNKNOWN = {
  "in another PID namespace": [{ pid: 1, pid_namespace: "pid:[1]" }, FAR],
  "of another boot": [{ pid: 1, boot: "another" }, FAR],
  "with an unknown start": [{ started: "" }, `process ${process.pid}`],
} as const;
for (const [title, [values, name]] of Object.entries(UNKNOWN)) {
  test(`promise 4: an owner ${title} loses its lock when its counter does not change for 10 s`, async (t) => {
    const lock = await lockText(t, values);
    const { lockFile, store, waited_ms, warnings } = await openLocked(t, lock);
    assert.deepEqual([store !== undefined, waited_ms], [true, WATCH_MS + TAKEOVER_MS]);
    const warning = `${lockFile} names ${name}; waiting 10 s in all to see whether it still runs`;
    assert.deepEqual(warnings, [warning]);
    assert.notEqual(textOf(lockFile), lock);
  });

  test(`promise 4: an owner ${title} that raises its counter at the last moment keeps its lock`, async (t) => {
    const lock = await lockText(t, values);
    const raised = lock.replace('"count":0', '"count":1');
    const { message, lockFile } = await openLocked(t, lock, (waited_ms, lockFile) => {
      if (waited_ms === WATCH_MS) writeFileSync(lockFile, raised);
    });
    contains(message, `data.json is in use by ${name}. Stop that process`);
    assert.equal(textOf(lockFile), raised);
    assert.deepEqual(readdirSync(dirname(lockFile)), ["data.json.lock"]);
  });
}

test("promise 4: an empty or invalid lock is taken over after 10 s", async (t) => {
  for (const lock of ["", "{", "null", '{"pid":"1"}']) {
    const { store, waited_ms } = await openLocked(t, lock);
    assert.deepEqual([store !== undefined, waited_ms], [true, WATCH_MS + TAKEOVER_MS], lock);
  }
});

test("promise 4: of two processes that take over the same lock, the one whose lock was replaced fails to open", async (t) => {
  const other = await lockText(t);
  const { message, lockFile } = await openLocked(
    t,
    await lockText(t, { pid: NO_PROCESS }),
    (_waited_ms, lockFile) => writeFileSync(lockFile, other),
  );
  contains(message, "in use by process");
  assert.equal(textOf(lockFile), other);
});

/** Assigns the lock of an open store to a process that does not exist. */
async function takeAway(t: TestContext, file: string) {
  const lock = await lockText(t, { pid: NO_PROCESS });
  rmSync(`${file}.lock`);
  writeFileSync(`${file}.lock`, lock);
}

/** Returns names and contents of FILE and all files beside it, without the counter of the lock. */
const contents = (file: string) =>
  readdirSync(dirname(file)).map(
    (name) => `${name}: ${textOf(`${dirname(file)}/${name}`).replace(/"count":\d+/, "")}`,
  );

test("promise 4: an owner that has lost its lock still reads, writes nothing, and leaves the new owner's files alone", async (t) => {
  const { file, store, warnings } = await storeWith(t, "a");
  await takeAway(t, file);
  const { ino } = statSync(`${file}.journal`);
  const { store: newOwner } = await openStore(t, file);
  const { ino: newIno } = statSync(`${file}.journal`);
  assert.notEqual(newIno, ino, "the old owner may still have the old journal open");
  await write(newOwner, note("b"));
  const before = contents(file);
  await isLost(write(store, note("c")));
  await isLost(store.restore(data()));
  assert.equal(await idsIn(store), "a");
  await store.close();
  assert.deepEqual(contents(file), before);
  contains(warnings.join("\n"), "taken over by another process; restart this one");
  await newOwner.close();
  assert.deepEqual(readdirSync(dirname(file)), ["data.json"]);
  assert.equal(await idsIn((await openStore(t, file)).store), "a b");
});

test("promise 4: an unchanged store that has lost its lock leaves the new owner's files alone when it closes", async (t) => {
  const { file, store } = await openStore(t);
  await takeAway(t, file);
  await openStore(t, file);
  const before = contents(file);
  await store.close();
  assert.deepEqual(contents(file), before);
});

/** Runs in every turn of the event loop until it returns true. */
async function untilSeen(isSeen: () => boolean) {
  while (!isSeen()) await new Promise(setImmediate);
}

for (const [title, replaceLock] of Object.entries({
  "is lost": (lockFile: string) => writeFileSync(lockFile, "{}"),
  "cannot be read": mkdirSync,
}))
  test(`promise 4: a write during which the lock ${title} is neither acknowledged nor in the journal`, async (t) => {
    const { file, store } = await storeWith(t, "a");
    const writing = isLost(write(store, note("b")));
    await untilSeen(() => textOf(`${file}.journal`).includes("text of b"));
    rmSync(`${file}.lock`);
    replaceLock(`${file}.lock`);
    await writing;
    assert.equal(await idsIn(store), "a");
    assert.equal(await idsAfterCrash(t, file), "a");
  });

test("promise 4: FILE is not replaced when the lock is lost during the rewrite", async (t) => {
  const { file, store, warnings } = await openStore(t, newFile(), { journal_bytes_max: 1 });
  const lock = await lockText(t, { pid: NO_PROCESS });
  const before = textOf(file);
  const writing = write(store, note("a", "x".repeat(4_000_000)));
  await untilSeen(() => existsSync(`${file}.new`));
  writeFileSync(`${file}.lock`, lock);
  await writing;
  await isLost(write(store, note("b")));
  assert.equal(textOf(file), before);
  contains(warnings.join("\n"), "could not be written …taken over by another process");
  const { store: newOwner } = await openStore(t, file);
  assert.ok(await newOwner.get(notes, "a"), "the journal still has what was acknowledged");
});

test("promise 4: an open store does not keep its process alive", async () => {
  const program = `
    const { jsonFileStore } = await import("./src/store/json-file.ts");
    await jsonFileStore(${JSON.stringify(newFile())}).open([]);`;
  const args = ["--import", "tsx", "--input-type=module", "-e", program];
  const { code, stderr } = await started(args, {}, 30_000).ended;
  assert.deepEqual([code, stderr], [0, ""]);
});
