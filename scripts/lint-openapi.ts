// Lints the OpenAPI documents of a running server, for the REST API and for the test controls. It uses Redocly's
// recommended rules and Spectral's, and exits with 1 on any warning.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startService } from "../src/index.ts";
import { installed } from "./installed.ts";

const cwd = installed("@redocly/cli@2.77.0", "@stoplight/spectral-cli@6.16.3");
writeFileSync(join(cwd, ".spectral.yaml"), 'extends: ["spectral:oas"]\n');
const lint = (...args: string[]) => spawnSync("npx", args, { cwd, encoding: "utf8" });
await using service = await startService({ control: true });
let isClean = true;
for (const [path, file] of [
  ["/openapi.json", "openapi.json"],
  ["/_control/openapi.json", "control.json"],
] as const) {
  const document = await (await fetch(service.authUrl + path)).json();
  writeFileSync(join(cwd, file), JSON.stringify(document, null, 2));
  // The server runs on this machine.
  const redocly = lint(
    "redocly",
    "lint",
    "--skip-rule",
    "no-server-example.com",
    "--format",
    "json",
    file,
  );
  const { errors, warnings } = JSON.parse(redocly.stdout).totals;
  const spectral = lint("spectral", "lint", "--fail-severity", "hint", file);
  console.log(
    `${path}\nRedocly: ${errors} errors, ${warnings} warnings\nSpectral: ${spectral.stdout.trim()}`,
  );
  isClean &&= errors + warnings === 0 && spectral.status === 0;
}
process.exitCode = isClean ? 0 : 1;
