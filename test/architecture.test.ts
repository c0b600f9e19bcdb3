// The rules of the house that a machine can hold: which way imports point, who owns the clock, randomness, files and
// sockets, what is not written, and that every clause and every decision has a test. A rule that fails names the file.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DECISIONS } from "../src/decisions.ts";
import { CLAUSES, type SourceFile, sourcesIn } from "./support/sources.ts";

const src = sourcesIn("src");
const tests = sourcesIn("test").filter(({ path }) => path.endsWith(".test.ts"));

const REGISTER = "src/decisions.ts";
/** Words and signs of its code, in which each text counts as two quotes. */
const REGISTER_TOKENS_MAX = 2_700;

/** src/lib/ids.ts lies in lib; what lies in src itself puts the layers together. */
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

/** The one arrow from web to http: the rows, what leads to them, how they are asked and shown, and how they say no. */
const WEB_MAY_SEE = /^src\/http\/(api|route|message|router|serializers|problem|urls)\.ts$/;
/** The door of web, which puts its ways beside the description of the API. */
const WEB_DOOR = "src/web/routes.ts";

const mayImport = (path: string, target: string): boolean =>
  MAY_IMPORT[layerOf(path)]?.includes(layerOf(target)) === true ||
  (layerOf(path) === "web" &&
    (WEB_MAY_SEE.test(target) || (path === WEB_DOOR && layerOf(target) === "http")));

const own = (names: readonly string[]) => names.filter((name) => name.startsWith("src/"));

test("architecture: imports point one way, between the drawn layers, and to nothing but Node's modules and our files", () => {
  const there = new Set(src.map(({ path }) => path));
  for (const { path, imports } of src) {
    assert.ok(layerOf(path) in MAY_IMPORT, path);
    for (const name of imports)
      assert.ok(there.has(name) || /^(node:|package\.json$)/.test(name), `${path}: ${name}`);
    for (const target of own(imports))
      assert.ok(mayImport(path, target), `${path} imports ${target}`);
  }
});

/** Takes away what stands on nothing of what is left, until nothing goes any more: how many floors it had, and the rest. */
function floorsOf(graph: ReadonlyMap<string, Iterable<string>>) {
  const left = new Map(graph);
  for (let floors = 0; ; floors += 1) {
    const free = [...left].filter(([, under]) => ![...under].some((name) => left.has(name)));
    if (free.length === 0) return { floors, left: [...left.keys()] };
    for (const [name] of free) left.delete(name);
  }
}

test("architecture: no file imports what imports it, at whatever distance", () => {
  assert.deepEqual(floorsOf(new Map(src.map(({ path, imports }) => [path, imports]))).left, []);
});

test("architecture: it has seven floors, from lib and the register up to the command", () => {
  const roomOf = (path: string) => (layerOf(path) === "top" ? path : layerOf(path));
  const rooms = new Map(src.map(({ path }) => [roomOf(path), new Set<string>()]));
  for (const { path, imports } of src)
    for (const name of own(imports)) rooms.get(roomOf(path))?.add(roomOf(name));
  for (const [room, under] of rooms) under.delete(room);
  assert.deepEqual(floorsOf(rooms), { floors: 7, left: [] });
});

test("architecture: what is loaded later counts as imported: the command, the receiver, the OpenAPI document, the pages and a store", () => {
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

/** What a start waits for: the pages and all of TLS would make it half as long again. */
test("architecture: the command loads nothing at once that the first answer of the API does not need", () => {
  const known = new Map(src.map((file) => [file.path, file]));
  const loaded = new Set(["src/cli.ts"]);
  for (const path of loaded) for (const name of known.get(path)?.atOnce ?? []) loaded.add(name);
  assert.ok(loaded.has("src/http/router.ts"));
  const LATER = /^src\/(web\/|receiver|http\/openapi)|^node:(https|tls|dns|zlib)/;
  for (const path of loaded) assert.doesNotMatch(path, LATER);
});

/** The files in which `pattern` occurs in code, beside those that own it. */
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
const TIMERS = /\b(set|clear)(Timeout|Interval|Immediate)\b|\bAbortSignal\.timeout\b|\bscheduler\b/;
const RANDOM = /\b(randomBytes|randomFill\w*|randomInt|randomUUID|getRandomValues)\b|Math\.random/;
const IDS = /^src\/lib\/ids\.ts$/;
/** Where sockets are: deadlines there are real time, whatever the service's clock says. */
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

test("architecture: what the specification shows and what was chosen are never mixed", () => {
  const calling = (kind: string) =>
    tests.filter(({ code }) => new RegExp(`^ *${kind}\\(`, "m").test(code));
  for (const { path } of calling("clause")) assert.match(path, /^test\/spec\//);
  for (const { path } of calling("choice")) assert.doesNotMatch(path, /^test\/spec\//);
});

/** That each id of a choice is a row of the register, or a facet of one, is the compiler's to say. */
test("architecture: every row of the register has a test that bears its id, or a facet of it", () => {
  // The other readings name each row, too, and hold the choice of none.
  const holding = tests.filter(({ path }) => !path.endsWith("/readings.test.ts"));
  const texts = holding.map(({ text }) => text).join("\n");
  for (const id of Object.keys(DECISIONS))
    assert.match(texts, new RegExp(`"${id.replace(".", "\\.")}(?![\\w-])`));
});

test("architecture: the register is one file of data: under 50 rows, each with sentences and a choice that could be another", () => {
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

test("architecture: the code runs on every row of the register, and asks for its choice by the id", () => {
  const text = src.map((file) => file.text).join("\n");
  for (const id of Object.keys(DECISIONS)) assert.ok(text.includes(`decide("${id}")`), id);
});
