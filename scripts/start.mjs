// `npm start` bundles the sources and runs the bundle, because loading the modules one by one would take most of the
// start. File names carry content hashes: an existing file is complete, and several starts may run at once.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { buildSync } from "esbuild";

/**
 * The parent process and, if it is the shell of an npm script, its parent, which is npm. Read from /proc, so Linux
 * only.
 */
function parents() {
  const stat = `/proc/${process.ppid}/stat`;
  const [, npm] =
    /\((?:sh|dash|ash|bash|busybox)\) . (\d+)/.exec(
      existsSync(stat) ? readFileSync(stat, "utf8") : "",
    ) ?? [];
  return `${process.ppid} ${npm}`;
}

/** npm may be killed before it forwards a signal. The server then stops as if it had received SIGTERM. */
const atStart = parents();
if (process.env.npm_execpath)
  setInterval(() => parents() !== atStart && process.emit("SIGTERM", "SIGTERM"), 500).unref();

const root = fileURLToPath(new URL("..", import.meta.url));
const outdir = join(root, "node_modules/.cache/app-hosting-service");
const { outputFiles } = buildSync({
  entryPoints: [join(root, "src/bin.ts")],
  outdir,
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  platform: "node",
  format: "esm",
  write: false,
  sourcemap: "inline",
  sourcesContent: false,
});
mkdirSync(outdir, { recursive: true });
for (const { path, contents } of outputFiles) {
  if (existsSync(path)) continue;
  writeFileSync(`${path}.${process.pid}`, contents);
  renameSync(`${path}.${process.pid}`, path);
}
const { path } = outputFiles.find((file) => basename(file.path).startsWith("bin-"));
await import(pathToFileURL(path).href);
