// Has third-party linters judge the OpenAPI document of a running server: Redocly's recommended rules and Spectral's. Ends
// with 1 on any warning.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startService } from "../src/index.ts";
import { installed } from "./installed.ts";

const cwd = installed("@redocly/cli@2.77.0", "@stoplight/spectral-cli@6.16.3");
await using service = await startService();
const document = await (await fetch(`${service.authUrl}/openapi.json`)).json();
writeFileSync(join(cwd, "openapi.json"), JSON.stringify(document, null, 2));
writeFileSync(join(cwd, ".spectral.yaml"), 'extends: ["spectral:oas"]\n');
const lint = (...args: string[]) => spawnSync("npx", args, { cwd, encoding: "utf8" });
const redocly = lint("redocly", "lint", "--format", "json", "openapi.json");
const { errors, warnings } = JSON.parse(redocly.stdout).totals;
const spectral = lint("spectral", "lint", "--fail-severity", "hint", "openapi.json");
console.log(`Redocly: ${errors} errors, ${warnings} warnings\nSpectral: ${spectral.stdout.trim()}`);
process.exitCode = errors + warnings === 0 && spectral.status === 0 ? 0 : 1;
