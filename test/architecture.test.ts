// Architecture rules that a program can check: import directions, the owners of clock, randomness, files and sockets,
// forbidden constructs, and a test for every clause and decision. A failing rule names the file.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DECISIONS } from "../src/former-decisions.ts";
import { CLAUSES, type SourceFile, sourcesIn } from "./support/sources.ts";

const src = sourcesIn("src");
const tests = sourcesIn("test").filter(({ path }) => path.endsWith(".test.ts"));

const REGISTER = "src/decisions.ts";
/** The number of tokens in its code; each string counts as two quotes. */
const REGISTER_TOKENS_MAX = 2_700;

/** src/lib/ids.ts is in lib; files in src itself assemble the layers. */
const layerOf = (path: string): string =>
  path === REGISTER ? "register" : (/^src\/(\w+)\//.exec(path)?.[1] ?? "top");

const MAY_IMPORT: { readonly [layer: string]: readonly string[] } = {
  register: [],
  lib: ["lib"],
  domain: ["register", "lib", "domain"],
  store: ["lib", "domain", "store"],
  postgres: ["lib", "domain", "store", "postgres"],
  delivery: ["register", "lib", "domain", "delivery"],
  http: ["register", "lib", "domain", "http"],
  web: ["register", "lib", "domain", "web"],
  testing: ["register", "lib", "domain", "store", "delivery", "http", "testing"],
  top: [
    "register",
    "lib",
    "domain",
    "store",
    "delivery",
    "http",
    "web",
    "testing",
    "postgres",
    "top",
  ],
};

/** The files of http that web may import: routes, router, messages, serializers and problems. */
const WEB_MAY_SEE = /^src\/http\/(api|route|message|router|serializers|problem|urls)\.ts$/;
/** The entry of web, which adds its routes to those of the API. */
const WEB_DOOR = "src/web/routes.ts";

const mayImport = (path: string, target: string): boolean =>
  MAY_IMPORT[layerOf(path)]?.includes(layerOf(target)) === true ||
  (layerOf(path) === "web" &&
    (WEB_MAY_SEE.test(target) || (path === WEB_DOOR && layerOf(target) === "http")));

const own = (names: readonly string[]) => names.filter((name) => name.startsWith("src/"));

test("architecture: imports follow the layers in one direction, and go only to Node's modules and our files", () => {
  const there = new Set(src.map(({ path }) => path));
  for (const { path, imports } of src) {
    assert.ok(layerOf(path) in MAY_IMPORT, path);
    for (const name of imports)
      assert.ok(there.has(name) || /^(node:|package\.json$)/.test(name), `${path}: ${name}`);
    for (const target of own(imports))
      assert.ok(mayImport(path, target), `${path} imports ${target}`);
  }
});

/** Repeatedly removes the files that import nothing left; returns the number of rounds, and the files in cycles. */
function floorsOf(graph: ReadonlyMap<string, Iterable<string>>) {
  const left = new Map(graph);
  for (let floors = 0; ; floors += 1) {
    const free = [...left].filter(([, under]) => ![...under].some((name) => left.has(name)));
    if (free.length === 0) return { floors, left: [...left.keys()] };
    for (const [name] of free) left.delete(name);
  }
}

test("architecture: no file imports itself through any chain of imports", () => {
  assert.deepEqual(floorsOf(new Map(src.map(({ path, imports }) => [path, imports]))).left, []);
});

test("architecture: there are seven layers, from lib and the register up to the command", () => {
  const roomOf = (path: string) => (layerOf(path) === "top" ? path : layerOf(path));
  const rooms = new Map(src.map(({ path }) => [roomOf(path), new Set<string>()]));
  for (const { path, imports } of src)
    for (const name of own(imports)) rooms.get(roomOf(path))?.add(roomOf(name));
  for (const [room, under] of rooms) under.delete(room);
  assert.deepEqual(floorsOf(rooms), { floors: 7, left: [] });
});

test("architecture: only the command, the receiver, the OpenAPI document, the pages and a store are imported lazily", () => {
  const later = src.flatMap(({ loads, atOnce }) => loads.filter((name) => !atOnce.includes(name)));
  assert.ok(later.includes("node:https"));
  assert.deepEqual([...own(later)].sort(), [
    "src/cli.ts",
    "src/http/openapi.ts",
    "src/postgres/store.ts",
    "src/receiver-command.ts",
    WEB_DOOR,
  ]);
});

/** Startup time: loading the pages and all of TLS would make it half as long again. */
test("architecture: the command loads eagerly only the modules that the first API response needs", () => {
  const known = new Map(src.map((file) => [file.path, file]));
  const loaded = new Set(["src/cli.ts"]);
  for (const path of loaded) for (const name of known.get(path)?.atOnce ?? []) loaded.add(name);
  assert.ok(loaded.has("src/http/router.ts"));
  const LATER = /^src\/(web\/|receiver|http\/openapi)|^node:(https|tls|dns|zlib)/;
  for (const path of loaded) assert.doesNotMatch(path, LATER);
});

/** The files whose code matches, except those that own the pattern. */
const beside = (owners: readonly RegExp[], finds: (file: SourceFile) => boolean): string[] =>
  src
    .filter((file) => finds(file) && !owners.some((owner) => owner.test(file.path)))
    .map(({ path }) => path);

const uses = (pattern: RegExp) => (file: SourceFile) => pattern.test(file.code);
const loads = (pattern: RegExp) => (file: SourceFile) =>
  file.loads.some((name) => pattern.test(name));

type Rule = readonly [
  rule: string,
  owners: readonly RegExp[],
  finds: (file: SourceFile) => boolean,
];

const CLOCK = /^src\/lib\/clock\.ts$/;
const VERSION = /^src\/lib\/version\.ts$/;
const PRINTS = /^src\/(cli|log)\.ts$/;
const REAL_TIME = /\b(Date|performance|hrtime|uptime)\b/;
/** A socket's own timeout uses Node's internal timers, which no test runner fakes. */
const TIMERS =
  /(?<!socket\.)\b(set|clear)(Timeout|Interval|Immediate)\b|\bAbortSignal\.timeout\b|\bscheduler\b/;
const RANDOM = /\b(randomBytes|randomFill\w*|randomInt|randomUUID|getRandomValues)\b|Math\.random/;
const IDS = /^src\/lib\/ids\.ts$/;
/** Files with sockets: their timeouts use real time, whatever the service's clock says. */
const SOCKETS = /^src\/(http\/server|delivery\/(sender|resolver)|receiver)\.ts$/;
const FILES = /^src\/(store\/json-file.*|store\/journal.*|options)\.ts$/;

for (const [rule, owners, finds] of [
  ["lib/clock alone takes the real time, which a test runner may fake", [CLOCK], uses(REAL_TIME)],
  ["lib/clock alone takes Node's timers, which a test runner may fake", [CLOCK], uses(TIMERS)],
  ["lib/clock alone loads Node's timers and clocks", [CLOCK], loads(/^node:(timers|perf_hooks)/)],
  ["randomness comes from lib/ids", [IDS], uses(RANDOM)],
  [
    "files are touched by the JSON-file store and at the start only",
    [FILES, VERSION],
    loads(/^node:fs/),
  ],
  [
    "sockets are the listener's, the sender's and the receiver's",
    [SOCKETS],
    loads(/^node:(https?|http2|tls|dgram)$/),
  ],
  [
    "no rule of the linter or of the compiler is switched off",
    [],
    ({ text }) => /biome-ignore|@ts-\w/.test(text),
  ],
  ["nothing is left to do", [], ({ text }) => /\b(TODO|FIXME|XXX|HACK)\b/.test(text)],
  ["nothing is printed on the way", [PRINTS], uses(/\bconsole\.\w/)],
  ["no error is swallowed", [], uses(/catch\s*(\(\w*\))?\s*\{\s*\}/)],
  [
    "each file says first what it is for",
    [],
    ({ text }) => !/^\/\/ \S/.test(text.replace(/^#!.*\n/, "")),
  ],
] satisfies readonly Rule[])
  test(`architecture: ${rule}`, () => assert.deepEqual(beside(owners, finds), []));

test("architecture: every clause of the specification has one test", () => {
  const texts = tests.filter(({ path }) => path.startsWith("test/spec/")).map(({ text }) => text);
  const ids = texts.flatMap((text) =>
    [...text.matchAll(/"([1-9]\.[\w.-]+)"/g)].map(([, id]) => id),
  );
  assert.deepEqual(ids.sort(), [...CLAUSES].sort());
});

test("architecture: tests of the specification and of this project's choices are never mixed", () => {
  const calling = (kind: string) =>
    tests.filter(({ code }) => new RegExp(`^ *${kind}\\(`, "m").test(code));
  for (const { path } of calling("clause")) assert.match(path, /^test\/spec\//);
  for (const { path } of calling("choice")) assert.doesNotMatch(path, /^test\/spec\//);
});

/** The compiler checks that each choice's id is a row of the register, or a facet of one. */
test("architecture: every row of the register has a test with its id or that of a facet", () => {
  // The tests of other readings name each row, too, but do not count as its test.
  const holding = tests.filter(({ path }) => !path.endsWith("/readings.test.ts"));
  const texts = holding.map(({ text }) => text).join("\n");
  for (const id of Object.keys(DECISIONS))
    assert.match(texts, new RegExp(`"${id.replace(".", "\\.")}(?![\\w-])`));
});

test("architecture: the register is one data file of under 50 rows, each with sentences and a replaceable choice", () => {
  const rows = Object.entries(DECISIONS);
  assert.ok(rows.length < 50, String(rows.length));
  const text = src.find(({ path }) => path === REGISTER)?.code ?? "";
  assert.ok((text.match(/\w+|[^\s\w]/g) ?? []).length <= REGISTER_TOKENS_MAX);
  for (const [id, { open, choice, field, why }] of rows) {
    assert.match(id, /^[1-9]\.[a-z-]+$/);
    for (const said of [open, field, why]) assert.ok(said.length > 10, id);
    assert.notDeepEqual(choice.is, choice.or, id);
  }
});

test("architecture: the code reads every row of the register by its id", () => {
  const text = src.map((file) => file.text).join("\n");
  for (const id of Object.keys(DECISIONS)) assert.ok(text.includes(`decide("${id}")`), id);
});
