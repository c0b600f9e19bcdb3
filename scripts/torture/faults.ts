// Disk faults and crashes at every step. The session is scripted: start on a torn journal, commits, folding, stop,
// start, restore, stop. One of its disk operations fails or is prevented by SIGKILL. A single thread makes the n-th
// operation the same each time. Afterwards the state must be the old or the new one, and no failed commit may have been
// visible.
import { appendFileSync } from "node:fs";
import type { Finding } from "../findings.ts";
import { copy, type Lab, linesOf } from "./lab.ts";
import { advance, examine, opened } from "./model.ts";

/** The number of commits before the session, and in it. */
const BEFORE = 2;
const COMMITS = 8;
/** Each start creates a journal, whose name must be durable. */
const STARTS = 2;

const SYNCING = ["datasync", "sync"];
/** The operations of file handles, and of node:fs. */
const ON_HANDLES = ["appendFile", "writeFile", ...SYNCING, "truncate"];
const ON_FILES = [
  "renameSync",
  "rmSync",
  "appendFileSync",
  "openSync",
  "readFileSync",
  "writeSync",
];
const CALLS = [...ON_HANDLES, "open", ...ON_FILES];

/** The calls that each fault can hit. After "no cut" truncating the failed write fails too. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  SIGKILL: CALLS,
  EIO: CALLS,
  ENOSPC: CALLS,
  "no cut": ["appendFile", "datasync"],
};

/** Preloaded into the session: counts the disk operations and injects the fault at the given one. */
const INJECTOR = `
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
const [at, kind] = process.env.FAULT.split(":");
const calls = [];
const fail = (code) => {
  throw Object.assign(new Error(code), { code });
};
const wrap = (place, name) => {
  const real = place[name];
  const call = function (...args) {
    // The same functions read modules and write the output.
    const isCounted = name === "readFileSync" ? /.lock$/.test(args[0]) : args[0] !== 1;
    const isNow = isCounted && calls.push(name) === Number(at);
    if (isNow && kind === "SIGKILL") process.kill(process.pid, kind);
    if (isNow) fail(kind === "no cut" ? "EIO" : kind);
    if (kind === "no cut" && calls.length > at && name === "truncate") fail("EIO");
    return real.apply(this, args);
  };
  place[name] = place === fs ? call : async function (...args) { return call.apply(this, args); };
};
const handle = await fs.promises.open("/dev/null");
const prototype = Object.getPrototypeOf(handle);
await handle.close();
for (const name of ${JSON.stringify(ON_HANDLES)}) wrap(prototype, name);
for (const name of ${JSON.stringify(ON_FILES)}) wrap(fs, name);
wrap(fs.promises, "open");
syncBuiltinESMExports();
process.on("exit", () => fs.writeSync(1, "calls " + calls.join(" ") + "\\n"));
`;
const FLAGS = ["--import", `data:text/javascript,${encodeURIComponent(INJECTOR)}`];

/** Runs a share of all cases. */
export async function faults(lab: Lab, share: number): Promise<Finding> {
  const wrong: string[] = [];
  const prepared = await prepare(lab);
  const run = (at: number, kind: string) => session(lab, copy(prepared, lab.file()), at, kind);
  const { calls } = await run(0, "nothing");
  const count = (name: string) => calls.filter((call) => call === name).length;
  if (count("datasync") < COMMITS) wrong.push("a commit was acknowledged without fdatasync");
  if (count("sync") < 2 * count("renameSync") + STARTS)
    wrong.push("FILE was replaced, or a journal created, without fsync of the file and its folder");
  const cases = Object.entries(KINDS).flatMap(([kind, names]) =>
    calls.flatMap((name, before) => (names.includes(name) ? [{ kind, at: before + 1 }] : [])),
  );
  const chosen = cases.filter((_, at) => Math.floor(at * share) < Math.floor((at + 1) * share));
  for (const { kind, at } of chosen) wrong.push(...(await run(at, kind)).wrong);
  const tried = `${chosen.length} of ${cases.length} in ${calls.length} disk operations`;
  return { what: "faults", tried, wrong };
}

/** Creates a FILE and a journal with a torn last line. */
async function prepare(lab: Lab) {
  const [file, torn] = [lab.file(), lab.file()];
  const store = await opened(file);
  for (let n = 0; n < BEFORE; n += 1) await advance(store);
  copy(file, torn);
  appendFileSync(`${torn}.journal`, '{"crc":"00000000","seq":3,"writ');
  await store.close();
  return torn;
}

/** Runs the session with this fault in its `at`-th operation; returns the problems in its output and its files. */
async function session(lab: Lab, file: string, at: number, kind: string) {
  const env = { UV_THREADPOOL_SIZE: "1", FAULT: `${at}:${kind}` };
  const output = linesOf(await lab.child("session", [file], FLAGS, env).ended);
  const lines = output.filter((line) => !line.startsWith("calls "));
  const [, ...calls] = output.find((line) => line.startsWith("calls "))?.split(" ") ?? [];
  const wrong = lines.filter((line) => line.startsWith("phantom"));
  const last = lines.at(-1) ?? "";
  if (kind !== "SIGKILL" && last !== "end" && !last.startsWith("rejected"))
    wrong.push(`ended with "${last}"`);
  if (SYNCING.includes(calls[at - 1] ?? "") && isWrittenAfterFailedSync(lines))
    wrong.push("written after a failed fsync");
  const acknowledged = BEFORE + lines.filter((line) => line === "ack").length;
  // A commit in progress at the crash may or may not survive, and likewise a failed write that cannot be truncated.
  const open = last === "start" || kind === "no cut" ? 1 : 0;
  wrong.push(...(await examine(file, acknowledged, acknowledged + open)).wrong);
  return { wrong: wrong.map((what) => `${kind} in operation ${at}: ${what}`), calls };
}

/** After an fsync error has failed a commit, no commit may succeed before a restart. */
function isWrittenAfterFailedSync(lines: readonly string[]) {
  const failed = lines.indexOf("fail");
  const restart = lines.indexOf("restart", failed);
  return failed >= 0 && lines.slice(failed, restart < 0 ? lines.length : restart).includes("ack");
}
