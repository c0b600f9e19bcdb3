// `npm run check`: types, lint and the tests with their coverage, side by side. Each gets one line; after a failure the
// command to continue with and what it printed follow, on one screen.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { styleText } from "node:util";
import { parseOptions } from "./arguments.ts";

parseOptions("check", {});

const LINES_MAX = 50;
/** The command of each check, and the one to continue with if it fails; by default the same. */
const CHECKS = {
  types: ["npx tsc -p ."],
  lint: ["npx biome ci . --colors=off", "npx biome check --write ."],
  tests: ["npx c8 npm test --silent"],
};

async function check([name, [command, next = command]]: readonly [string, readonly string[]]) {
  const startedAt = performance.now();
  const child = spawn(`${command} 2>&1`, { shell: true, stdio: ["ignore", "pipe", "inherit"] });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  const title = `${name.padEnd(6)} ${seconds} s`;
  if (code === 0) {
    console.log(`${styleText("green", "✔")} ${title}`);
    return true;
  }
  console.log(`${styleText("red", "✖")} ${title}  ${next}`);
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  for (const line of lines.slice(0, LINES_MAX)) console.log(`    ${line}`);
  if (lines.length > LINES_MAX) console.log(`    … ${lines.length - LINES_MAX} more lines`);
  return false;
}

const results = await Promise.all(Object.entries(CHECKS).map(check));
process.exitCode = results.every(Boolean) ? 0 : 1;
