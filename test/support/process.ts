// Processes that a test starts, the server and scripts, run from their sources, and what they print.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FROM_SOURCES = ["--import", "tsx"];
const MINUTE_MS = 60_000;

export type ServerProcess = ReturnType<typeof serve>;
export type Ended = Awaited<ServerProcess["ended"]>;

export const serve = (args: readonly string[], env?: NodeJS.ProcessEnv) =>
  started([...FROM_SOURCES, "src/bin.ts", ...args], env);

/** A script, which a minute has to be enough for. */
export const script = (name: string, ...args: readonly string[]) =>
  started([...FROM_SOURCES, `scripts/${name}`, ...args], {}, MINUTE_MS);

/** Runs a script to its end; answers its exit code and what it printed. */
export const ran = (...use: Parameters<typeof script>) => script(...use).ended;

/** What a script prints that has to succeed and to complain of nothing. */
export async function printedBy(...use: Parameters<typeof script>): Promise<string> {
  const { code, stdout, stderr } = await ran(...use);
  assert.deepEqual([code, stderr], [0, ""], stdout);
  return stdout;
}

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

/** Runs node, or another program, for so long at most, and gathers what it prints. */
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
  /** Resolves once `text` has been printed on stdout; fails where the process ends before, or a minute is over. */
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

/** What this process itself prints while `use` runs. */
export async function printedOn(
  stream: NodeJS.WriteStream,
  use: () => Promise<unknown>,
): Promise<readonly string[]> {
  const lines: string[] = [];
  const write = stream.write.bind(stream);
  stream.write = (chunk: string | Uint8Array): boolean => lines.push(String(chunk)) > 0;
  await use().finally(() => {
    stream.write = write;
  });
  return lines;
}

/** Each line that a page or the README shows stands in the output; "…" is anything, at the end of a line as well. */
export function shows(output: string, shown: string): void {
  for (const line of shown.trimEnd().split("\n")) {
    const pattern = line.split("…").map((piece) => piece.replace(/[^\w\s]/g, "\\$&"));
    assert.match(output, new RegExp(`^${pattern.join(".*")}$`, "m"));
  }
}
