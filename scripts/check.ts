// `npm run check`: types, lint and the tests with their coverage, side by side. Each gets one line; after a failure the
// command to continue with and what it printed follow, on one screen.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { styleText } from "node:util";

const LINES_MAX = 50;
/** The command of each check, and the one to continue with if it fails. */
const CHECKS = {
  types: ["npx tsc -p .", "npx tsc -p ."],
  lint: ["npx biome ci . --colors=off", "npx biome check --write ."],
  tests: ["npx c8 npm test --silent", "npm test"],
};

async function check([name, [command, next]]: readonly [string, readonly string[]]) {
  const startedAt = performance.now();
  const child = spawn(`${command} 2>&1`, { shell: true, stdio: ["ignore", "pipe", "inherit"] });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  const sign = code === 0 ? styleText("green", "✔") : styleText("red", "✖");
  console.log(`${sign} ${name.padEnd(6)} ${seconds} s  ${code === 0 ? "" : next}`);
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  const shown = code === 0 ? [] : lines.slice(0, LINES_MAX);
  const left = lines.length - shown.length;
  if (code !== 0 && left > 0) shown.push(`… ${left} more lines`);
  for (const line of shown) console.log(`    ${line}`);
  return code === 0;
}

const results = await Promise.all(Object.entries(CHECKS).map(check));
process.exitCode = results.every(Boolean) ? 0 : 1;
