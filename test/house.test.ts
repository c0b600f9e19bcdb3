// The rules of the house that a machine can hold: which way imports point, who owns the clock, randomness, files and
// sockets, what is not written, and that every clause and every decision has a test. A rule that fails names the file.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DECISIONS } from "../src/decisions.ts";
import { CLAUSES, type SourceFile, sourcesIn } from "./support/sources.ts";

const src = sourcesIn("src");
const tests = sourcesIn("test").filter(({ path }) => path.endsWith(".test.ts"));

const REGISTER = "src/decisions.ts";

/** src/kit/ids.ts lies in kit; what lies in src itself puts the layers together. */
const layerOf = (path: string): string => (path === REGISTER ? "register" : (/^src\/(\w+)\//.exec(path)?.[1] ?? "top"));

const MAY_IMPORT: { readonly [layer: string]: readonly string[] } = {
  register: [],
  kit: ["kit"],
  domain: ["register", "kit", "domain"],
  store: ["kit", "domain", "store"],
  postgres: ["kit", "domain", "store", "postgres"],
  delivery: ["register", "kit", "domain", "delivery"],
  http: ["register", "kit", "domain", "http"],
  web: ["register", "kit", "domain", "web"],
  embedding: ["register", "kit", "domain", "store", "delivery", "http", "embedding"],
  top: ["register", "kit", "domain", "store", "delivery", "http", "web", "embedding", "postgres", "top"],
};

/** The one arrow from web to http: the rows, what leads to them, how they are asked and shown, and how they say no. */
const WEB_MAY_SEE = /^src\/http\/(api|route|call|way|view|problem|links)\.ts$/;
/** The door of web, which puts its ways beside the description of the API. */
const WEB_DOOR = "src/web/pages.ts";

const mayImport = (path: string, target: string): boolean =>
  MAY_IMPORT[layerOf(path)]?.includes(layerOf(target)) === true ||
  (layerOf(path) === "web" && (WEB_MAY_SEE.test(target) || (path === WEB_DOOR && layerOf(target) === "http")));

const own = (names: readonly string[]) => names.filter((name) => name.startsWith("src/"));

test("house: imports point one way, between the drawn layers, and to nothing but Node's modules and our files", () => {
  const there = new Set(src.map(({ path }) => path));
  for (const { path, imports } of src) {
    assert.ok(layerOf(path) in MAY_IMPORT, path);
    for (const name of imports) assert.ok(there.has(name) || /^(node:|package\.json$)/.test(name), `${path}: ${name}`);
    for (const target of own(imports)) assert.ok(mayImport(path, target), `${path} imports ${target}`);
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

test("house: no file imports what imports it, at whatever distance", () => {
  assert.deepEqual(floorsOf(new Map(src.map(({ path, imports }) => [path, imports]))).left, []);
});

test("house: it has seven floors, from the kit and the register up to the command", () => {
  const roomOf = (path: string) => (layerOf(path) === "top" ? path : layerOf(path));
  const rooms = new Map(src.map(({ path }) => [roomOf(path), new Set<string>()]));
  for (const { path, imports } of src) for (const name of own(imports)) rooms.get(roomOf(path))?.add(roomOf(name));
  for (const [room, under] of rooms) under.delete(room);
  assert.deepEqual(floorsOf(rooms), { floors: 7, left: [] });
});

test("house: what is loaded later counts as imported: the command, the receiver, the OpenAPI document, the pages and a store", () => {
  const later = src.flatMap(({ loads, atOnce }) => loads.filter((name) => !atOnce.includes(name)));
  assert.ok(later.includes("node:https"));
  assert.deepEqual([...own(later)].sort(), [
    "src/http/openapi.ts",
    "src/main.ts",
    "src/postgres/store.ts",
    "src/receiver-command.ts",
    WEB_DOOR,
  ]);
});

/** What a start waits for: the pages and all of TLS would make it half as long again. */
test("house: the command loads nothing at once that the first answer of the API does not need", () => {
  const known = new Map(src.map((file) => [file.path, file]));
  const loaded = new Set(["src/main.ts"]);
  for (const path of loaded) for (const name of known.get(path)?.atOnce ?? []) loaded.add(name);
  assert.ok(loaded.has("src/http/way.ts"));
  const LATER = /^src\/(web\/|receiver|http\/openapi)|^node:(https|tls|dns|zlib)/;
  for (const path of loaded) assert.doesNotMatch(path, LATER);
});

/** The files in which `pattern` occurs in code, beside those that own it. */
const beside = (owners: readonly RegExp[], finds: (file: SourceFile) => boolean): string[] =>
  src.filter((file) => finds(file) && !owners.some((owner) => owner.test(file.path))).map(({ path }) => path);

const uses = (pattern: RegExp) => (file: SourceFile) => pattern.test(file.code);
const loads = (pattern: RegExp) => (file: SourceFile) => file.loads.some((name) => pattern.test(name));

type Rule = readonly [rule: string, owners: readonly RegExp[], finds: (file: SourceFile) => boolean];

const CLOCK = /^src\/kit\/clock\.ts$/;
const VERSION = /^src\/kit\/version\.ts$/;
const SCHEMA = /^src\/kit\/schema\.ts$/;
const PRINTS = /^src\/(main|log)\.ts$/;
const REAL_TIME = /\b(Date|performance|hrtime|uptime)\b/;
const TIMERS = /\b(set|clear)(Timeout|Interval|Immediate)\b|\bAbortSignal\.timeout\b|\bscheduler\b/;
const RANDOM = /\b(randomBytes|randomFill\w*|randomInt|randomUUID|getRandomValues)\b|Math\.random/;
const IDS = /^src\/kit\/ids\.ts$/;
/** Where sockets are: deadlines there are real time, whatever the service's clock says. */
const SOCKETS = /^src\/(http\/listener|delivery\/(sender|resolver)|receiver)\.ts$/;
const FILES = /^src\/(store\/json-file.*|store\/journal.*|options)\.ts$/;

/** `import * as x` and `import { a as b }` rename, they assert nothing. */
const withoutNames = (code: string): string =>
  code.replace(/\bimport\s[^;]*;|\bexport\s*(?:type\s*)?(\{[^}]*\}|\*\s+as\s)/g, " ");

for (const [rule, owners, finds] of [
  ["kit/clock alone takes the real time, which a test runner may fake", [CLOCK], uses(REAL_TIME)],
  ["kit/clock alone takes Node's timers, which a test runner may fake", [CLOCK], uses(TIMERS)],
  ["kit/clock alone loads Node's timers and clocks", [CLOCK], loads(/^node:(timers|perf_hooks)/)],
  ["randomness comes from kit/ids", [IDS], uses(RANDOM)],
  ["files are touched by the JSON-file store and at the start only", [FILES, VERSION], loads(/^node:fs/)],
  ["sockets are the listener's, the sender's and the receiver's", [SOCKETS], loads(/^node:(https?|http2|tls|dgram)$/)],
  ["a type is asserted in kit/schema alone", [SCHEMA], ({ code }) => /\sas\s(?!const\b)/.test(withoutNames(code))],
  ["no rule of the linter or of the compiler is switched off", [], ({ text }) => /biome-ignore|@ts-\w/.test(text)],
  ["nothing is left to do", [], ({ text }) => /\b(TODO|FIXME|XXX|HACK)\b/.test(text)],
  ["nothing is printed on the way", [PRINTS], uses(/\bconsole\.\w/)],
  ["no error is swallowed", [], uses(/catch\s*(\(\w*\))?\s*\{\s*\}/)],
  ["each file says first what it is for", [], ({ text }) => !/^\/\/ \S/.test(text.replace(/^#!.*\n/, ""))],
] satisfies readonly Rule[])
  test(`house: ${rule}`, () => assert.deepEqual(beside(owners, finds), []));

test("house: every clause of the specification has one test", () => {
  const texts = tests.filter(({ path }) => path.startsWith("test/spec/")).map(({ text }) => text);
  const ids = texts.flatMap((text) => [...text.matchAll(/"([1-9]\.[\w.-]+)"/g)].map(([, id]) => id));
  assert.deepEqual(ids.sort(), [...CLAUSES].sort());
});

test("house: what the specification shows and what was chosen are never mixed", () => {
  const calling = (kind: string) => tests.filter(({ code }) => new RegExp(`^ *${kind}\\(`, "m").test(code));
  for (const { path } of calling("clause")) assert.match(path, /^test\/spec\//);
  for (const { path } of calling("choice")) assert.doesNotMatch(path, /^test\/spec\//);
});

/** That each id of a choice is a row of the register, or a facet of one, is the compiler's to say. */
test("house: every row of the register has a test that bears its id, or a facet of it", () => {
  // The other readings name each row, too, and hold the choice of none.
  const holding = tests.filter(({ path }) => !path.endsWith("/readings.test.ts"));
  const texts = holding.map(({ text }) => text).join("\n");
  for (const id of Object.keys(DECISIONS)) assert.match(texts, new RegExp(`"${id.replace(".", "\\.")}(?![\\w-])`));
});

test("house: the register is one file of data: under 50 rows, each with sentences and a choice that could be another", () => {
  const rows = Object.entries(DECISIONS);
  assert.ok(rows.length < 50, String(rows.length));
  assert.ok((src.find(({ path }) => path === REGISTER)?.text.split("\n").length ?? 0) <= 351);
  for (const [id, { open, choice, field, why }] of rows) {
    assert.match(id, /^[1-9]\.[a-z-]+$/);
    for (const said of [open, field, why]) assert.ok(said.length > 10, id);
    assert.notDeepEqual(choice.is, choice.or, id);
  }
});

test("house: the code runs on every row of the register, and asks for its choice by the id", () => {
  const text = src.map((file) => file.text).join("\n");
  for (const id of Object.keys(DECISIONS)) assert.ok(text.includes(`decide("${id}")`), id);
});
