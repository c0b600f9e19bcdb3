// Runs one test file in a copy of the work tree, in which one line may be changed. Child processes end with the run, and
// all copies are deleted at the end.
import { spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const scratch = fs.mkdtempSync(join(tmpdir(), "mutate-"));
/** Copies that no run is using. */
const free: string[] = [];
/** The leaders of the process groups of running tests. */
const running = new Set<number>();
const LEFT = /^(?:node_modules|\.git|dist|coverage)$/;

function createCopy() {
  const tree = fs.mkdtempSync(join(scratch, "tree-"));
  fs.cpSync(".", tree, { recursive: true, filter: (path) => !LEFT.test(path) });
  fs.symlinkSync(resolve("node_modules"), join(tree, "node_modules"));
  return tree;
}

function end(group: number) {
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // All of its processes have ended.
  }
  running.delete(group);
}
process.on("exit", () => {
  for (const group of running) end(group);
  fs.rmSync(scratch, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));

export interface Change {
  /** Path from the root, with slashes: src/lib/ids.ts. */
  readonly path: string;
  readonly text: string;
}

/** Returns whether the tests pass; the run ends at the first failure. `before` are arguments before those of node. */
async function run(
  test: string,
  limit_ms: number,
  { change, before = [] }: { readonly change?: Change; readonly before?: readonly string[] },
) {
  const tree = free.pop() ?? createCopy();
  if (change) fs.writeFileSync(join(tree, change.path), change.text);
  // Limits the heap, because a mutant may allocate memory without end.
  const env = { ...process.env, TMPDIR: scratch, NODE_OPTIONS: "--max-old-space-size=2048" };
  const args = [...before, "--import", "tsx", "--test", "--test-reporter=tap", test];
  const child = spawn(process.execPath, args, {
    cwd: tree,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
    timeout: limit_ms,
    killSignal: "SIGKILL",
  });
  const group = Number(child.pid);
  running.add(group);
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    if (/^ *not ok (?!.*# TODO)/m.test(text)) child.kill("SIGKILL");
  });
  child.on("exit", () => end(group));
  const [code] = await once(child, "close");
  if (change) fs.copyFileSync(change.path, join(tree, change.path));
  free.push(tree);
  return code === 0;
}

/** Runs the test file with this change. It may take a few times its usual duration. */
export const passes = ({ path, took_ms }: Measured, change: Change) =>
  run(path, 5_000 + 4 * took_ms, { change });

/** Leaves out test files that take longer than this without a change. */
const LIMIT_MS = 300_000;

type Measured = Awaited<ReturnType<typeof measure>>;

/** Runs the test file without a change; `lines` are the lines of src that it executes, as path:number. */
export async function measure(path: string) {
  const folder = fs.mkdtempSync(join(scratch, "coverage-"));
  const c8 = "node_modules/c8/bin/c8.js --check-coverage=false --reporter=lcovonly".split(" ");
  const folders = ["--reports-dir", folder, "--temp-directory", join(folder, "raw")];
  const began = performance.now();
  const passed = await run(path, LIMIT_MS, { before: [...c8, ...folders, process.execPath] });
  const took_ms = Math.ceil(performance.now() - began);
  const report = join(folder, "lcov.info");
  const lines = new Set<string>();
  for (const file of fs.existsSync(report) ? fs.readFileSync(report, "utf8").split("SF:") : [])
    for (const [, line] of file.matchAll(/^DA:(\d+),[1-9]/gm))
      lines.add(`${file.slice(0, file.indexOf("\n"))}:${line}`);
  fs.rmSync(folder, { recursive: true });
  return { path, passed, took_ms, lines };
}
