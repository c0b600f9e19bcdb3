// Has a stock OAuth client library walk the whole way against this server: discovery, code with PKCE, tokens, refresh,
// revocation, introspection. The library is installed into a temporary folder, pinned; the project itself needs none.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const LIBRARY = "oauth4webapi@3.8.8";

const folder = mkdtempSync(join(tmpdir(), "stock-client-"));
try {
  writeFileSync(join(folder, "package.json"), "{}");
  const installed = spawnSync("npm", ["install", "--no-save", LIBRARY], { cwd: folder, encoding: "utf8" });
  if (installed.status !== 0) throw new Error(`The library could not be installed: ${installed.stderr}`);
  const walk = fileURLToPath(new URL("stock-client/walk.mjs", import.meta.url));
  const env = { ...process.env, OAUTH_LIBRARY: join(folder, "node_modules/oauth4webapi/build/index.js") };
  const { status } = spawnSync(process.execPath, ["--import", "tsx", "--test", walk], { stdio: "inherit", env });
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true });
}
