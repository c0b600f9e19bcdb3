// A failing disk: one system call of a scripted session (commits, folding, stop, start, restore, stop) is made to fail,
// or the process dies in it, by strace's fault injection; one thread makes the N-th call the same each time. And writes
// that come back short, by a limit on the size of files. Afterwards: the old state or the new, nothing seen that failed.
import { readFileSync } from "node:fs";
import { Child, type Finding, isInstalled, type Lab } from "./lab.ts";
import { examine } from "./model.ts";

const CALLS = ["openat", "pwrite64", "fdatasync", "fsync", "ftruncate", "rename", "unlink"];
const KINDS = ["signal=SIGKILL", "error=EIO", "error=ENOSPC"];
const ONE_THREAD = { UV_THREADPOOL_SIZE: "1" };
const FILE_BYTES_MAX = 6_000;

const paths = (file: string) =>
  ["", ".journal", ".new", ".journal.new", ".lock"].flatMap((end) => ["-P", `${file}${end}`]);

export async function faults(lab: Lab, share: number): Promise<Finding> {
  if (!isInstalled("strace")) return { tried: "faults: SKIPPED, strace is not installed", wrong: [] };
  const wrong: string[] = [];
  const cases = (await calls(lab)).flatMap(({ call, count }) =>
    KINDS.flatMap((kind) => Array.from({ length: count }, (_, n) => `${call}:${kind}:when=${n + 1}`)),
  );
  const chosen = cases.filter((_, at) => Math.floor(at * share) < Math.floor((at + 1) * share));
  for (const injection of chosen) {
    const file = lab.file();
    const strace = ["strace", "-f", "-qqq", "-o", "/dev/null", ...paths(file), "-e", `inject=${injection}`];
    wrong.push(...(await sessionUnder(lab, file, strace)).map((what) => `${injection}: ${what}`));
  }
  return {
    tried: `faults: ${chosen.length} of ${cases.length} injected (${CALLS.join(", ")}; ${KINDS.join(", ")})`,
    wrong,
  };
}

/** Files that may not grow beyond a size: the write over it comes back short, the next one fails. */
export async function shortWrites(lab: Lab, runs: number): Promise<Finding> {
  if (!isInstalled("prlimit")) return { tried: "short writes: SKIPPED, prlimit is not installed", wrong: [] };
  const wrong: string[] = [];
  for (let run = 0; run < runs; run += 1) {
    const size = 100 + Math.floor((run * FILE_BYTES_MAX) / runs);
    const found = await sessionUnder(lab, lab.file(), ["prlimit", `--fsize=${size}`]);
    wrong.push(...found.map((what) => `files of ${size} bytes: ${what}`));
  }
  return { tried: `short writes: ${runs} limits between 100 and ${FILE_BYTES_MAX} bytes`, wrong };
}

/** How often the session makes each call on its files. */
async function calls(lab: Lab): Promise<{ call: string; count: number }[]> {
  const file = lab.file();
  const log = `${file}.strace`;
  const trace = `trace=${CALLS.join(",")}`;
  await sessionUnder(lab, file, ["strace", "-f", "-qqq", "-o", log, ...paths(file), "-e", trace]);
  const text = readFileSync(log, "utf8");
  return CALLS.map((call) => ({ call, count: text.match(new RegExp(` ${call}\\(`, "g"))?.length ?? 0 }));
}

/** Runs the session under a command and says what is wrong with what it saw and left. */
async function sessionUnder(lab: Lab, file: string, command: readonly string[]): Promise<string[]> {
  const child = new Child([...command, ...lab.command("session", [file])], ONE_THREAD);
  await child.ended;
  const { lines } = child;
  const wrong = lines.filter((line) => line.startsWith("phantom"));
  const acknowledged = lines.filter((line) => line === "ack").length;
  const last = lines.at(-1) ?? "";
  if (!command.join(" ").includes("SIGKILL") && last !== "end" && !last.startsWith("refused"))
    wrong.push(`ended with "${last}"`);
  // A commit during which the process died may be there or not; one that was refused may not.
  const open = last === "start" ? 1 : 0;
  const found = await examine(file);
  if (typeof found === "string") wrong.push(found);
  else if (found.total < acknowledged || found.total > acknowledged + open)
    wrong.push(`${acknowledged} acknowledged, ${found.total} kept`);
  return wrong;
}
