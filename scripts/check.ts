// `npm run check`: types, lint and the tests with their coverage, side by side. Each gets one line; what a failed one
// printed follows, shortened, with the command that repeats it alone. Arguments are those of npm test.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { styleText } from "node:util";

const LINES_MAX = 20;
const CHECKS = {
  types: "npx tsc -p .",
  lint: "npx biome ci . --colors=off",
  tests: `npx c8 npm test --silent -- ${process.argv.slice(2).join(" ")}`,
} as const;

async function check([name, command]: readonly [string, string]) {
  const startedAt = performance.now();
  const child = spawn(`${command} 2>&1`, { shell: true, stdio: ["ignore", "pipe", "inherit"] });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  const sign = code === 0 ? styleText("green", "✔") : styleText("red", "✖");
  console.log(`${sign} ${name.padEnd(6)} ${seconds} s  ${code === 0 ? "" : command}`);
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  const shown = code === 0 ? [] : lines.slice(0, LINES_MAX);
  const left = lines.length - shown.length;
  if (code !== 0 && left > 0) shown.push(`… ${left} more lines`);
  for (const line of shown) console.log(`    ${line}`);
  return code === 0;
}

const results = await Promise.all(Object.entries(CHECKS).map(check));
process.exitCode = results.every(Boolean) ? 0 : 1;
