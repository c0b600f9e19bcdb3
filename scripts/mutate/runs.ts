// Runs of one test file: whether it passes, how long it takes and which places of the sources it comes to. A hook hands out
// JavaScript in place of the sources, so that nothing is transpiled twice and a changed line touches no file of the work
// tree; it is in NODE_OPTIONS, for what a test starts, too. What a run starts ends with it.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { transformSync } from "esbuild";

export interface Script {
  /** From the root, with slashes: src/kit/ids.ts. */
  readonly path: string;
  readonly code: string;
}

export interface Run {
  readonly passed: boolean;
  readonly took_ms: number;
}

/** Everything that is written on the way, and gone at the end. */
const scratch = mkdtempSync(join(tmpdir(), "mutate-"));
const TMPDIR = join(scratch, "tmp");
mkdirSync(TMPDIR);

const LOAD = `import { existsSync, readFileSync } from "node:fs";
const { MUTANT, MUTANT_CODE } = process.env;
export function load(url, context, next) {
  const path = url.replace(${JSON.stringify(`${pathToFileURL(process.cwd())}/`)}, "");
  const file = path === MUTANT ? MUTANT_CODE : ${JSON.stringify(`${scratch}/`)} + path;
  if (!path.startsWith("src/") || !existsSync(file)) return next(url, context);
  return { format: "module", source: readFileSync(file), shortCircuit: true };
}`;
/** The hook that is registered last is asked first. */
const HOOK = `import ${JSON.stringify(import.meta.resolve("tsx"))};
import { register } from "node:module";
register("data:text/javascript," + ${JSON.stringify(encodeURIComponent(LOAD))});`;
writeFileSync(join(scratch, "hook.mjs"), HOOK);
/** A mutant may ask for memory without end. */
const NODE_OPTIONS = `--import ${pathToFileURL(join(scratch, "hook.mjs"))} --max-old-space-size=2048`;

/** Without templates every expression of the code stands in the open. */
export function transpiled(path: string): Script {
  const options = { loader: "ts", format: "esm", target: "node20", supported: { "template-literal": false } } as const;
  const { code } = transformSync(readFileSync(path, "utf8"), options);
  mkdirSync(dirname(join(scratch, path)), { recursive: true });
  writeFileSync(join(scratch, path), code);
  return { path, code };
}

/** Each leads a process group; a group that has ended needs no end. */
const running = new Set<ChildProcess>();
const end = ({ pid }: ChildProcess) => spawnSync("kill", ["-KILL", "--", `-${pid}`]);
process.on("exit", () => {
  for (const child of running) end(child);
  rmSync(scratch, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));

/** The run ends with the first test that fails. */
function run(test: string, limit_ms: number, more: NodeJS.ProcessEnv): Promise<Run> {
  const began = performance.now();
  const env = { ...process.env, TMPDIR, NODE_OPTIONS, ...more };
  const args = ["--test-reporter=tap", test];
  const child = spawn(process.execPath, args, { env, detached: true, stdio: ["ignore", "pipe", "ignore"] });
  running.add(child);
  const limit = setTimeout(end, limit_ms, child);
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    if (/^ *not ok (?!.*# TODO)/m.test(text)) end(child);
  });
  return new Promise((resolve) => {
    child.on("exit", () => end(child));
    child.on("close", (code) => {
      clearTimeout(limit);
      running.delete(child);
      resolve({ passed: code === 0, took_ms: performance.now() - began });
    });
  });
}

export function runChanged(test: string, limit_ms: number, path: string, code: string): Promise<Run> {
  const MUTANT_CODE = join(mkdtempSync(join(scratch, "changed-")), "code.js");
  writeFileSync(MUTANT_CODE, code);
  return run(test, limit_ms, { MUTANT: path, MUTANT_CODE });
}

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

interface Report {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly Range[] }[];
}

const SOURCES = pathToFileURL("src/").href;

/** A run, and with it whether one of its processes came to a place in a script. */
export async function measure(test: string, limit_ms: number) {
  const folder = mkdtempSync(join(scratch, "coverage-"));
  const made = await run(test, limit_ms, { NODE_V8_COVERAGE: folder });
  const reports = readdirSync(folder).flatMap((name) => reportsIn(join(folder, name)));
  rmSync(folder, { recursive: true });
  const comesTo = (path: string, offset: number) =>
    reports.some((report) => report.url === pathToFileURL(path).href && wasRun(report, offset));
  return { ...made, comesTo };
}

function reportsIn(file: string): readonly Report[] {
  try {
    const { result }: { readonly result: readonly Report[] } = JSON.parse(readFileSync(file, "utf8"));
    return result.filter(({ url }) => url.startsWith(SOURCES));
  } catch {
    return []; // its process was killed in the middle of the report: as if it had been killed before
  }
}

/** Ranges lie within each other, and the innermost knows. */
function wasRun({ functions }: Report, offset: number): boolean {
  const ranges = functions.flatMap(({ ranges }) => ranges);
  const around = ranges.filter(({ startOffset, endOffset }) => startOffset <= offset && offset < endOffset);
  const size = ({ startOffset, endOffset }: Range) => endOffset - startOffset;
  return (around.sort((a, b) => size(a) - size(b))[0]?.count ?? 0) > 0;
}
