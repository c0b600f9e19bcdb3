// Mutation testing: changes one line of src at a time, in a copy, and reports the changes that no test notices. Each of
// them is a test that is missing or a line that is not needed.
// Asked are the test files that run the line: unit tests of its room, then the 12 quickest others; so a survivor may still
// be noticed by a slow one (--all asks every one; only survivors take longer for it). A line that no test runs survives;
// one that hangs is noticed. Test files that fail where nothing is changed, since they read the source as text or compile
// it, are left out and named. Types, comments and imports are not changed, nor is the store's exported suite: it is tests.
// A busy machine makes tests fail by themselves, and more seems to be noticed than is.
import { hash } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { transformSync } from "esbuild";
import { type Change, changesOf } from "./mutate/changes.ts";
import { makeCopies, type Script } from "./mutate/copies.ts";
import { measure, type Run, run } from "./mutate/runs.ts";

const USE = `Usage: npm run mutate -- [options]
  --rooms LIST   folders or files of src, with commas between them (store,delivery,domain,kit)
  --sample N     so many lines of each (60)
  --seed TEXT    another text chooses other lines and changes (1)
  --jobs N       so many mutants at a time (2)
  --all          ask every test file that runs a line`;
const QUICKEST = 12;
const SUITE = /^src\/store\/contract\b/;
/** A test file that takes longer unchanged is left out; a changed one may take a few times as long as before. */
const LIMIT_MS = 300_000;
const limitOf = ({ took_ms }: Run): number => 5_000 + 4 * took_ms;

interface Mutant {
  readonly room: string;
  readonly script: Script;
  readonly change: Change;
  /** The whole script with its change. */
  readonly code: string;
}

interface TestFile extends Run, Script {
  readonly runs: ReadonlySet<Mutant>;
}

function wrongUse(why: string): never {
  process.stderr.write(`${why}\n${USE}\n`);
  return process.exit(2);
}

function given() {
  const options = {
    rooms: { type: "string", default: "store,delivery,domain,kit" },
    sample: { type: "string", default: "60" },
    seed: { type: "string", default: "1" },
    jobs: { type: "string", default: "2" },
    all: { type: "boolean", default: false },
  } as const;
  try {
    const { rooms, sample, jobs, ...rest } = parseArgs({ options }).values;
    return { rooms: rooms.split(","), sample: Number(sample), jobs: Number(jobs), ...rest };
  } catch (error) {
    return wrongUse(error instanceof Error ? error.message : String(error));
  }
}

const { rooms, sample, seed, jobs, all } = given();
if (!(sample >= 1 && jobs >= 1)) wrongUse("--sample and --jobs must be numbers from 1.");
const missing = rooms.find((room) => !existsSync(`src/${room}`) && !existsSync(`src/${room}.ts`));
if (missing !== undefined) wrongUse(`There is no src/${missing}.`);
const { folders, scripts } = makeCopies(jobs);

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
    const { code } = script;
    const made = shuffled(changes, ({ from, text }) => `${from} ${text}`).map((change) => ({
      ...{ room, script, change },
      code: code.slice(0, change.from) + change.text + code.slice(change.to),
    }));
    const fit = mutants.length < sample ? made.find((mutant) => parses(mutant.code)) : undefined;
    if (fit) mutants.push(fit);
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

/** Does the work for every item, one at a time in each copy. */
async function share<T, R>(items: readonly T[], work: (item: T, copy: string) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const inOne = async (copy: string) => {
    for (const [at, item] of queue) results[at] = await work(item, copy);
  };
  await Promise.all(folders.map(inOne));
  return results;
}

async function measured(test: Script, copy: string): Promise<TestFile> {
  const first = await measure(copy, test.path, LIMIT_MS);
  // On a busy machine a test may fail once.
  const { comesTo, ...made } = first.passed ? first : await measure(copy, test.path, LIMIT_MS);
  const runs = new Set(mutants.filter(({ script, change }) => comesTo(script.path, change.from)));
  return { ...test, ...made, runs };
}

/** Those that say most for their time come first. */
function asked(mutant: Mutant): readonly TestFile[] {
  const able = tests.filter(({ passed, runs }) => passed && runs.has(mutant)).sort((a, b) => a.took_ms - b.took_ms);
  const [, top] = mutant.script.path.split("/");
  const near = able.filter(({ path, code }) => /^test\/(units|stores)\//.test(path) && code.includes(`src/${top}/`));
  const others = able.filter((test) => !near.includes(test));
  return [...near, ...(all ? others : others.slice(0, QUICKEST))];
}

async function survives(mutant: Mutant, copy: string): Promise<boolean> {
  const file = join(copy, mutant.script.path);
  writeFileSync(file, mutant.code);
  let passed = true;
  for (const test of asked(mutant)) {
    ({ passed } = await run(copy, test.path, limitOf(test)));
    if (!passed) break;
  }
  writeFileSync(file, mutant.script.code);
  process.stderr.write(passed ? "!" : ".");
  return passed;
}

function shown(mutant: Mutant): string {
  const { script, change, code } = mutant;
  const [was, is] = [script.code, code].map((text) => text.split("\n")[change.line]?.trim());
  const untouched = tests.some(({ passed, runs }) => passed && runs.has(mutant)) ? "" : " (no test runs it)";
  return `  ${script.path}:${script.sourceLine(change.line)}${untouched}\n    - ${was}\n    + ${is}`;
}

const mutants = rooms.flatMap(mutantsOf);
const tests = await share(
  scripts.filter(({ path }) => path.endsWith(".test.ts")),
  measured,
);
const survived = await share(mutants, survives);
const survivors = mutants.filter((_, at) => survived[at]);

const print = (line: string) => process.stdout.write(`${line}\n`);
for (const { path, passed } of tests) if (!passed) print(`left out, it fails unchanged: ${path}`);
for (const room of rooms) print([`\n${room}`, ...survivors.filter((each) => each.room === room).map(shown)].join("\n"));
print(`\n${"room".padEnd(20)} mutants survived percent`);
for (const room of [...rooms, "all"]) {
  const inRoom = (each: Mutant) => room === "all" || each.room === room;
  const [all, left] = [mutants.filter(inRoom).length, survivors.filter(inRoom).length];
  const percent = ((100 * left) / all).toFixed(1);
  print(`${room.padEnd(20)} ${String(all).padStart(7)} ${String(left).padStart(8)} ${percent.padStart(7)}`);
}
