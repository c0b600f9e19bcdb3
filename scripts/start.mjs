// `npm start` bundles the sources and runs that, since a loader that transforms one module after the other takes most of a
// start. The names carry hashes of what the files hold: one that is there is whole, and several may start at once.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { buildSync } from "esbuild";

/** The parent, and where that is the shell in which npm runs a script also its parent: npm (Linux tells that). */
function parents() {
  const stat = `/proc/${process.ppid}/stat`;
  const [, npm] =
    /\((?:sh|dash|ash|bash|busybox)\) . (\d+)/.exec(
      existsSync(stat) ? readFileSync(stat, "utf8") : "",
    ) ?? [];
  return `${process.ppid} ${npm}`;
}

/** npm may be killed before it passes a signal on: the server then stops as if it had received one. */
const atStart = parents();
if (process.env.npm_execpath)
  setInterval(() => parents() !== atStart && process.emit("SIGTERM", "SIGTERM"), 500).unref();

const root = fileURLToPath(new URL("..", import.meta.url));
const outdir = join(root, "node_modules/.cache/app-hosting-service");
const names = { outdir, entryNames: "[name]-[hash]", chunkNames: "[name]-[hash]" };
const form = { bundle: true, splitting: true, platform: "node", format: "esm" };
const told = { write: false, sourcemap: "inline", sourcesContent: false };
const { outputFiles } = buildSync({
  entryPoints: [join(root, "src/bin.ts")],
  ...names,
  ...form,
  ...told,
});
mkdirSync(outdir, { recursive: true });
for (const { path, contents } of outputFiles) {
  if (existsSync(path)) continue;
  writeFileSync(`${path}.${process.pid}`, contents);
  renameSync(`${path}.${process.pid}`, path);
}
const { path } = outputFiles.find((file) => basename(file.path).startsWith("bin-"));
await import(pathToFileURL(path).href);
