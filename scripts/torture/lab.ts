// What the tortures share: a folder, and the tortured program compiled once, so that a start costs what node costs.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
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

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A process whose lines are gathered. */
export class Child {
  readonly lines: string[] = [];
  readonly process: ChildProcess;
  readonly ended: Promise<unknown>;
  /** Nothing, where it ends without one. */
  readonly firstLine: Promise<string | undefined>;

  constructor([program = "", ...args]: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "inherit"] });
    const reader = createInterface(child.stdout).on("line", (line) => this.lines.push(line));
    this.process = child;
    this.ended = Promise.all([once(child, "close"), once(reader, "close")]);
    this.firstLine = Promise.race([once(reader, "line"), this.ended]).then(() => this.lines[0]);
  }

  async kill(): Promise<void> {
    this.process.kill("SIGKILL");
    await this.ended;
  }
}
