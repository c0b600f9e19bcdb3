// Mutation testing: changes one line of src at a time and reports the changes that no test detects. Each is a missing
// test or an unnecessary line. All test files that execute the line run, the fastest first. A line that no test
// executes survives; a mutant that hangs counts as detected. Test files that fail without a change are skipped and
// named. Changes that leave the JavaScript the same (types, comments) do not count. On a busy machine tests fail by
// themselves, so the detection rate looks higher than it is.
import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { transformSync } from "esbuild";
import { type SourceFile, sourcesIn } from "../test/support/sources.ts";
import { COUNT, parseOptions, textOption } from "./arguments.ts";
import { changesOf } from "./mutate/changes.ts";
import { measured, passes } from "./mutate/runs.ts";
import { pool } from "./pool.ts";

const AT_ONCE = 2;
const [values, wrong] = parseOptions("mutate -- [options]", {
  rooms: textOption(
    "LIST",
    "folders or files of src, with commas between them (store,delivery,domain,lib)",
  ),
  sample: textOption("N", "so many lines of each (60)", COUNT),
  seed: textOption("TEXT", "another text chooses other lines and changes (1)"),
});
const { rooms: list = "store,delivery,domain,lib", sample = "60", seed = "1" } = values;
const rooms = list.split(",");
const missing = rooms.find((room) => !existsSync(`src/${room}`) && !existsSync(`src/${room}.ts`));
if (missing !== undefined) wrong(`There is no src/${missing}.`);

/** Shuffles the items in an order determined by the seed. */
function shuffled<T>(items: readonly T[], name: (item: T) => string): readonly T[] {
  const lot = (item: T) => hash("sha256", `${seed} ${name(item)}`);
  return [...items].sort((a, b) => (lot(a) < lot(b) ? -1 : 1));
}

/** Transpiles to JavaScript; undefined on a syntax error. */
function javaScript(text: string): string | undefined {
  try {
    return transformSync(text, { loader: "ts", logLevel: "silent" }).code;
  } catch {
    return undefined;
  }
}

/** A sample of mutants of a folder or file, each with the original line, its change and the whole changed file. */
function mutantsOf(room: string) {
  const isOf = ({ path }: SourceFile) =>
    path.startsWith(`src/${room}/`) || path === `src/${room}.ts`;
  const files = sourcesIn("src").filter((file) => isOf(file));
  const lines = files.flatMap(({ path, text }) =>
    changesOf(text).map((one) => ({ path, text, ...one })),
  );
  const mutants = [];
  for (const { path, text, line, was, changes } of shuffled(
    lines,
    ({ path, line }) => `${path} ${line}`,
  )) {
    if (mutants.length >= Number(sample)) break;
    const all = text.split("\n");
    const other = shuffled(changes, (is) => is).map((is) => ({
      is,
      text: all.with(line - 1, is).join("\n"),
    }));
    const unchanged = javaScript(text);
    const found = other.find(({ text }) => ![unchanged, undefined].includes(javaScript(text)));
    if (found !== undefined) mutants.push({ room, path, line, was, ...found });
  }
  return mutants;
}

/** Runs the tests and returns a description of the mutant if none detects it. */
async function survivor(mutant: ReturnType<typeof mutantsOf>[number]): Promise<string | undefined> {
  const { path, line, was, is } = mutant;
  const those = tests.filter(({ passed, lines }) => passed && lines.get(path)?.has(line));
  for (const test of those) if (!(await passes(test, mutant))) return undefined;
  return `  ${path}:${line}${those.length > 0 ? "" : " (no test runs it)"}\n    - ${was.trim()}\n    + ${is.trim()}`;
}

const mutants = rooms.flatMap(mutantsOf);
const files = sourcesIn("test").filter(({ path }) => path.endsWith(".test.ts"));
const tests = (await pool(AT_ONCE, files, ({ path }) => measured(path))).sort(
  (a, b) => a.took_ms - b.took_ms,
);
const survivors = await pool(AT_ONCE, mutants, survivor);

for (const { path, passed } of tests)
  if (!passed) console.log(`left out, it fails unchanged: ${path}`);
for (const room of [...rooms, "all"]) {
  const those = survivors.filter((_, at) => room === "all" || mutants[at]?.room === room);
  const left = those.filter((shown) => shown !== undefined);
  const share = ((100 * left.length) / those.length).toFixed(1);
  console.log(`\n${room}: ${left.length} of ${those.length} survived, ${share} %`);
  if (room !== "all") for (const shown of left) console.log(shown);
}
