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
import { given, text, wrongUse } from "./arguments.ts";
import { changesOf } from "./mutate/changes.ts";
import { measured, passes, type Script, transpiled } from "./mutate/runs.ts";
import { pool } from "./pool.ts";

const USE = `Usage: npm run mutate -- [options]
  --rooms LIST   folders or files of src, with commas between them (store,delivery,domain,kit)
  --sample N     so many lines of each (60)
  --seed TEXT    another text chooses other lines and changes (1)`;
const AT_ONCE = 2;
const ASKED = 20;
const SUITE = /^src\/store\/contract\b/;
const options = { rooms: text, sample: text, seed: text };
const { rooms: list = "store,delivery,domain,kit", sample = "60", seed = "1" } = given(options, USE);
if (!(Number(sample) >= 1)) wrongUse("--sample must be a number from 1.", USE);
const rooms = list.split(",");
const missing = rooms.find((room) => !existsSync(`src/${room}`) && !existsSync(`src/${room}.ts`));
if (missing !== undefined) wrongUse(`There is no src/${missing}.`, USE);

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
  const drawn = items.map((item) => ({ item, lot: hash("sha256", `${seed} ${name(item)}`) }));
  return drawn.sort((a, b) => (a.lot < b.lot ? -1 : 1)).map(({ item }) => item);
}

/** Lines of the room, each with one change that parses. */
function mutantsOf(room: string): readonly Mutant[] {
  const inside = ({ path }: Script) => path.startsWith(`src/${room}/`) || path === `src/${room}.ts`;
  const lines = scripts
    .filter((script) => inside(script) && !SUITE.test(script.path))
    .flatMap((script) => changesOf(script.code).map(({ start, changes }) => ({ room, script, start, changes })));
  const mutants: Mutant[] = [];
  for (const { changes, ...line } of shuffled(lines, ({ script, start }) => `${script.path} ${start}`)) {
    const { code } = line.script;
    const codes = shuffled(changes, (each) => `${each.from} ${each.text}`).map(
      (each) => code.slice(0, each.from) + each.text + code.slice(each.to),
    );
    const changed = codes.find(parses);
    if (changed !== undefined) mutants.push({ ...line, code: changed });
    if (mutants.length >= Number(sample)) break;
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
  const those = tests.filter(({ comesTo }) => comesTo(path, start));
  const asked = those.sort((a, b) => b.share(path) - a.share(path)).slice(0, ASKED);
  return asked.sort((a, b) => a.took_ms - b.took_ms);
}

async function survives(mutant: Mutant): Promise<boolean> {
  for (const test of able(mutant)) if (!(await passes(test, mutant.script.path, mutant.code))) return false;
  return true;
}

function shown(mutant: Mutant): string {
  const { script, start, code } = mutant;
  const [was, is] = [script.code, code].map((text) => text.slice(start).split("\n")[0]);
  const untouched = able(mutant).length > 0 ? "" : " (no test runs it)";
  return `  ${script.path}${untouched}\n    - ${was}\n    + ${is}`;
}

const scripts = sourcesIn("src").map(({ path }) => transpiled(path));
const mutants = rooms.flatMap(mutantsOf);
const files = sourcesIn("test").filter(({ path }) => path.endsWith(".test.ts"));
const all = await pool(AT_ONCE, files, ({ path }) => measured(path));
const tests = all.filter(({ passed }) => passed);
const survived = await pool(AT_ONCE, mutants, survives);

for (const { path, passed } of all) if (!passed) console.log(`left out, it fails unchanged: ${path}`);
for (const room of rooms) {
  const left = mutants.filter((mutant, at) => mutant.room === room && survived[at]);
  console.log(`\n${room}: ${share(left.length, mutants.filter((mutant) => mutant.room === room).length)}`);
  for (const mutant of left) console.log(shown(mutant));
}
console.log(`\nall: ${share(survived.filter(Boolean).length, mutants.length)}`);

function share(left: number, count: number): string {
  return `${left} of ${count} survived, ${((100 * left) / count).toFixed(1)} %`;
}
