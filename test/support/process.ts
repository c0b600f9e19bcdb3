// Processes that a test starts, the server and scripts, and their output.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { toPattern } from "./patterns.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FROM_SOURCES = ["--import", "tsx"];
const MINUTE_MS = 60_000;

export type ServerProcess = ReturnType<typeof serve>;
export type Ended = Awaited<ServerProcess["ended"]>;

let program: readonly string[] | undefined;

/** Node's arguments to start the server. A bundle starts four times as fast; coverage counts lines of the sources. */
export function serverProgram() {
  program ??= process.env.NODE_V8_COVERAGE ? [...FROM_SOURCES, "src/bin.ts"] : [bundled()];
  return program;
}

/** The server's bundle, which other users may read. Scripts use this file, too, so it does not load the test runner. */
function bundled() {
  const outdir = mkdtempSync(join(tmpdir(), "apphost-"));
  process.once("exit", () => rmSync(outdir, { recursive: true }));
  chmodSync(outdir, 0o755);
  buildSync({
    absWorkingDir: ROOT,
    entryPoints: ["src/bin.ts"],
    outdir,
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    outExtension: { ".js": ".mjs" },
  });
  return join(outdir, "bin.mjs");
}

export const serve = (args: readonly string[], env?: NodeJS.ProcessEnv) =>
  started([...serverProgram(), ...args], env);

/** A script, which must finish within a minute. */
export const script = (name: string, ...args: readonly string[]) =>
  started([...FROM_SOURCES, `scripts/${name}`, ...args], {}, MINUTE_MS);

/** Runs a script to its end; returns its exit code and output. */
export const ran = (...use: Parameters<typeof script>) => script(...use).ended;

/** The output of a script that must succeed without writing to stderr. */
export async function printedBy(...use: Parameters<typeof script>) {
  const { code, stdout, stderr } = await ran(...use);
  assert.deepEqual([code, stderr], [0, ""], stdout);
  return stdout;
}

/** Runs the server on a free port during `use`, from the moment it has printed `text`; it must exit with code 0. */
export async function serving(
  args: readonly string[],
  text: string,
  use: (server: ServerProcess) => Promise<unknown> = async () => {},
  env?: NodeJS.ProcessEnv,
) {
  const server = serve(["--port", "0", ...args], env);
  await server.prints(text);
  await use(server).finally(() => server.child.kill("SIGTERM"));
  const ended = await server.ended;
  assert.equal(ended.code, 0, ended.stderr);
  return ended;
}

/** Runs node, or another program, with a timeout, and collects its output. */
export function started(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  timeout = 0,
  program = process.execPath,
) {
  const clean = Object.entries(process.env).filter(
    ([name]) => !/^(APPHOST_|PORT$|FORCE_COLOR|NODE_TEST)/.test(name),
  );
  const options = { cwd: ROOT, env: { ...Object.fromEntries(clean), ...env }, timeout };
  const child = spawn(program, args, options);
  const said = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (said.stdout += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (said.stderr += chunk));
  const ended = once(child, "close").then(() => ({
    code: child.exitCode,
    signal: child.signalCode,
    ...said,
  }));
  /** Resolves once `text` has been printed on stdout; fails if the process ends first, or after a minute. */
  const prints = async (text: string) => {
    const signal = AbortSignal.timeout(MINUTE_MS);
    while (!said.stdout.includes(text)) {
      const more = once(child.stdout, "data", { signal });
      const over = await Promise.race([more.then(() => null), ended]);
      assert.ok(over === null || said.stdout.includes(text), `ended before: ${said.stderr}`);
    }
  };
  const kill = () => {
    child.kill("SIGKILL");
    return ended;
  };
  return { child, said, ended, prints, kill };
}

/** The output of this process itself while `use` runs. */
export async function printedOn(stream: NodeJS.WriteStream, use: () => Promise<unknown>) {
  const lines: string[] = [];
  const write = stream.write.bind(stream);
  stream.write = (chunk: string | Uint8Array) => lines.push(String(chunk)) > 0;
  await use().finally(() => {
    stream.write = write;
  });
  return lines;
}

/** Asserts each line of a page or the README in the output; "…" matches anything, at the end of a line as well. */
export function shows(output: string, shown: string) {
  for (const line of shown.trimEnd().split("\n"))
    assert.match(output, new RegExp(`^${toPattern(line)}$`, "m"));
}
