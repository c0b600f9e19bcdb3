// Mutation testing: changes one line of src at a time and reports the changes that no test notices. Each of them is a test
// that is missing or a line that is not needed.
// Asked are the test files that run the line: unit tests of its room, then the 12 quickest others; so a survivor may still
// be noticed by a slow one (--all asks every one; only survivors take longer for it). A line that no test runs survives;
// one that hangs is noticed. Test files that fail where nothing is changed are left out and named. Types, comments and
// imports are not changed, nor is the store's exported suite: it is tests.
// A busy machine makes tests fail by themselves, and more seems to be noticed than is.
import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { transformSync } from "esbuild";
import { type SourceFile, sourcesIn } from "../test/support/sources.ts";
import { given, wrongUse } from "./arguments.ts";
import { type Change, changesOf } from "./mutate/changes.ts";
import { measure, type Run, runChanged, type Script, transpiled } from "./mutate/runs.ts";
import { pool } from "./pool.ts";

const USE = `Usage: npm run mutate -- [options]
  --rooms LIST   folders or files of src, with commas between them (store,delivery,domain,kit)
  --sample N     so many lines of each (60)
  --seed TEXT    another text chooses other lines and changes (1)
  --all          ask every test file that runs a line`;
const AT_ONCE = 2;
const QUICKEST = 12;
const SUITE = /^src\/store\/contract\b/;
/** A test file that takes longer unchanged is left out; a changed one may take a few times as long as before. */
const LIMIT_MS = 300_000;
const limitOf = ({ took_ms }: Run): number => 5_000 + 4 * took_ms;

const string = { type: "string" } as const;
const options = { rooms: string, sample: string, seed: string, all: { type: "boolean" } } as const;
const { rooms: list = "store,delivery,domain,kit", sample = "60", seed = "1", all } = given(options, USE);
if (!(Number(sample) >= 1)) wrongUse("--sample must be a number from 1.", USE);
const rooms = list.split(",");
const missing = rooms.find((room) => !existsSync(`src/${room}`) && !existsSync(`src/${room}.ts`));
if (missing !== undefined) wrongUse(`There is no src/${missing}.`, USE);

interface Mutant {
  readonly room: string;
  readonly script: Script;
  readonly change: Change;
  /** The whole script with its change. */
  readonly code: string;
}

interface TestFile extends Run {
  readonly path: string;
  readonly imports: readonly string[];
  readonly runs: ReadonlySet<Mutant>;
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
    .flatMap((script) => changesOf(script.code).map((changes) => ({ script, changes })));
  const mutants: Mutant[] = [];
  for (const { script, changes } of shuffled(lines, (each) => `${each.script.path} ${each.changes[0]?.line}`)) {
    if (mutants.length >= Number(sample)) break;
    const { code: whole } = script;
    for (const change of shuffled(changes, ({ from, text }) => `${from} ${text}`)) {
      const code = whole.slice(0, change.from) + change.text + whole.slice(change.to);
      if (!parses(code)) continue;
      mutants.push({ room, script, change, code });
      break;
    }
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

const isTest = ({ path }: SourceFile) => path.endsWith(".test.ts");

async function measured({ path, imports }: SourceFile): Promise<TestFile> {
  const { comesTo, ...made } = await measure(path, LIMIT_MS);
  const runs = new Set(mutants.filter(({ script, change }) => comesTo(script.path, startOf(script.code, change))));
  return { path, imports, ...made, runs };
}

/** Where its line starts: what stands behind an operator may never be come to, and what is before it is. */
const startOf = (code: string, { from }: Change): number =>
  from - code.slice(code.lastIndexOf("\n", from - 1) + 1, from).trimStart().length;

const able = (mutant: Mutant): readonly TestFile[] => tests.filter(({ passed, runs }) => passed && runs.has(mutant));

/** Those that say most for their time come first. */
function asked(mutant: Mutant): readonly TestFile[] {
  const quickest = [...able(mutant)].sort((a, b) => a.took_ms - b.took_ms);
  const [, top] = mutant.script.path.split("/");
  const near = quickest.filter(
    ({ path, imports }) =>
      /^test\/(units|stores)\//.test(path) && imports.some((name) => name.startsWith(`src/${top}/`)),
  );
  const others = quickest.filter((test) => !near.includes(test));
  return [...near, ...(all ? others : others.slice(0, QUICKEST))];
}

async function survives(mutant: Mutant): Promise<boolean> {
  let passed = true;
  for (const test of asked(mutant))
    if (passed) ({ passed } = await runChanged(test.path, limitOf(test), mutant.script.path, mutant.code));
  process.stderr.write(passed ? "!" : ".");
  return passed;
}

function shown(mutant: Mutant): string {
  const { script, change, code } = mutant;
  const [was, is] = [script.code, code].map((text) => text.split("\n")[change.line]?.trim());
  const untouched = able(mutant).length > 0 ? "" : " (no test runs it)";
  return `  ${script.path}${untouched}\n    - ${was}\n    + ${is}`;
}

const scripts = sourcesIn("src").map(({ path }) => transpiled(path));
const mutants = rooms.flatMap(mutantsOf);
const tests = await pool(AT_ONCE, sourcesIn("test").filter(isTest), measured);
const survived = await pool(AT_ONCE, mutants, survives);
const survivors = mutants.filter((_, at) => survived[at]);

for (const { path, passed } of tests) if (!passed) console.log(`left out, it fails unchanged: ${path}`);
for (const room of [...rooms, "all"]) {
  const inRoom = (each: Mutant) => each.room === room;
  const [count, left] = room === "all" ? [mutants, survivors] : [mutants.filter(inRoom), survivors.filter(inRoom)];
  const percent = ((100 * left.length) / count.length).toFixed(1);
  console.log(`\n${room}: ${left.length} of ${count.length} survived, ${percent} %`);
  if (room !== "all") for (const each of left) console.log(shown(each));
}
