// A failing disk: one system call of a scripted session (start on a torn journal, commits, folding, stop, start, restore,
// stop) is made to fail, or the process dies in it, by strace's fault injection; one thread makes the N-th call the same
// each time. And writes that come back short, by a limit on the size of files. Afterwards: the old state or the new, and
// nothing was seen that failed.
import { appendFileSync, copyFileSync, readFileSync } from "node:fs";
import { jsonFileStore } from "../../src/store/json-file.ts";
import { Child, type Finding, isInstalled, type Lab } from "./lab.ts";
import { advance, collections, examine } from "./model.ts";

const CALLS = ["openat", "write", "pwrite64", "fdatasync", "fsync", "ftruncate", "rename", "unlink"];
const KINDS = ["signal=SIGKILL", "error=EIO", "error=ENOSPC"];
/** And when what failed cannot be cut off again either. */
const NO_CUT = "ftruncate:error=EIO:when=2+";
const ONE_THREAD = { UV_THREADPOOL_SIZE: "1" };
const FILE_BYTES_MAX = 6_000;
/** The commits that are there before the session, and those of the session. */
const BEFORE = 2;
const COMMITS = 8;

const paths = (file: string) =>
  ["", ".journal", ".new", ".journal.new", ".lock", ".torn-3"].flatMap((end) => ["-P", `${file}${end}`]);

/** Runs a share of all cases; those whose injection begins with `always` are in it in any case. */
export async function faults(lab: Lab, share: number, always = "all"): Promise<Finding> {
  if (!isInstalled("strace")) return { tried: "faults: SKIPPED, strace is not installed", wrong: [] };
  const wrong: string[] = [];
  const prepare = await torn(lab);
  const counts = await calls(prepare(), lab);
  if ((counts.get("fdatasync") ?? 0) < COMMITS) wrong.push("a commit was acknowledged without fdatasync");
  const single = CALLS.flatMap((call) => KINDS.flatMap((kind) => each(call, kind, counts).map((one) => [one])));
  const double = ["pwrite64", "fdatasync"].flatMap((call) =>
    each(call, "error=EIO", counts).map((one) => [one, NO_CUT]),
  );
  const cases = [...single, ...double];
  const chosen = cases.filter(
    ([first], at) => first?.startsWith(always) || Math.floor(at * share) < Math.floor((at + 1) * share),
  );
  for (const injections of chosen) {
    const file = prepare();
    const inject = injections.flatMap((injection) => ["-e", `inject=${injection}`]);
    const strace = ["strace", "-f", "-qqq", "-o", "/dev/null", ...paths(file), ...inject];
    wrong.push(...(await sessionUnder(lab, file, strace)).map((what) => `${injections.join(" and ")}: ${what}`));
  }
  const tried = `faults: ${chosen.length} of ${cases.length} injected (${CALLS.join(", ")}; ${KINDS.join(", ")}; no cut)`;
  return { tried, wrong };
}

const each = (call: string, kind: string, counts: ReadonlyMap<string, number>) =>
  Array.from({ length: counts.get(call) ?? 0 }, (_, n) => `${call}:${kind}:when=${n + 1}`);

/** Files that may not grow beyond a size: the write over it comes back short, the next one fails. */
export async function shortWrites(lab: Lab, runs: number): Promise<Finding> {
  if (!isInstalled("prlimit")) return { tried: "short writes: SKIPPED, prlimit is not installed", wrong: [] };
  const wrong: string[] = [];
  const prepare = await torn(lab);
  for (let run = 0; run < runs; run += 1) {
    const size = 100 + Math.floor((run * FILE_BYTES_MAX) / runs);
    const found = await sessionUnder(lab, prepare(), ["prlimit", `--fsize=${size}`]);
    wrong.push(...found.map((what) => `files of ${size} bytes: ${what}`));
  }
  return { tried: `short writes: ${runs} limits between 100 and ${FILE_BYTES_MAX} bytes`, wrong };
}

/** Makes copies of a FILE and a journal with a torn last line. */
async function torn(lab: Lab): Promise<() => string> {
  const model = lab.file();
  const store = jsonFileStore(model);
  await store.open(collections);
  for (let n = 0; n < BEFORE; n += 1) await advance(store);
  const copy = (from: string, to: string) => {
    for (const end of ["", ".journal"]) copyFileSync(`${from}${end}`, `${to}${end}`);
    return to;
  };
  const torn = copy(model, lab.file());
  appendFileSync(`${torn}.journal`, '{"crc":"00000000","seq":3,"comm');
  await store.close();
  return () => copy(torn, lab.file());
}

/** How often the session makes each call on its files. */
async function calls(file: string, lab: Lab): Promise<ReadonlyMap<string, number>> {
  const log = `${file}.strace`;
  const trace = `trace=${CALLS.join(",")}`;
  await sessionUnder(lab, file, ["strace", "-f", "-qqq", "-o", log, ...paths(file), "-e", trace]);
  const text = readFileSync(log, "utf8");
  return new Map(CALLS.map((call) => [call, text.match(new RegExp(` ${call}\\(`, "g"))?.length ?? 0]));
}

/** Runs the session under a command and says what is wrong with what it saw and left. */
async function sessionUnder(lab: Lab, file: string, command: readonly string[]): Promise<string[]> {
  const child = new Child([...command, ...lab.command("session", [file])], ONE_THREAD);
  await child.ended;
  const { lines } = child;
  const wrong = lines.filter((line) => line.startsWith("phantom"));
  const last = lines.at(-1) ?? "";
  const text = command.join(" ");
  if (!text.includes("SIGKILL") && last !== "end" && !last.startsWith("refused")) wrong.push(`ended with "${last}"`);
  if (text.includes("fdatasync:error") && isWrittenAfterFailedSync(lines)) wrong.push("written after a failed fsync");
  const acknowledged = BEFORE + lines.filter((line) => line === "ack").length;
  // What was under way when the process died may be there or not, and what the disk would not let be cut off.
  const open = last === "start" || text.includes(NO_CUT) ? 1 : 0;
  const found = await examine(file);
  if (typeof found === "string") wrong.push(found);
  else if (found.total < acknowledged || found.total > acknowledged + open)
    wrong.push(`${acknowledged} acknowledged, ${found.total} kept`);
  return wrong;
}

/** After a fault of fdatasync that made a commit fail, none may be kept until a new start. */
function isWrittenAfterFailedSync(lines: readonly string[]): boolean {
  const failed = lines.indexOf("fail");
  const restart = lines.indexOf("restart", failed);
  return failed >= 0 && lines.slice(failed, restart < 0 ? lines.length : restart).includes("ack");
}
