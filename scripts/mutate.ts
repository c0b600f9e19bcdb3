// Mutation testing: changes one line of src at a time and reports the changes that no test notices. Each of them is a test
// that is missing or a line that is not needed.
// Of the test files that run the line those 20 are asked that run most of its file, so a survivor may still be noticed by
// another. A line that no test runs survives; one that hangs is noticed. Test files that fail where nothing is changed are left out and named.
// Types, comments and imports are not changed, nor is the store's exported suite: it is tests.
// A busy machine makes tests fail by themselves, and more seems to be noticed than is.
import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { transformSync } from "esbuild";
import { sourcesIn } from "../test/support/sources.ts";
import { COUNT, given, text } from "./arguments.ts";
import { changesOf } from "./mutate/changes.ts";
import { measured, passes, type Script, transpiled } from "./mutate/runs.ts";
import { pool } from "./pool.ts";

const AT_ONCE = 2;
const ASKED = 20;
const SUITE = /^src\/store\/contract\b/;
const [values, wrong] = given("mutate -- [options]", {
  rooms: text("LIST", "folders or files of src, with commas between them (store,delivery,domain,kit)"),
  sample: text("N", "so many lines of each (60)", COUNT),
  seed: text("TEXT", "another text chooses other lines and changes (1)"),
});
const { rooms: list = "store,delivery,domain,kit", sample = "60", seed = "1" } = values;
const rooms = list.split(",");
const missing = rooms.find((room) => !existsSync(`src/${room}`) && !existsSync(`src/${room}.ts`));
if (missing !== undefined) wrong(`There is no src/${missing}.`);

interface Mutant {
  readonly room: string;
  readonly script: Script;
  /** Where its line starts: what stands behind an operator may never be come to, and what is before it is. */
  readonly start: number;
  /** The whole script with its change. */
  readonly code: string;
}

/** In an order that the seed decides. */
function shuffled<T>(items: readonly T[], name: (item: T) => string): readonly T[] {
  const lot = (item: T) => hash("sha256", `${seed} ${name(item)}`);
  return [...items].sort((a, b) => (lot(a) < lot(b) ? -1 : 1));
}

/** Lines of the room, each with one change that parses. */
function mutantsOf(room: string): readonly Mutant[] {
  const lines = scripts
    .filter(({ path }) => (path.startsWith(`src/${room}/`) || path === `src/${room}.ts`) && !SUITE.test(path))
    .flatMap((script) => changesOf(script.code).map((line) => ({ script, ...line })));
  const mutants: Mutant[] = [];
  for (const { script, start, changes } of shuffled(lines, (line) => `${line.script.path} ${line.start}`)) {
    if (mutants.length >= Number(sample)) break;
    const code = shuffled(changes, ({ from, text }) => `${from} ${text}`)
      .map(({ from, to, text }) => script.code.slice(0, from) + text + script.code.slice(to))
      .find(parses);
    if (code !== undefined) mutants.push({ room, script, start, code });
  }
  return mutants;
}

function parses(code: string): boolean {
  try {
    return transformSync(code, { loader: "js", format: "esm", logLevel: "silent" }).code !== "";
  } catch {
    return false;
  }
}

/** The quickest first. */
function able({ script: { path }, start }: Mutant) {
  const those = tests.filter(({ passed, comesTo }) => passed && comesTo(path, start));
  const asked = those.sort((a, b) => b.share(path) - a.share(path)).slice(0, ASKED);
  return asked.sort((a, b) => a.took_ms - b.took_ms);
}

/** How a mutant that no test notices is shown. */
async function survivor(mutant: Mutant): Promise<string | undefined> {
  const { script, start, code } = mutant;
  const those = able(mutant);
  for (const test of those) if (!(await passes(test, script.path, code))) return undefined;
  const [was, is] = [script.code, code].map((text) => text.slice(start).split("\n")[0]);
  return `  ${script.path}${those.length > 0 ? "" : " (no test runs it)"}\n    - ${was}\n    + ${is}`;
}

const scripts = sourcesIn("src").map(({ path }) => transpiled(path));
const mutants = rooms.flatMap(mutantsOf);
const files = sourcesIn("test").filter(({ path }) => path.endsWith(".test.ts"));
const tests = await pool(AT_ONCE, files, ({ path }) => measured(path));
const survivors = await pool(AT_ONCE, mutants, survivor);

for (const { path, passed } of tests) if (!passed) console.log(`left out, it fails unchanged: ${path}`);
for (const room of [...rooms, "all"]) {
  const those = survivors.filter((_, at) => room === "all" || mutants[at]?.room === room);
  const left = those.filter((shown) => shown !== undefined);
  const share = ((100 * left.length) / those.length).toFixed(1);
  console.log(`\n${room}: ${left.length} of ${those.length} survived, ${share} %`);
  if (room !== "all") for (const shown of left) console.log(shown);
}
