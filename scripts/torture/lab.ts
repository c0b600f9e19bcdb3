// Shared setup of the torture tests: a folder, and the tortured program compiled once, so that each start costs only
// node's own.
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { type Ended, started } from "../../test/support/process.ts";

export class Lab {
  /** In memory if possible: the tests kill processes, never the kernel. */
  readonly folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "torture-"));
  readonly #program = join(this.folder, "child.mjs");
  #files = 0;

  constructor() {
    buildSync({
      entryPoints: [fileURLToPath(new URL("child.ts", import.meta.url))],
      outfile: this.#program,
      bundle: true,
      platform: "node",
      format: "esm",
    });
  }

  /** The path of a new file. */
  file = (): string => join(this.folder, `${this.#files++}.json`);

  /** Starts the tortured program; `flags` are node's. */
  child(role: string, files: readonly string[], flags: readonly string[] = [], env = {}) {
    const child = started([...flags, this.#program, role, ...files], env);
    child.child.stderr.on("data", (why) => process.stderr.write(why));
    return child;
  }

  [Symbol.dispose]() {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The output lines of the tortured program. */
export const linesOf = ({ stdout }: Ended): string[] => stdout.split("\n").slice(0, -1);

/** Copies both files of a store. */
export function copy(from: string, to: string) {
  for (const end of ["", ".journal"]) copyFileSync(`${from}${end}`, `${to}${end}`);
  return to;
}
