// Processes that a test starts: the server, run from its sources, and others like it.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const START = ["--import", "tsx", "src/bin.ts"];

export type ServerProcess = ReturnType<typeof serve>;
export type Ended = Awaited<ServerProcess["ended"]>;

export const serve = (args: readonly string[], env?: NodeJS.ProcessEnv) => started([...START, ...args], env);

/** The server on a free port for as long as `use` takes, from when it has printed `text`; it has to end with code 0. */
export async function serving(
  args: readonly string[],
  text: string,
  use: (server: ServerProcess) => Promise<unknown> = async () => {},
  env?: NodeJS.ProcessEnv,
): Promise<Ended> {
  const server = serve(["--port", "0", ...args], env);
  await server.prints(text);
  await use(server).finally(() => server.child.kill("SIGTERM"));
  const ended = await server.ended;
  assert.equal(ended.code, 0, ended.stderr);
  return ended;
}

/** Runs node, and gathers what it prints. */
export function started(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const clean = Object.entries(process.env).filter(([name]) => !/^(APPHOST_|PORT$|FORCE_COLOR|NODE_TEST)/.test(name));
  const child = spawn(process.execPath, args, { cwd: ROOT, env: { ...Object.fromEntries(clean), ...env } });
  const said = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (said.stdout += chunk));
  child.stderr.on("data", (chunk: Buffer) => (said.stderr += chunk));
  const ended = once(child, "close").then(() => ({ code: child.exitCode, signal: child.signalCode, ...said }));
  /** Resolves once `text` has been printed on stdout; fails where the process ends before, or a minute is over. */
  const prints = async (text: string) => {
    const signal = AbortSignal.timeout(60_000);
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

/** What this process itself prints while `use` runs. */
export async function printedOn(stream: NodeJS.WriteStream, use: () => Promise<void>): Promise<readonly string[]> {
  const lines: string[] = [];
  const write = stream.write.bind(stream);
  stream.write = (chunk: string | Uint8Array): boolean => lines.push(String(chunk)) > 0;
  await use().finally(() => {
    stream.write = write;
  });
  return lines;
}

/** Runs a script to its end; answers its exit code and what it printed. */
export const ran = (script: string, ...args: readonly string[]) =>
  new Promise<{ readonly code: number; readonly out: string; readonly err: string }>((resolve) => {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const command = ["--import", "tsx", `scripts/${script}`, ...args];
    const child = execFile(process.execPath, command, { env, timeout: 60_000 }, (_error, out, err) =>
      resolve({ code: child.exitCode ?? -1, out, err }),
    );
  });
