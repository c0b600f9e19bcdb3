// Architecture rules that a program can check: import directions, the owners of clock, randomness, files and sockets,
// forbidden constructs, and a test for every clause and decision. A failing rule names the file.
import assert from "node:assert/strict";
import { test } from "node:test";
import { groups } from "./support/patterns.ts";
import { CLAUSES, type SourceFile, sourcesIn } from "./support/sources.ts";

const src = sourcesIn("src");
const tests = sourcesIn("test").filter(({ path }) => path.endsWith(".test.ts"));

/** The documentation of decisions is data; only what shows it may import it. */
const DECISIONS_FILE = /^src\/decisions\.ts$/;

/** Files in src itself assemble the layers. */
const layerOf = (path: string) =>
  DECISIONS_FILE.test(path) ? "decisions" : (/^src\/(\w+)\//.exec(path)?.[1] ?? "top");

const MAY_IMPORT: { [layer: string]: readonly string[] } = {
  decisions: [],
  lib: ["lib"],
  domain: ["lib", "domain"],
  store: ["lib", "domain", "store"],
  delivery: ["lib", "domain", "delivery"],
  http: ["decisions", "lib", "domain", "http"],
  web: ["decisions", "lib", "domain", "http", "web"],
  testing: ["lib", "domain", "store", "delivery", "http", "web", "testing"],
  top: ["lib", "domain", "store", "delivery", "http", "web", "testing", "top"],
};

const own = (names: readonly string[]) => names.filter((name) => name.startsWith("src/"));

test("architecture: imports follow the layers in one direction, and go only to Node's modules and our files", () => {
  const paths = new Set(src.map(({ path }) => path));
  for (const { path, imports } of src) {
    assert.ok(layerOf(path) in MAY_IMPORT, path);
    for (const name of imports)
      assert.ok(paths.has(name) || /^(node:|package\.json$)/.test(name), `${path}: ${name}`);
    for (const target of own(imports))
      assert.ok(MAY_IMPORT[layerOf(path)]?.includes(layerOf(target)), `${path} imports ${target}`);
  }
});

test("architecture: no file imports itself through any chain of imports", () => {
  const remaining = new Map(src.map(({ path, imports }) => [path, imports]));
  /** Removes the files that import none of the remaining files, until there are no more. */
  for (let size = -1; size !== remaining.size; ) {
    size = remaining.size;
    for (const [path, imports] of remaining)
      if (!imports.some((name) => remaining.has(name))) remaining.delete(path);
  }
  assert.deepEqual([...remaining.keys()], []);
});

/** Startup time: loading the pages and all of TLS would make it half as long again. */
test("architecture: the command loads eagerly only the modules that the first API response needs", () => {
  const byPath = new Map(src.map((file) => [file.path, file]));
  const loaded = new Set(["src/cli.ts"]);
  for (const path of loaded) for (const name of byPath.get(path)?.atOnce ?? []) loaded.add(name);
  assert.ok(loaded.has("src/http/router.ts"));
  const LATER = /^src\/(web\/|receiver|http\/openapi)|^node:(https|tls|dns|zlib)/;
  for (const path of loaded) assert.doesNotMatch(path, LATER);
});

const uses = (pattern: RegExp) => (file: SourceFile) => pattern.test(file.code);
const loads = (pattern: RegExp) => (file: SourceFile) =>
  file.loads.some((name) => pattern.test(name));

const CLOCK = /^src\/lib\/clock\.ts$/;
const REAL_TIME = /\b(Date|performance|hrtime|uptime)\b/;
/** A socket's own timeout uses Node's internal timers, which no test runner fakes. */
const TIMERS =
  /(?<!socket\.)\b(set|clear)(Timeout|Interval|Immediate)\b|\bAbortSignal\.timeout\b|\bscheduler\b/;
const RANDOM = /\b(randomBytes|randomFill\w*|randomInt|randomUUID|getRandomValues)\b|Math\.random/;
const IDS = /^src\/lib\/ids\.ts$/;
/** Files with sockets: their timeouts use real time, whatever the service's clock says. */
const SOCKETS = /^src\/(http\/server|delivery\/sender|receiver)\.ts$/;
const FILES = /^src\/(store\/json-file.*|options|lib\/version)\.ts$/;
const NOBODY = /^$/;

/** Each rule: its files must not match, except those of the owner. */
for (const [rule, owner, breaks] of [
  ["only lib/clock reads the real time, which a test runner may fake", CLOCK, uses(REAL_TIME)],
  ["only lib/clock calls Node's timers, which a test runner may fake", CLOCK, uses(TIMERS)],
  ["only lib/clock loads Node's timers and clocks", CLOCK, loads(/^node:(timers|perf_hooks)/)],
  ["only lib/ids draws random values", IDS, uses(RANDOM)],
  ["only the JSON-file store and the start use files", FILES, loads(/^node:fs/)],
  [
    "only the server, the sender and the receiver open sockets",
    SOCKETS,
    loads(/^node:(https?|http2|tls|dgram)$/),
  ],
  [
    "no rule of the linter or of the compiler is switched off",
    NOBODY,
    ({ text }) => /biome-ignore|@ts-\w/.test(text),
  ],
  ["no task is left open", NOBODY, ({ text }) => /\b(TODO|FIXME|XXX|HACK)\b/.test(text)],
  ["nothing calls console", NOBODY, uses(/\bconsole\.\w/)],
  ["no error is ignored", NOBODY, uses(/catch\s*(\(\w*\))?\s*\{\s*\}/)],
  [
    "each file starts with its purpose",
    NOBODY,
    ({ text }) => !/^\/\/ \S/.test(text.replace(/^#!.*\n/, "")),
  ],
] satisfies readonly (readonly [string, RegExp, (file: SourceFile) => boolean])[])
  test(`architecture: ${rule}`, () => {
    const paths = src.filter(breaks).map(({ path }) => path);
    assert.deepEqual(
      paths.filter((path) => !owner.test(path)),
      [],
    );
  });

test("architecture: every clause of the specification has one test", () => {
  const texts = tests.filter(({ path }) => path.startsWith("test/spec/")).map(({ text }) => text);
  const ids = texts.flatMap((text) => groups(text, /"([1-9]\.[\w.-]+)"/g));
  assert.deepEqual(ids.sort(), [...CLAUSES].sort());
});

test("architecture: tests of the specification and of this project's choices are never mixed", () => {
  for (const [kind, isAllowed] of [
    ["clause", true],
    ["choice", false],
  ])
    for (const { path, code } of tests)
      if (new RegExp(`^ *${kind}\\(`, "m").test(code))
        assert.equal(path.startsWith("test/spec/"), isAllowed, path);
});
