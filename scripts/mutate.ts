// `npm run mutate`: changes one line of src at a time and reports the changes that no test detects. Each is a missing
// test or an unnecessary line. The test files that execute the line run, the fastest first; a mutant that hangs counts
// as detected. Test files that fail without a change are left out and named. Changes that leave the JavaScript the same
// (types, comments) do not count. On a busy machine tests fail by themselves, and the detection rate looks too high.
import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { transformSync } from "esbuild";
import { sourcesIn } from "../test/support/sources.ts";
import { COUNT, parseOptions, textOption } from "./arguments.ts";
import { changesOf } from "./mutate/changes.ts";
import { measure, passes } from "./mutate/runs.ts";
import { pool } from "./pool.ts";

const AT_ONCE = 2;
const [{ rooms = "store,delivery,domain,lib", sample = "60", seed = "1" }, wrong] = parseOptions(
  "mutate -- [options]",
  {
    rooms: textOption("LIST", "folders or files of src, or . for all (store,delivery,domain,lib)"),
    sample: textOption("N", "so many lines of each (60)", COUNT),
    seed: textOption("TEXT", "another text chooses other lines and changes (1)"),
  },
);

/** Transpiles to JavaScript; undefined on a syntax error. */
function toJavaScript(text: string): string | undefined {
  try {
    return transformSync(text, { loader: "ts", logLevel: "silent" }).code;
  } catch {
    return undefined;
  }
}

/** Draws one change for each of some lines of a folder or file, in an order determined by the seed. */
function* mutantsOf(room: string) {
  const files = sourcesIn("src").filter(({ path }) =>
    [`src/${room}.ts`, join("src", room, "/")].some((start) => path.startsWith(start)),
  );
  const drawn = files
    .flatMap(({ path, text }) =>
      changesOf(text).map((change) => ({
        ...change,
        path,
        original: text,
        lot: hash("sha256", `${seed} ${path} ${change.line} ${change.is}`),
      })),
    )
    .sort((a, b) => (a.lot < b.lot ? -1 : 1));
  const lines = new Set<string>();
  for (const { path, original, line, was, is } of drawn) {
    const text = original
      .split("\n")
      .with(line - 1, is)
      .join("\n");
    if (lines.size >= Number(sample)) return;
    if (lines.has(`${path}:${line}`)) continue;
    if ([undefined, toJavaScript(original)].includes(toJavaScript(text))) continue;
    lines.add(`${path}:${line}`);
    yield { room, path, line, was, is, text };
  }
}

type Mutant = ReturnType<typeof mutantsOf> extends Iterable<infer M> ? M : never;

const names = rooms.split(",");
for (const name of names)
  if (![`src/${name}`, `src/${name}.ts`].some((path) => existsSync(path)))
    wrong(`There is no src/${name}.`);
const mutants = names.flatMap((name) => [...mutantsOf(name)]);
const files = sourcesIn("test").filter(({ path }) => path.endsWith(".test.ts"));
const tests = (await pool(AT_ONCE, files, ({ path }) => measure(path))).sort(
  (a, b) => a.took_ms - b.took_ms,
);
for (const { path, passed } of tests)
  if (!passed) console.log(`left out, it fails unchanged: ${path}`);

/** Runs the tests of the line; returns the mutant if none detects it. */
async function findSurvivor(mutant: Mutant) {
  const { path, line } = mutant;
  for (const test of tests)
    if (test.passed && test.lines.has(`${path}:${line}`) && !(await passes(test, mutant)))
      return undefined;
  console.log(`survived: ${path}:${line}\n  - ${mutant.was.trim()}\n  + ${mutant.is.trim()}`);
  return mutant;
}

const survivors = (await pool(AT_ONCE, mutants, findSurvivor)).filter((one) => one !== undefined);
for (const name of [...names, ""]) {
  const [left, all] = [survivors, mutants].map(
    (list) => list.filter(({ room }) => name === "" || room === name).length,
  );
  const share = ((100 * Number(left)) / Number(all)).toFixed(1);
  console.log(`${name || "all"}: ${left} of ${all} survived, ${share} %`);
}
