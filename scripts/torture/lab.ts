// What the tortures share: a folder, and the tortured program compiled once, so that a start costs what node costs.
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { type Ended, started } from "../../test/support/process.ts";

export class Lab {
  /** In memory where there is such a place: what is killed is a process, never the kernel. */
  readonly folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "torture-"));
  readonly #program = join(this.folder, "child.mjs");
  #files = 0;

  constructor() {
    const entryPoints = [fileURLToPath(new URL("child.ts", import.meta.url))];
    buildSync({
      entryPoints,
      outfile: this.#program,
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node20",
    });
  }

  /** The path of a file that is not there yet. */
  file = (): string => join(this.folder, `${this.#files++}.json`);

  /** Starts the tortured program; `flags` of node. */
  child(
    role: "write" | "session" | "hold",
    files: readonly string[],
    flags: readonly string[] = [],
    env = {},
  ) {
    const child = started([...flags, this.#program, role, ...files], env);
    child.child.stderr.on("data", (why) => process.stderr.write(why));
    return child;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** What the tortured program has said in the end. */
export const linesOf = ({ stdout }: Ended): string[] => stdout.split("\n").slice(0, -1);

/** Both files of a store. */
export function copy(from: string, to: string): string {
  for (const end of ["", ".journal"]) copyFileSync(`${from}${end}`, `${to}${end}`);
  return to;
}
