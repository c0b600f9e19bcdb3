// Runs one test file in a copy of the work tree and reports whether it passes, its duration and the source lines it
// executes. Changes are made in the copy. Child processes end with the run, and all copies are deleted at the end.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const scratch = fs.mkdtempSync(join(tmpdir(), "mutate-"));

/** Copies that no run is using. */
const free: string[] = [];
const LEFT = /^(?:node_modules|\.git|dist|coverage)$/;

function copied(): string {
  const tree = fs.mkdtempSync(join(scratch, "tree-"));
  fs.cpSync(".", tree, { recursive: true, filter: (path) => !LEFT.test(path) });
  fs.symlinkSync(resolve("node_modules"), join(tree, "node_modules"));
  return tree;
}

/** Running children, each the leader of a process group. A group that has ended needs no kill. */
const running = new Set<ChildProcess>();
const end = ({ pid }: ChildProcess) => spawnSync("kill", ["-KILL", "--", `-${pid}`]);
process.on("exit", () => {
  for (const child of running) end(child);
  fs.rmSync(scratch, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));

export interface Change {
  /** Path from the root, with slashes: src/lib/ids.ts. */
  readonly path: string;
  readonly text: string;
}

/**
 * Returns whether the tests pass; the run ends at the first failure. `before` holds the node arguments of the test
 * runner.
 */
async function run(
  test: string,
  limit_ms: number,
  change?: Change,
  before: readonly string[] = [],
): Promise<boolean> {
  const tree = free.pop() ?? copied();
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
  running.add(child);
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    if (/^ *not ok (?!.*# TODO)/m.test(text)) child.kill("SIGKILL");
  });
  child.on("exit", () => end(child));
  const [code] = await once(child, "close");
  running.delete(child);
  if (change) fs.copyFileSync(change.path, join(tree, change.path));
  free.push(tree);
  return code === 0;
}

/** Runs the test file with this change. It may take a few times its usual duration. */
export const passes = ({ path, took_ms }: Measured, change: Change): Promise<boolean> =>
  run(path, 5_000 + 4 * took_ms, change);

/** Skips test files that take longer than this without a change. */
const LIMIT_MS = 300_000;
const C8 = ["node_modules/c8/bin/c8.js", "--check-coverage=false", "--reporter=lcovonly"];

export type Measured = Awaited<ReturnType<typeof measured>>;

/** Runs the test file without a change, and returns the source lines it executes. */
export async function measured(path: string) {
  const folder = fs.mkdtempSync(join(scratch, "coverage-"));
  const began = performance.now();
  const c8 = [
    ...C8,
    "--reports-dir",
    folder,
    "--temp-directory",
    join(folder, "raw"),
    process.execPath,
  ];
  const passed = await run(path, LIMIT_MS, undefined, c8);
  const took_ms = Math.ceil(performance.now() - began);
  const report = join(folder, "lcov.info");
  const files = fs.existsSync(report) ? fs.readFileSync(report, "utf8").split("end_of_record") : [];
  const lines = new Map<string, ReadonlySet<number>>();
  for (const file of files) {
    const run = [...file.matchAll(/^DA:(\d+),[1-9]/gm)].map(([, line]) => Number(line));
    lines.set(/^SF:(.*)/m.exec(file)?.[1] ?? "", new Set(run));
  }
  fs.rmSync(folder, { recursive: true });
  return { path, passed, took_ms, lines };
}
