// A failing disk, and death in the middle: a scripted session (start on a torn journal, commits, folding, stop, start,
// restore, stop) in which one system call is made to fail, or the process dies in it, by strace's fault injection; in which
// writes come back short, by a limit on the size of files; or which dies before one of its disk operations. One thread
// makes the n-th call the same each time. Afterwards: the old state or the new, and nothing was seen that failed.
import { appendFileSync, copyFileSync, readFileSync } from "node:fs";
import { Child, type Finding, isInstalled, type Lab } from "./lab.ts";
import { advance, examine, opened } from "./model.ts";

const CALLS = ["openat", "write", "pwrite64", "fdatasync", "fsync", "ftruncate", "rename", "unlink"];
const KINDS = ["signal=SIGKILL", "error=EIO", "error=ENOSPC"];
/** And when what failed cannot be cut off again either. */
const NO_CUT = "ftruncate:error=EIO:when=2+";
const FILE_BYTES_MAX = 6_000;
/** The commits that are there before the session, and those of the session. */
const BEFORE = 2;
const COMMITS = 8;
const STEPS_MAX = 1_000;

/** Loaded before the session: counts what it asks of the disk, and kills it where the count has come. */
const DIE = `
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
let left = Number(process.env.DIE_AT);
for (const name of ["open", "write", "fdatasync", "fsync", "rename", "ftruncate", "read", "close"]) {
  const real = fs[name];
  fs[name] = (...args) => {
    left -= 1;
    if (left === 0) process.kill(process.pid, "SIGKILL");
    return real(...args);
  };
  for (const key of Object.getOwnPropertySymbols(real)) fs[name][key] = real[key];
}
syncBuiltinESMExports();
`;
const DYING = ["--import", `data:text/javascript,${encodeURIComponent(DIE)}`];

/** Runs a share of all cases; those whose injection begins with `always` are in it in any case. */
export async function faults(lab: Lab, share: number, always = "all"): Promise<Finding> {
  if (!isInstalled("strace")) return { tried: "faults: SKIPPED, strace is not installed", wrong: [] };
  const wrong: string[] = [];
  const prepare = await torn(lab);
  const counts = await calls(prepare(), lab);
  if ((counts.get("fdatasync") ?? 0) < COMMITS) wrong.push("a commit was acknowledged without fdatasync");
  const each = (call: string, kind: string) =>
    Array.from({ length: counts.get(call) ?? 0 }, (_, n) => `${call}:${kind}:when=${n + 1}`);
  const single = CALLS.flatMap((call) => KINDS.flatMap((kind) => each(call, kind).map((one) => [one])));
  const double = ["pwrite64", "fdatasync"].flatMap((call) => each(call, "error=EIO").map((one) => [one, NO_CUT]));
  const cases = [...single, ...double];
  const isChosen = (at: number) => Math.floor(at * share) < Math.floor((at + 1) * share);
  const chosen = cases.filter(([first], at) => first?.startsWith(always) || isChosen(at));
  for (const injections of chosen) {
    const file = prepare();
    const inject = injections.flatMap((injection) => ["-e", `inject=${injection}`]);
    wrong.push(...(await session(lab, file, [...strace("/dev/null", file), ...inject])).wrong);
  }
  const tried = `faults: ${chosen.length} of ${cases.length} injected (${CALLS.join(", ")}; ${KINDS.join(", ")}; no cut)`;
  return { tried, wrong };
}

/** Files that may not grow beyond a size: the write over it comes back short, the next one fails. */
export async function shortWrites(lab: Lab, runs: number): Promise<Finding> {
  if (!isInstalled("prlimit")) return { tried: "short writes: SKIPPED, prlimit is not installed", wrong: [] };
  const wrong: string[] = [];
  const prepare = await torn(lab);
  for (let run = 0; run < runs; run += 1) {
    const size = 100 + Math.floor((run * FILE_BYTES_MAX) / runs);
    wrong.push(...(await session(lab, prepare(), ["prlimit", `--fsize=${size}`])).wrong);
  }
  return { tried: `short writes: ${runs} limits between 100 and ${FILE_BYTES_MAX} bytes`, wrong };
}

/** Dies before every so many of its disk operations; 1 is all of them. */
export async function fold(lab: Lab, every: number): Promise<Finding> {
  const wrong: string[] = [];
  const prepare = await torn(lab);
  for (let step = every; step < STEPS_MAX; step += every) {
    const found = await session(lab, prepare(), ["env", `DIE_AT=${step}`], DYING);
    wrong.push(...found.wrong);
    if (found.ended) return { tried: `fold: killed before every ${every}th of ${step} disk operations`, wrong };
  }
  return { tried: "fold", wrong: [...wrong, "it never went through"] };
}

/** Makes copies of a FILE and a journal with a torn last line. */
async function torn(lab: Lab): Promise<() => string> {
  const [model, broken] = [lab.file(), lab.file()];
  const store = await opened(model);
  for (let n = 0; n < BEFORE; n += 1) await advance(store);
  const copy = (from: string, to: string) => {
    for (const end of ["", ".journal"]) copyFileSync(`${from}${end}`, `${to}${end}`);
    return to;
  };
  copy(model, broken);
  appendFileSync(`${broken}.journal`, '{"crc":"00000000","seq":3,"comm');
  await store.close();
  return () => copy(broken, lab.file());
}

const strace = (log: string, file: string): readonly string[] => {
  const paths = ["", ".journal", ".new", ".journal.new", ".lock", ".torn-3"].flatMap((end) => ["-P", `${file}${end}`]);
  return ["strace", "-f", "-qqq", "-o", log, ...paths];
};

/** How often the session makes each call on its files. */
async function calls(file: string, lab: Lab): Promise<ReadonlyMap<string, number>> {
  const log = `${file}.strace`;
  await session(lab, file, [...strace(log, file), "-e", `trace=${CALLS.join(",")}`]);
  const text = readFileSync(log, "utf8");
  return new Map(CALLS.map((call) => [call, text.match(new RegExp(` ${call}\\(`, "g"))?.length ?? 0]));
}

/** Runs the session under a command and says what is wrong with what it saw and left. */
async function session(lab: Lab, file: string, command: readonly string[], flags: readonly string[] = []) {
  const child = new Child([...command, ...lab.command("session", [file], flags)], { UV_THREADPOOL_SIZE: "1" });
  await child.ended;
  const { lines } = child;
  const wrong = lines.filter((line) => line.startsWith("phantom"));
  const last = lines.at(-1) ?? "";
  const text = command.join(" ");
  const mayDie = /SIGKILL|DIE_AT/.test(text);
  if (!mayDie && last !== "end" && !last.startsWith("refused")) wrong.push(`ended with "${last}"`);
  if (text.includes("fdatasync:error") && isWrittenAfterFailedSync(lines)) wrong.push("written after a failed fsync");
  const acknowledged = BEFORE + lines.filter((line) => line === "ack").length;
  // What was under way when the process died may be there or not, and what the disk would not let be cut off.
  const open = last === "start" || text.includes(NO_CUT) ? 1 : 0;
  wrong.push(...(await examine(file, acknowledged, acknowledged + open)).wrong);
  return { wrong: wrong.map((what) => `${text}: ${what}`), ended: last === "end" };
}

/** After a fault of fdatasync that made a commit fail, none may be kept until a new start. */
function isWrittenAfterFailedSync(lines: readonly string[]): boolean {
  const failed = lines.indexOf("fail");
  const restart = lines.indexOf("restart", failed);
  return failed >= 0 && lines.slice(failed, restart < 0 ? lines.length : restart).includes("ack");
}
