// The one gate: types, lint and format, tests with a floor of coverage (.c8rc.json), and that a test holds each row of the register.
// Every step runs even when one before it failed, so that one run tells everything.
import { spawnSync } from "node:child_process";
import { styleText } from "node:util";

const steps: readonly (readonly [name: string, command: string, ...args: string[]])[] = [
  ["types", "npx", "tsc", "-p", "."],
  ["lint and format", "npx", "biome", "ci", "."],
  ["tests with coverage", "npx", "c8", "npm", "test", "--silent"],
  ["decisions", "node", "--import", "tsx", "scripts/decisions.ts"],
];

const failed: string[] = [];
for (const [name, command, ...args] of steps) {
  process.stdout.write(`${styleText("bold", `== ${name}`)}\n`);
  const { status } = spawnSync(command, args, { stdio: "inherit" });
  if (status !== 0) failed.push(name);
}
process.stdout.write(failed.length === 0 ? "All checks passed.\n" : `Failed: ${failed.join(", ")}.\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
