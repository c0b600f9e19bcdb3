// What the tortures share: a folder, and the tortured program compiled once, so that a start costs what node costs.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

export class Lab {
  /** In memory where there is such a place: what is killed is a process, never the kernel. */
  readonly folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "torture-"));
  readonly #program = join(this.folder, "child.mjs");
  #files = 0;

  constructor() {
    const entryPoints = [fileURLToPath(new URL("child.ts", import.meta.url))];
    buildSync({ entryPoints, outfile: this.#program, bundle: true, platform: "node", format: "esm", target: "node20" });
  }

  /** The path of a file that is not there yet. */
  file(): string {
    this.#files += 1;
    return join(this.folder, `${this.#files}.json`);
  }

  /** The command line of the tortured program; `flags` of node. */
  command(role: "write" | "session" | "hold", files: readonly string[], flags: readonly string[] = []): string[] {
    return [process.execPath, ...flags, this.#program, role, ...files];
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A process whose lines are gathered. */
export class Child {
  readonly process: ChildProcessWithoutNullStreams;
  readonly ended: Promise<unknown>;
  #output = "";

  constructor([program = "", ...args]: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.process = spawn(program, args, { env: { ...process.env, ...env } });
    this.process.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.#output += text;
    });
    this.process.stderr.pipe(process.stderr);
    this.ended = once(this.process, "close");
  }

  get lines(): readonly string[] {
    return this.#output.split("\n").slice(0, -1);
  }

  /** Waits for the first line, or the end. */
  async firstLine(): Promise<string | undefined> {
    while (this.lines.length === 0 && this.process.exitCode === null && this.process.signalCode === null)
      await Promise.race([once(this.process.stdout, "data"), this.ended]);
    return this.lines[0];
  }

  async kill(): Promise<void> {
    this.process.kill("SIGKILL");
    await this.ended;
  }
}
