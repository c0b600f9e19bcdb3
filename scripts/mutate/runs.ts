// Runs of one test file in a copy: whether it passes, how long it takes and which places of the scripts it comes to. What
// it starts ends with it.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { scratch } from "./copies.ts";

export interface Run {
  readonly passed: boolean;
  readonly took_ms: number;
}

/** A mutant may ask for memory without end. */
const HEAP = "--max-old-space-size=2048";
const TMPDIR = join(scratch, "tmp");
mkdirSync(TMPDIR);

/** What runs; each leads a process group. */
const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) end(child);
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));

/** Ends the process and whatever it has started. */
function end({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch (error) {
    // Those that have ended need no end.
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/** Without `coverage`, a folder to write it to, the run ends with the first test that fails. */
export function run(copy: string, test: string, limit_ms: number, coverage?: string): Promise<Run> {
  const began = performance.now();
  const env = { ...process.env, TMPDIR, ...(coverage === undefined ? {} : { NODE_V8_COVERAGE: coverage }) };
  const args = [HEAP, "--import", "tsx", "--test-reporter=tap", test];
  const child = spawn(process.execPath, args, { cwd: copy, env, detached: true, stdio: ["ignore", "pipe", "ignore"] });
  running.add(child);
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => end(child), limit_ms);
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      if (coverage === undefined && /^ *not ok (?!.*# TODO)/m.test(text)) end(child);
    });
    child.on("error", reject);
    child.on("exit", () => end(child));
    child.on("close", (code) => {
      clearTimeout(limit);
      running.delete(child);
      resolve({ passed: code === 0, took_ms: performance.now() - began });
    });
  });
}

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

interface Report {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly Range[] }[];
  }[];
}

/** A run, and with it whether one of its processes came to a place in a script. */
export async function measure(copy: string, test: string, limit_ms: number) {
  const folder = mkdtempSync(join(scratch, "coverage-"));
  const made = await run(copy, test, limit_ms, folder);
  const scripts = readdirSync(folder).flatMap((name) => reportIn(join(folder, name)).result);
  rmSync(folder, { recursive: true });
  const ours = new Map<string, (readonly Range[])[]>();
  for (const { url, functions } of scripts)
    if (url.startsWith("file:")) ours.set(url, [...(ours.get(url) ?? []), functions.flatMap(({ ranges }) => ranges)]);
  const comesTo = (path: string, offset: number) =>
    ours.get(pathToFileURL(join(copy, path)).href)?.some((ranges) => wasRun(ranges, offset)) === true;
  return { ...made, comesTo };
}

function reportIn(file: string): Report {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    // Its process was killed in the middle of the report: as if it had been killed before.
    return { result: [] };
  }
}

/** Ranges lie within each other, and the innermost knows. */
function wasRun(ranges: readonly Range[], offset: number): boolean {
  const around = ranges.filter(({ startOffset, endOffset }) => startOffset <= offset && offset < endOffset);
  const size = ({ startOffset, endOffset }: Range) => endOffset - startOffset;
  return (around.sort((a, b) => size(a) - size(b))[0]?.count ?? 0) > 0;
}
