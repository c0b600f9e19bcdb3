// Packages that scripts compare or check with: installed into the temporary folder, in fixed versions, and left there for
// the next time; nothing of them ever stands in this repository's own dependencies.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Answers the folder that holds them; each is a name and a version. */
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
