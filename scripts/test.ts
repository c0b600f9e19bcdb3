// `npm test [-- --only PLACE] [--name TEXT]`: runs the tests and prints a line for each folder, and for each failure the
// command that runs that test alone. Most files of a folder share one process, because loading the sources takes longer
// than most of their tests. Each file is a suite there, with its own hooks.
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
/** Later failures are only listed, so that one screen shows them all. */
const EXPLAINED_MAX = 3;
/** What takes longest starts first, so that all cores are busy to the end. */
const FIRST = ["browser", "scripts", "choices", "package", "stores"];
/** These files share no process: they are long, or count what is left in theirs. */
const ALONE = ["browser/look", "scripts", "package", "stores/torture", "embedding/life", "clients"];
const NOT_SELECTED = "test name does not match pattern";

/** A folder, or "test" for the files beside the folders. */
const toFolder = (file: string): string => dirname(file).replace(".", "test");

const [{ only = "", name = "" }, misused] = parseOptions("test -- [options]", {
  only: textOption("PLACE", "a folder or file of test, such as browser or units/data"),
  name: textOption("TEXT", "only tests whose name contains this text"),
});

const folders = readdirSync("test", { withFileTypes: true }).filter((each) => each.isDirectory());
const files = [...folders.map((folder) => folder.name), "."].flatMap((folder) =>
  readdirSync(join("test", folder))
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => join(folder, file.replace(".test.ts", ""))),
);
const startsWith = (start: string) => (file: string) => `${file}/`.startsWith(start);
const ordered = [...FIRST, ""].flatMap((start) => files.filter(startsWith(start)));
// The place of a failure, such as test/units/data.test.ts:5, stands for its file.
const place = only.replace(/^test\/|(\.test\.ts)?(:\d+)?$/g, "");
const selected = new Set(ordered.filter(startsWith(place)));
if (selected.size === 0) misused(`There is no test/${place}.`);

/** The files of each process, by the path of the module that loads them. */
const groups = new Map<string, string[]>();
const entries = mkdtempSync(join(tmpdir(), "tests-"));
process.on("exit", () => rmSync(entries, { recursive: true }));
const toUrl = (file: string) => JSON.stringify(pathToFileURL(join("test", file)).href);
for (const file of selected) {
  const isAlone = ALONE.some((start) => startsWith(start)(file));
  const group = isAlone ? file : toFolder(file);
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
let failures = 0;

function printFailure(test: string, error: Error) {
  const { message, stack = "" } = error.cause instanceof Error ? error.cause : error;
  const [at = file] = /test\/[\w/.-]+\.test\.ts:\d+/.exec(stack) ?? [];
  failures += 1;
  const text = test === file ? `${message}\n${stderr}` : message;
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  console.log(`${styleText("red", "✖")} ${test} ${styleText("dim", at)}`);
  if (failures > EXPLAINED_MAX) return;
  for (const line of lines.slice(0, LINES_MAX)) console.log(`    ${line.slice(0, 200)}`);
  const alone = test === file ? "" : ` --name ${toShell(test)}`;
  console.log(`  Run it alone: npm test -- --only ${file}${alone}`);
}

/** The results of each folder that has not been printed. */
const results = new Map(
  [...selected].map((file) => {
    const folder = toFolder(file);
    const left = [...selected].filter((each) => toFolder(each) === folder).length;
    return [folder, { left, passed: 0, failed: 0, ms: 0, skips: new Map<string, number>() }];
  }),
);
let total = 0;

function printFolders(isEnd: boolean) {
  for (const [folder, { left, passed, failed, ms, skips }] of results) {
    if (left > 0 && !isEnd) continue;
    results.delete(folder);
    if (passed + failed + skips.size === 0) continue;
    const counts = [`${passed} passed`];
    if (failed > 0) counts.push(`${failed} failed`);
    for (const [reason, count] of skips) counts.push(`${count} skipped: ${reason}`);
    const sign = failed > 0 ? styleText("red", "✖") : styleText("green", "✔");
    const seconds = (ms / 1_000).toFixed(0).padStart(3);
    console.log(`${sign} ${folder.padEnd(10)} ${seconds} s  ${counts.join(", ")}`);
    total += passed + failed;
  }
}

const events = run({
  files: [...groups.keys()],
  concurrency: AT_ONCE,
  timeout: TIMEOUT_MS,
  ...(name !== "" && { testNamePatterns: [new RegExp(toPattern(name))] }),
});
/** The file whose results arrive. */
let file = "";
for await (const { type, data } of events) {
  if (type === "test:start" && data.nesting === 0) {
    const next = groups.get(data.name)?.[0] ?? data.name;
    // A process may still fail after its last file.
    if (toFolder(next) !== toFolder(file)) printFolders(false);
    file = next;
  }
  if (type === "test:stderr") stderr = data.message;
  const result = results.get(toFolder(file));
  if (result === undefined || (type !== "test:pass" && type !== "test:fail")) continue;
  if (data.nesting === 0) {
    result.left -= 1;
    result.ms += data.details.duration_ms;
  }
  if (type === "test:fail" && data.details.error.failureType !== "subtestsFailed") {
    result.failed += 1;
    printFailure(data.nesting === 0 ? file : data.name, data.details.error);
  }
  if (type === "test:fail" || data.details.type === "suite") continue;
  if (data.skip === undefined) result.passed += 1;
  else if (data.skip !== NOT_SELECTED)
    result.skips.set(String(data.skip), (result.skips.get(String(data.skip)) ?? 0) + 1);
}
printFolders(true);
if (total === 0) console.log("No test ran.");
process.exitCode = failures > 0 || total === 0 ? 1 : 0;
