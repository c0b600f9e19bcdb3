// `npm run build [FOLDER]`: builds dist, the package that users install. All code is bundled into one CommonJS file,
// because loading two hundred modules would dominate the start. Pages and other lazy code are evaluated at their first
// use. The ESM entry re-exports that file, so that `import` and `require` share one copy of the state.
import { execFileSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { build, type Plugin } from "esbuild";

const folder = process.argv[2] ?? "dist";
const inFolder = (name: string) => join(folder, name);

rmSync(folder, { recursive: true, force: true });

/** Removes whitespace but keeps names: the package is small, and stack traces stay readable. */
const OUTPUT = { bundle: true, platform: "node", format: "cjs", minifyWhitespace: true } as const;
const ENTRY = 'export * from "./src/index.ts"; export { main } from "./src/cli.ts";';
const code = inFolder("service.js");
await build({
  stdin: { contents: ENTRY, resolveDir: ".", loader: "ts" },
  outfile: code,
  target: "node20.19",
  ...OUTPUT,
});

/** The command loads the same file after a check of the Node version, in syntax that old versions can parse. */
const cliInService: Plugin = {
  name: "cli-in-service",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\.\/cli\.ts$/ }, () => ({ path: "./service.js", external: true })),
};
const bin = inFolder("bin.js");
await build({
  entryPoints: ["src/bin.ts"],
  outfile: bin,
  target: "es2015",
  supported: { "dynamic-import": false },
  plugins: [cliInService],
  ...OUTPUT,
});
chmodSync(bin, 0o755);

const { main: _, ...exported } = createRequire(import.meta.url)(resolve(code));
const names = Object.keys(exported).join(", ");
const files = {
  // The package is ESM; this folder is CommonJS.
  "package.json": '{ "type": "commonjs" }',
  "index.js": `"use strict";\nconst { ${names} } = require("./service.js");\nmodule.exports = { ${names} };`,
  "index.mjs": `import service from "./index.js";\nexport const { ${names} } = service;`,
  "index.d.mts": 'export * from "./index.js";',
};
for (const [name, text] of Object.entries(files)) writeFileSync(inFolder(name), `${text}\n`);

const tsc = [
  "node_modules/typescript/bin/tsc",
  "-p",
  "scripts/tsconfig.build.json",
  "--outDir",
  folder,
];
execFileSync(process.execPath, tsc, { stdio: "inherit" });
/** The declarations that the index references; all others are removed. */
const published = new Set([inFolder("index.d.mts"), inFolder("index.d.ts")]);
for (const file of published)
  for (const [, target = ""] of readFileSync(file, "utf8").matchAll(
    /(?:from|import\()\s*"(\.[^"]+)"/g,
  ))
    published.add(join(file, "..", target.replace(/\.(ts|js)$/, ".d.ts")));
for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }))
  if (/\.d\.ts$/.test(name) && !published.has(inFolder(name))) rmSync(inFolder(name));
