// Installs packages that the scripts compare with or check with, in fixed versions. They go to the temporary folder and
// stay there for the next run; they are never dependencies of this repository.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Returns the folder with the packages; each argument is a name and a version. */
export function installed(...packages: readonly string[]): string {
  const folder = join(tmpdir(), `installed-${packages.join("-").replaceAll("/", "-")}`);
  const args = [
    "install",
    "--silent",
    "--no-audit",
    "--no-fund",
    "--no-save",
    "--prefix",
    folder,
    ...packages,
  ];
  const isThere = existsSync(join(folder, "node_modules/.package-lock.json"));
  if (!isThere) execFileSync("npm", args, { stdio: ["ignore", "ignore", "inherit"] });
  return folder;
}
