// The decisions: every gap of the specification has one, and every decision has tests with its id.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ADDITIONS, DECISIONS, GAPS } from "../src/decisions.ts";
import { ALL_VARIANTS } from "../src/index.ts";
import { groups } from "./support/patterns.ts";
import { CLAUSES, sourcesIn } from "./support/sources.ts";

test("decisions: each of the specification's 32 gaps has one, and a dozen or so are added", () => {
  const parts = Object.keys(GAPS).map((id) => id[0]);
  assert.equal(parts.sort().join(""), "22222223444444555666667778888899");
  assert.ok(Object.keys(ADDITIONS).length < 20);
  for (const [id, decision] of Object.entries(DECISIONS)) {
    assert.match(id, /^[1-9]\.[a-z-]+$/);
    for (const text of Object.values(decision)) assert.ok(text, id);
  }
});

/** Ids of decisions and clauses at the start of strings in tests, without the aspect behind the second dot. */
const ID = /["`]([1-9]\.[a-z][a-z-]+)(?:\.[\w.-]+)?(?=["`:])/g;
/** All test files but those of the clauses, and those that use an id as a value. */
const TESTS = /^test\/(?!spec\/|decisions|scripts).*\.test\.ts$/;

test("decisions: every one has a test with its id, and every id in a test exists", () => {
  const files = sourcesIn("test").filter(({ path }) => TESTS.test(path));
  const ids = new Set(files.flatMap(({ text }) => groups(text, ID)));
  const clauses = new Set(Array.from(CLAUSES, (clause) => /^\d\.[a-z-]+/.exec(clause)?.[0] ?? ""));
  for (const id of Object.keys(DECISIONS)) assert.ok(ids.has(id), `${id} has no test`);
  for (const id of ids) assert.ok(id in DECISIONS || clauses.has(id), `${id} is no decision`);
});

test("decisions: each variant belongs to one", () => {
  const variants = Object.values(DECISIONS).flatMap(({ variant }) => variant ?? []);
  const all = Object.entries(ALL_VARIANTS).map((pair) => pair.join("="));
  assert.deepEqual(variants.sort(), all.sort());
});
