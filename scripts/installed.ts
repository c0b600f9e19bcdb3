// Packages that scripts compare or check with: installed into the temporary folder, in fixed versions, and left there for
// the next time; nothing of them ever stands in this repository's own dependencies.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Answers the folder that holds them. */
export function installed(dependencies: Readonly<Record<string, string>>): string {
  const names = Object.entries(dependencies).map((each) => each.join("-").replaceAll("/", "-"));
  const folder = join(tmpdir(), `installed-${names.join("-")}`);
  if (existsSync(join(folder, "node_modules/.package-lock.json"))) return folder;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies }));
  const args = ["install", "--silent", "--no-audit", "--no-fund"];
  execFileSync("npm", args, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  return folder;
}
