// Makes dist, the package that users install: JavaScript in a few files, because a start that reads two hundred modules
// spends most of its time on reading them, and the types that the public ones lead to. What is needed only here stays here.
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

rmSync("dist", { recursive: true, force: true });

// White space goes, names stay: the package is small and a stack still tells something.
const form = { platform: "node", target: "node20.19", format: "esm", minifyWhitespace: true } as const;
const split = { bundle: true, splitting: true, chunkNames: "[name]-[hash]" };
await build({ entryPoints: ["src/bin.ts", "src/index.ts"], outdir: "dist", ...form, ...split });
copyFileSync("src/require.cts", "dist/require.cjs");
chmodSync("dist/bin.js", 0o755);

const args = ["node_modules/typescript/bin/tsc", "-p", "scripts/tsconfig.build.json"];
execFileSync(process.execPath, args, { stdio: "inherit" });
// The declarations that a reader of the first can come to.
const public_ = new Set([join("dist", "index.d.ts")]);
for (const file of public_)
  for (const [, target = ""] of readFileSync(file, "utf8").matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g))
    public_.add(join(file, "..", target.replace(/\.(ts|js)$/, ".d.ts")));
for (const name of readdirSync("dist", { recursive: true, encoding: "utf8" }))
  if (/\.d\.c?ts$/.test(name) && !public_.has(join("dist", name))) rmSync(join("dist", name));
