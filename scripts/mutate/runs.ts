// Runs of one test file: whether it passes, how long it takes and which places of the sources it comes to. A hook hands out
// JavaScript in place of the sources, so that nothing is transpiled twice and a changed line touches no file of the work
// tree; it is in NODE_OPTIONS, for what a test starts, too. What a run starts ends with it.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { transformSync } from "esbuild";

export interface Script {
  /** From the root, with slashes: src/kit/ids.ts. */
  readonly path: string;
  readonly code: string;
}

/** Everything that is written on the way, and gone at the end. */
const scratch = mkdtempSync(join(tmpdir(), "mutate-"));
chmodSync(scratch, 0o755); // a database that a test starts is another user's
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

/** Whether it passes; the run ends with the first test that fails. */
async function run(test: string, limit_ms: number, more: NodeJS.ProcessEnv): Promise<boolean> {
  const env = { ...process.env, TMPDIR, NODE_OPTIONS, ...more };
  const args = ["--test-reporter=tap", test];
  const child = spawn(process.execPath, args, { env, detached: true, stdio: ["ignore", "pipe", "ignore"] });
  running.add(child);
  const limit = setTimeout(end, limit_ms, child);
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    if (/^ *not ok (?!.*# TODO)/m.test(text)) end(child);
  });
  child.on("exit", () => end(child));
  const [code] = await once(child, "close");
  clearTimeout(limit);
  running.delete(child);
  return code === 0;
}

/** With this script changed. A test file may then take a few times as long as before. */
export function passes({ path, took_ms }: Measured, changed: string, code: string): Promise<boolean> {
  const MUTANT_CODE = join(mkdtempSync(join(scratch, "changed-")), "code.js");
  writeFileSync(MUTANT_CODE, code);
  return run(path, 5_000 + 4 * took_ms, { MUTANT: changed, MUTANT_CODE });
}

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** As V8 reports it. */
interface Coverage {
  readonly result: readonly { readonly url: string; readonly functions: readonly { readonly ranges: Range[] }[] }[];
}

/** What takes longer unchanged is left out. */
const LIMIT_MS = 300_000;

export type Measured = Awaited<ReturnType<typeof measured>>;

/** A run with nothing changed, whether one of its processes came to a place in a script, and to how much of it. */
export async function measured(path: string) {
  const folder = mkdtempSync(join(scratch, "coverage-"));
  const began = performance.now();
  const passed = await run(path, LIMIT_MS, { NODE_V8_COVERAGE: folder });
  const took_ms = performance.now() - began;
  const covered = readdirSync(folder).flatMap((name) => rangesIn(join(folder, name)));
  rmSync(folder, { recursive: true });
  const of = (script: string) => covered.filter(({ url }) => url === pathToFileURL(script).href);
  const comesTo = (script: string, offset: number) => of(script).some(({ ranges }) => wasRun(ranges, offset));
  const share = (script: string) =>
    Math.max(...of(script).map(({ ranges }) => ranges.filter(({ count }) => count > 0).length));
  return { path, passed, took_ms, comesTo, share };
}

/** Of each of the sources that this process has loaded. */
function rangesIn(file: string) {
  try {
    const { result }: Coverage = JSON.parse(readFileSync(file, "utf8"));
    const sources = result.filter(({ url }) => url.startsWith(pathToFileURL("src/").href));
    return sources.map(({ url, functions }) => ({ url, ranges: functions.flatMap(({ ranges }) => ranges) }));
  } catch {
    return []; // its process was killed in the middle of the report: as if it had been killed before
  }
}

/** Ranges lie within each other, and the innermost knows. */
function wasRun(ranges: readonly Range[], offset: number): boolean {
  const around = ranges.filter(({ startOffset, endOffset }) => startOffset <= offset && offset < endOffset);
  const size = ({ startOffset, endOffset }: Range) => endOffset - startOffset;
  return (around.sort((a, b) => size(a) - size(b))[0]?.count ?? 0) > 0;
}
