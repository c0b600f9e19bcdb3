// The decisions (contract, part 13): every gap of the specification has one, and every decision has tests with its id.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ADDITIONS, DECISIONS, GAPS } from "../src/decisions.ts";
import { CLAUSES, sourcesIn } from "./support/sources.ts";

/** The places of the specification that say "not shown", part by part. */
const GAPS_BY_PART = {
  2: ["2.themes", "2.environments", "2.webhook-fields", "2.data-source-fields", "2.user-fields"],
  3: ["3.redeploy"],
  4: [
    "2.app-fields",
    "4.list-shape",
    "4.delete-response",
    "4.create-status",
    "2.data-source-request",
    "4.user-area",
    "4.webhook-endpoints",
    "4.app-endpoints",
  ],
  5: ["5.token-response", "5.token-lifetimes", "5.scope-per-endpoint"],
  6: [
    "6.emitted-by",
    "6.events-without-account",
    "6.event-objects",
    "6.retry-schedule",
    "6.webhook-concurrency",
  ],
  7: ["7.error-body", "7.error-codes", "7.validation-status"],
  8: ["8.rate-limit", "8.rate-headers", "8.max-limit", "8.body-size", "8.field-lengths"],
  9: ["9.deprecation", "9.other-versions"],
};

test("decisions: each of the specification's 32 gaps has one, and a dozen or so are added", () => {
  const gaps = Object.values(GAPS_BY_PART).flat();
  assert.equal(gaps.length, 32);
  assert.deepEqual(Object.keys(GAPS).sort(), gaps.sort());
  assert.ok(Object.keys(ADDITIONS).length < 20);
  for (const id of Object.keys(DECISIONS)) assert.match(id, /^[1-9]\.[a-z-]+$/);
});

/** Ids of decisions and clauses at the start of strings in tests, without the aspect behind the second dot. */
const ID = /["`]([1-9]\.[a-z][a-z-]+)(?:\.[\w.-]+)?(?=["`:])/g;
/** All test files but those of the clauses, and those that use an id as a value. */
const TESTS = /^test\/(?!spec\/|decisions|scripts).*\.test\.ts$/;

test("decisions: every one has a test with its id, and every id in a test exists", () => {
  const files = sourcesIn("test").filter(({ path }) => TESTS.test(path));
  const ids = new Set(
    files.flatMap(({ text }) => Array.from(text.matchAll(ID), ([, id = ""]) => id)),
  );
  const clauses = new Set(Array.from(CLAUSES, (clause) => /^\d\.[a-z-]+/.exec(clause)?.[0] ?? ""));
  for (const id of Object.keys(DECISIONS)) assert.ok(ids.has(id), `${id} has no test`);
  for (const id of ids) assert.ok(id in DECISIONS || clauses.has(id), `${id} is no decision`);
});

test("decisions: each variant belongs to one", () => {
  const variants = Object.values(DECISIONS).flatMap(({ variant }) => variant ?? []);
  assert.deepEqual(variants.sort(), [
    "create-status=200",
    "delete-response=body",
    "error-body=flat",
    "list-shape=bare",
    "max-limit=cut",
    "rate-headers=x-ratelimit",
    "unknown-members=ignored",
    "validation-status=400",
  ]);
});
