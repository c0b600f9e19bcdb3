// What the tortures share: a folder, the tortured program compiled once (so that a start costs what node costs), and
// how a finding is told.
import { type ChildProcessWithoutNullStreams, execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What a torture tried and what it found wrong; nothing found is what is promised. */
export interface Finding {
  readonly tried: string;
  readonly wrong: readonly string[];
}

const root = fileURLToPath(new URL("../../", import.meta.url));

export class Lab {
  /** In memory where there is such a place: what is killed is a process, never the kernel. */
  readonly folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "torture-"));
  readonly #program: string;
  #files = 0;

  constructor() {
    const config = join(this.folder, "tsconfig.json");
    const compilerOptions = {
      noEmit: false,
      rootDir: root,
      outDir: join(this.folder, "compiled"),
      typeRoots: [join(root, "node_modules/@types")],
    };
    const include = [join(root, "scripts/torture/child.ts")];
    writeFileSync(config, JSON.stringify({ extends: join(root, "tsconfig.json"), compilerOptions, include }));
    execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", config]);
    writeFileSync(join(this.folder, "package.json"), '{"type":"module"}');
    this.#program = join(this.folder, "compiled/scripts/torture/child.js");
  }

  /** The path of a file that is not there yet. */
  file(): string {
    this.#files += 1;
    return join(this.folder, `${this.#files}.json`);
  }

  /** The command line of the tortured program. */
  command(role: "write" | "session" | "fold" | "hold", files: readonly string[]): string[] {
    return [process.execPath, this.#program, role, ...files];
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A process whose lines are gathered. */
export class Child {
  readonly process: ChildProcessWithoutNullStreams;
  readonly ended: Promise<number | null>;
  #output = "";
  #waiting: (() => void)[] = [];

  constructor([program = "", ...args]: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.process = spawn(program, args, { env: { ...process.env, ...env } });
    this.process.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.#output += text;
      for (const wake of this.#waiting.splice(0)) wake();
    });
    this.process.stderr.pipe(process.stderr);
    this.ended = new Promise((resolve) => {
      this.process.on("close", (code) => {
        resolve(code);
        for (const wake of this.#waiting.splice(0)) wake();
      });
    });
  }

  get lines(): readonly string[] {
    return this.#output.split("\n").slice(0, -1);
  }

  /** Waits for the first line, or the end. */
  async firstLine(): Promise<string | undefined> {
    while (this.lines.length === 0 && this.process.exitCode === null && this.process.signalCode === null)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.lines[0];
  }

  async kill(): Promise<void> {
    this.process.kill("SIGKILL");
    await this.ended;
  }
}

export const isInstalled = (program: string): boolean => spawnSync(program, ["-V"]).status === 0;
