// Disk faults and crashes at every step. The session is scripted: start on a torn journal, commits, folding, stop,
// start, restore, stop. One of its disk operations fails, is cut short and then fails, or is prevented by SIGKILL. A
// single thread makes the n-th operation the same each time. Afterwards the state must be the old or the new one, and
// no failed commit may have been visible.
import { appendFileSync } from "node:fs";
import type { Finding } from "../findings.ts";
import { copy, type Lab, linesOf } from "./lab.ts";
import { advance, examine, opened } from "./model.ts";

/** The number of commits before the session, and in it. */
const BEFORE = 2;
const COMMITS = 8;
/**
 * Each of the session's two starts renames its lock, which need not be durable, and creates a journal, whose name must
 * be.
 */
const STARTS = 2;

const CHANGING = [
  "open",
  "write",
  "fdatasync",
  "fsync",
  "renameSync",
  "ftruncate",
  "writeFileSync",
  "rm",
  "rmSync",
];
const CALLS = [...CHANGING, "read", "close"];

/**
 * The calls that each fault can hit. After "short" the disk is full; after "no cut" truncating the failed write fails
 * too.
 */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  SIGKILL: CALLS,
  EIO: CHANGING,
  ENOSPC: CHANGING,
  short: ["write"],
  "no cut": ["write", "fdatasync"],
};

/** Preloaded into the session: counts the disk operations and injects the fault at the given one. */
const STRIKE = `
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
const [at, kind] = process.env.FAULT.split(":");
const calls = [];
let cameShort = false;
const fail = (code, done) => {
  const error = Object.assign(new Error(code), { code });
  if (typeof done !== "function") throw error;
  process.nextTick(done, error);
};
const wrap = (place, name) => {
  const real = place[name];
  const disturbed = (...args) => {
    const now = calls.push(name) === Number(at);
    if (now && kind === "SIGKILL") process.kill(process.pid, kind);
    const full = cameShort && name === "write";
    cameShort = (now && kind === "short") || (cameShort && !full);
    if (full) return fail("EFBIG", args.at(-1));
    if (cameShort && now) args[3] = Math.ceil(args[3] / 2);
    else if (now) return fail(kind === "no cut" ? "EIO" : kind, args.at(-1));
    if (kind === "no cut" && calls.length > at && name === "ftruncate") return fail("EIO", args.at(-1));
    return Reflect.apply(real, place, args);
  };
  place[name] = place === fs ? disturbed : async (...args) => disturbed(...args);
  for (const key of Object.getOwnPropertySymbols(real)) place[name][key] = real[key];
};
wrap(fs.promises, "rm");
for (const name of ${JSON.stringify(CALLS.filter((name) => name !== "rm"))}) wrap(fs, name);
syncBuiltinESMExports();
process.on("exit", () => fs.writeSync(1, "calls " + calls.join(" ") + "\\n"));
`;
const FLAGS = ["--import", `data:text/javascript,${encodeURIComponent(STRIKE)}`];

/** Runs a share of all cases of these kinds in these operations. */
export async function faults(
  lab: Lab,
  share: number,
  kinds: readonly string[] = Object.keys(KINDS),
  among: readonly string[] = CALLS,
): Promise<Finding> {
  const wrong: string[] = [];
  const prepare = await torn(lab);
  const { calls } = await session(lab, prepare(), 0, "nothing");
  const count = (asked: string) => calls.filter((name) => name === asked).length;
  if (count("fdatasync") < COMMITS) wrong.push("a commit was acknowledged without fdatasync");
  if (count("fsync") < 2 * (count("renameSync") - STARTS) + STARTS)
    wrong.push(
      "a name was given, or a journal begun, before the disk had what bears it and its folder",
    );
  const cases = kinds.flatMap((kind) =>
    [...calls.entries()]
      .filter(([, name]) => KINDS[kind]?.includes(name) && among.includes(name))
      .map(([before]) => ({ kind, at: before + 1 })),
  );
  const chosen = cases.filter((_, at) => Math.floor(at * share) < Math.floor((at + 1) * share));
  for (const { kind, at } of chosen) wrong.push(...(await session(lab, prepare(), at, kind)).wrong);
  const tried = `${chosen.length} of ${cases.length} in ${calls.length} disk operations (${kinds.join(", ")})`;
  return { what: "faults", tried, wrong };
}

/** Returns a function that copies a FILE and a journal with a torn last line. */
async function torn(lab: Lab): Promise<() => string> {
  const [model, broken] = [lab.file(), lab.file()];
  const store = await opened(model);
  for (let n = 0; n < BEFORE; n += 1) await advance(store);
  copy(model, broken);
  appendFileSync(`${broken}.journal`, '{"crc":"00000000","seq":3,"comm');
  await store.close();
  return () => copy(broken, lab.file());
}

/** Runs the session with this fault in its `at`-th operation; returns the problems in its output and its files. */
async function session(lab: Lab, file: string, at: number, kind: string) {
  const env = { UV_THREADPOOL_SIZE: "1", FAULT: `${at}:${kind}` };
  const said = linesOf(await lab.child("session", [file], FLAGS, env).ended);
  const lines = said.filter((line) => !line.startsWith("calls "));
  const [, ...calls] = said.find((line) => line.startsWith("calls "))?.split(" ") ?? [];
  const wrong = lines.filter((line) => line.startsWith("phantom"));
  const last = lines.at(-1) ?? "";
  if (kind !== "SIGKILL" && last !== "end" && !last.startsWith("refused"))
    wrong.push(`ended with "${last}"`);
  if (calls[at - 1] === "fdatasync" && isWrittenAfterFailedSync(lines))
    wrong.push("written after a failed fsync");
  const opened = calls.filter((name, n) => name === "open" && n !== at - 1).length;
  if (last === "end" && opened !== calls.filter((name) => name === "close").length)
    wrong.push("a file stays open");
  const acknowledged = BEFORE + lines.filter((line) => line === "ack").length;
  // A commit in progress at the crash may or may not survive, and likewise a failed write that cannot be truncated.
  const open = last === "start" || kind === "no cut" ? 1 : 0;
  wrong.push(...(await examine(file, acknowledged, acknowledged + open)).wrong);
  return { wrong: wrong.map((what) => `${kind} in operation ${at}: ${what}`), calls };
}

/** After an fdatasync error has failed a commit, no commit may succeed before a restart. */
function isWrittenAfterFailedSync(lines: readonly string[]): boolean {
  const failed = lines.indexOf("fail");
  const restart = lines.indexOf("restart", failed);
  return failed >= 0 && lines.slice(failed, restart < 0 ? lines.length : restart).includes("ack");
}
