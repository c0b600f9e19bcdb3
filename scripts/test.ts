// `npm test [-- --only PLACE] [--name TEXT]`: runs the tests and prints a line for each folder, and for each failure the
// command that runs that test alone. The files of some folders share one process, because loading the sources takes
// longer than most of their tests. Each file is a suite there, with its own hooks.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { run } from "node:test";
import { pathToFileURL } from "node:url";
import { styleText } from "node:util";
import { parseOptions, textOption } from "./arguments.ts";

const AT_ONCE = Math.max(4, availableParallelism());
/** For a whole process, on a busy machine. */
const TIMEOUT_MS = 900_000;
const LINES_MAX = 8;
/** Folders whose files run in one process, the slowest first. */
const SHARED = ["choices", "units", "spec"];
const NOT_SELECTED = "test name does not match pattern";

const [{ only = "", name = "" }, misused] = parseOptions("test -- [options]", {
  only: textOption("PLACE", "a folder or file of test, such as browser or units/data"),
  name: textOption("TEXT", "only tests whose name contains this text"),
});

const folders = readdirSync("test", { withFileTypes: true }).filter((each) => each.isDirectory());
const files = [...SHARED, ...folders.map((folder) => folder.name), "."].flatMap((folder) =>
  readdirSync(join("test", folder))
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => join(folder, file.replace(".test.ts", ""))),
);
const selected = new Set(files.filter((file) => `${file}/`.startsWith(only)));
if (selected.size === 0) misused(`There is no test/${only}.`);

/** The files of each process, by the path of the module that loads them. */
const groups = new Map<string, string[]>();
const entries = mkdtempSync(join(tmpdir(), "tests-"));
process.on("exit", () => rmSync(entries, { recursive: true }));
const toUrl = (file: string) => JSON.stringify(pathToFileURL(join("test", file)).href);
for (const file of selected) {
  const group = SHARED.find((folder) => folder === dirname(file)) ?? file;
  const path = join(entries, `${group.replace("/", "-")}.mjs`);
  groups.set(path, [...(groups.get(path) ?? []), file]);
}
for (const [path, group] of groups) {
  const suites = group.map(
    (file) => `suite("${file}", () => import(${toUrl(`${file}.test.ts`)}));`,
  );
  // The hooks belong to the process, not to the first suite. Node takes an early `process.exit(0)` for a success.
  const head = `import { after, suite } from "node:test";
import ${toUrl("support/closing.ts")};
let isComplete = false;
after(() => (isComplete = true));
process.on("exit", (code) => {
  if (code !== 0 || isComplete) return;
  process.exitCode = 1;
  console.error("The process ended before its last test.");
});
`;
  writeFileSync(path, head + suites.join("\n"));
}

const toPattern = (text: string) => text.replace(/[^\w\s]/g, "\\$&");
const toShell = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** What the process being reported wrote to stderr: the reason if it crashed. */
let stderr = "";

function printFailure(test: string, error: Error): void {
  const { message, stack = "" } = error.cause instanceof Error ? error.cause : error;
  const [at = ""] = /test\/[\w/.-]+\.test\.ts:\d+/.exec(stack) ?? [];
  const text = test === file ? `${message}\n${stderr}` : message;
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  console.log(`${styleText("red", "✖")} ${test} ${styleText("dim", at)}`);
  for (const line of lines.slice(0, LINES_MAX)) console.log(`    ${line.slice(0, 200)}`);
  const alone = test === file ? "" : ` --name ${toShell(test)}`;
  console.log(`  Run it alone: npm test -- --only ${file}${alone}`);
}

/** The file and the folder whose results arrive; they are reported one after the other. */
let [file, folder] = ["", ""];
let [passed, failed, startedAt] = [0, 0, performance.now()];
/** How many tests were skipped for each reason. */
const skips = new Map<string, number>();
let [total, isFailed] = [0, false];

function printFolder(): void {
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
  const counts = [`${passed} passed`];
  if (failed > 0) counts.push(`${failed} failed`);
  for (const [reason, count] of skips) counts.push(`${count} skipped: ${reason}`);
  const sign = failed > 0 ? styleText("red", "✖") : styleText("green", "✔");
  console.log(`${sign} ${folder.padEnd(10)} ${seconds.padStart(3)} s  ${counts.join(", ")}`);
  total += passed + failed;
  isFailed ||= failed > 0;
  [passed, failed, startedAt] = [0, 0, performance.now()];
  skips.clear();
}

const events = run({
  files: [...groups.keys()],
  concurrency: AT_ONCE,
  timeout: TIMEOUT_MS,
  ...(name !== "" && { testNamePatterns: [new RegExp(toPattern(name))] }),
});
for await (const { type, data } of events) {
  if (type === "test:start" && data.nesting === 0) {
    file = groups.get(data.name)?.[0] ?? data.name;
    const next = dirname(file).replace(".", "test");
    if (next !== folder && folder !== "") printFolder();
    folder = next;
  }
  if (type === "test:stderr") stderr = data.message;
  if (type === "test:pass" && data.details.type !== "suite") {
    if (data.skip === undefined) passed += 1;
    else if (data.skip !== NOT_SELECTED)
      skips.set(String(data.skip), (skips.get(String(data.skip)) ?? 0) + 1);
  }
  if (type === "test:fail" && data.details.error.failureType !== "subtestsFailed") {
    failed += 1;
    printFailure(data.nesting === 0 ? file : data.name, data.details.error);
  }
}
printFolder();
if (total === 0) console.log("No test ran.");
process.exitCode = isFailed || total === 0 ? 1 : 0;
