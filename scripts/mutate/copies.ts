// Copies of the repository in which a line can be changed without touching the work tree. They hold JavaScript under the
// names of the sources, so that nothing is transpiled twice, and in place of `tsx` a hook that says what they hold.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";

export interface Script {
  /** From the root, with slashes: src/kit/ids.ts. */
  readonly path: string;
  readonly code: string;
  /** The line of the source, from 1, that a line of the code, from 0, was made of. */
  readonly sourceLine: (line: number) => number;
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const LEFT_OUT = ["node_modules", "dist", "coverage", ".git"];
const HOOK = `export const load = (url, context, next) =>
  next(url, url.endsWith(".ts") ? { ...context, format: "module" } : context);`;
const TSX = `import { register } from "node:module";
register("data:text/javascript," + encodeURIComponent(${JSON.stringify(HOOK)}));`;

/** Everything that is written on the way, and gone at the end. */
export const scratch = mkdtempSync(join(tmpdir(), "mutate-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

/** So many copies, and the scripts that all of them hold. */
export function makeCopies(count: number) {
  const folders = Array.from({ length: count }, (_, at) => join(scratch, String(at)));
  const [first = ""] = folders;
  cpSync(ROOT, first, { recursive: true, filter: (path) => !LEFT_OUT.includes(basename(path)) });
  const scripts = readdirSync(first, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => transpile(first, name.replaceAll("\\", "/")));
  const modules = join(first, "node_modules");
  mkdirSync(join(modules, "tsx"), { recursive: true });
  writeFileSync(join(modules, "tsx/package.json"), '{"type": "module", "exports": "./index.js"}');
  writeFileSync(join(modules, "tsx/index.js"), TSX);
  for (const name of readdirSync(join(ROOT, "node_modules")))
    if (name !== "tsx") symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  for (const folder of folders.slice(1)) cpSync(first, folder, { recursive: true, verbatimSymlinks: true });
  return { folders, scripts };
}

/** Without templates every expression of the code stands in the open. */
function transpile(folder: string, path: string): Script {
  const file = join(folder, path);
  const options = { loader: "ts", format: "esm", target: "node20", sourcemap: "external" } as const;
  const supported = { "template-literal": false };
  const { code, map } = transformSync(readFileSync(file, "utf8"), { ...options, supported });
  writeFileSync(file, code);
  const lines = code.split("\n");
  const origins = new SourceMap(JSON.parse(map));
  const sourceLine = (line: number) => {
    const origin = origins.findEntry(line, lines[line]?.search(/\S/) ?? 0);
    return "originalLine" in origin ? origin.originalLine + 1 : 0;
  };
  return { path, code, sourceLine };
}
