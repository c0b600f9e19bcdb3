// Makes dist, the package that users install: JavaScript in a few files, because a start that reads two hundred modules
// spends most of its time on reading them, and the types that the public ones lead to. What is needed only here stays here.
import { spawnSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "dist");
const common = { outdir: dist, platform: "node", target: "node20.19", minifyWhitespace: true } as const;

/** White space goes, names stay: the package is small and a stack still tells something. */
async function code(): Promise<void> {
  const entryPoints = [join(root, "src/bin.ts"), join(root, "src/index.ts")];
  const split = { bundle: true, splitting: true, format: "esm", chunkNames: "[name]-[hash]" } as const;
  await build({ ...common, ...split, entryPoints });
  const refusing = [{ in: join(root, "src/require.cts"), out: "require" }];
  await build({ ...common, entryPoints: refusing, format: "cjs", outExtension: { ".js": ".cjs" } });
  chmodSync(join(dist, "bin.js"), 0o755);
}

function types(): void {
  const args = [join(root, "node_modules/typescript/bin/tsc"), "-p", join(root, "scripts/tsconfig.build.json")];
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
  const public_ = reachable(join(dist, "index.d.ts"));
  for (const name of readdirSync(dist, { recursive: true, encoding: "utf8" }))
    if (/\.d\.c?ts$/.test(name) && !public_.has(join(dist, name))) rmSync(join(dist, name));
}

/** The declarations that a reader of this one can come to. */
function reachable(file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const [, target = ""] of readFileSync(file, "utf8").matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g))
    reachable(join(dirname(file), target.replace(/\.(ts|js)$/, ".d.ts")), seen);
  return seen;
}

rmSync(dist, { recursive: true, force: true });
await code();
types();
