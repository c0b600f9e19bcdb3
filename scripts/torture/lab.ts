// What the tortures share: a folder, and the tortured program compiled once, so that a start costs what node costs.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
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

  /** The tortured program, whose lines are gathered; `flags` of node. */
  child(
    role: "write" | "session" | "hold",
    files: readonly string[],
    flags: readonly string[] = [],
    env: NodeJS.ProcessEnv = {},
  ) {
    const args = [...flags, this.#program, role, ...files];
    const child = spawn(process.execPath, args, {
      env: { ...process.env, ...env },
      stdio: ["pipe", "pipe", "inherit"],
    });
    const lines: string[] = [];
    const reader = createInterface(child.stdout).on("line", (line) => lines.push(line));
    const ended = Promise.all([once(child, "close"), once(reader, "close")]);
    const kill = () => {
      child.kill("SIGKILL");
      return ended;
    };
    /** Nothing, where it ends without one. */
    const firstLine = Promise.race([once(reader, "line"), ended]).then(() => lines[0]);
    return { pid: child.pid, lines, firstLine, ended, kill };
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Both files of a store. */
export function copy(from: string, to: string): string {
  for (const end of ["", ".journal"]) copyFileSync(`${from}${end}`, `${to}${end}`);
  return to;
}
