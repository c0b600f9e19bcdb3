// The server as a process of its own, started the way `npm start` starts it.
import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { trusted } from "../../src/kit/schema.ts";
import { type Members, members, str } from "./client.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PACKAGE = trusted<Members>(JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")));

/** `npm start` without npm: the words of the script in package.json. */
const [, ...START] = str(members(PACKAGE.scripts).start).split(" ");

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class ServerProcess {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly ended: Promise<Ended>;
  stdout = "";
  stderr = "";

  constructor(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const clean = Object.entries(process.env).filter(([name]) => !/^(APPHOST_|PORT$|FORCE_COLOR|NODE_TEST)/.test(name));
    this.#child = spawn(process.execPath, [...START, ...args], {
      cwd: ROOT,
      env: { ...Object.fromEntries(clean), ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child.stdout.on("data", (chunk: Buffer) => (this.stdout += chunk));
    this.#child.stderr.on("data", (chunk: Buffer) => (this.stderr += chunk));
    this.ended = once(this.#child, "close").then(([code, signal]) => ({
      code: typeof code === "number" ? code : null,
      signal: signal ?? null,
      stdout: this.stdout,
      stderr: this.stderr,
    }));
  }

  /** Resolves once `text` has been printed on stdout; fails where the process ends before, or a minute is over. */
  async prints(text: string): Promise<void> {
    const signal = AbortSignal.timeout(60_000);
    while (!this.stdout.includes(text)) {
      const more = once(this.#child.stdout, "data", { signal });
      const ended = await Promise.race([more.then(() => null), this.ended]);
      assert.ok(ended === null || this.stdout.includes(text), `ended before: ${this.stderr}`);
    }
  }

  /** Nobody reads what the process prints from now on. */
  stopReading(): void {
    this.#child.stdout.destroy();
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}

/** Runs a command to its end. */
export const runToEnd = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> =>
  new ServerProcess(args, env).ended;

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
