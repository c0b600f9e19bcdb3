// Has third-party linters judge the OpenAPI document of a running server: Redocly's recommended rules and Spectral's.
// They are installed into a temporary folder, pinned, since the project itself needs none of them. Ends with 1 on any
// warning.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startService } from "../src/index.ts";

const LINTERS = ["@redocly/cli@2.77.0", "@stoplight/spectral-cli@6.16.3"];

await using service = await startService();
const document = await (await fetch(`${service.authUrl}/openapi.json`)).text();

const folder = mkdtempSync(join(tmpdir(), "lint-openapi-"));
const inFolder = (command: string, ...args: string[]) =>
  spawnSync(command, args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
try {
  writeFileSync(join(folder, "package.json"), "{}");
  writeFileSync(join(folder, "openapi.json"), JSON.stringify(JSON.parse(document), null, 2));
  writeFileSync(join(folder, ".spectral.yaml"), 'extends: ["spectral:oas"]\n');
  const installed = inFolder("npm", "install", "--no-save", ...LINTERS);
  if (installed.status !== 0) throw new Error(`The linters could not be installed: ${installed.stderr}`);
  const redocly = inFolder("npx", "redocly", "lint", "--format", "json", "openapi.json");
  const { totals } = JSON.parse(redocly.stdout);
  const spectral = inFolder("npx", "spectral", "lint", "--fail-severity", "hint", "openapi.json");
  process.stdout.write(
    `Redocly: ${totals.errors} errors, ${totals.warnings} warnings\nSpectral: ${spectral.stdout.trim()}\n`,
  );
  process.exitCode = totals.errors + totals.warnings === 0 && spectral.status === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}
