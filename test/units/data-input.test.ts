// domain/data-sources: which bodies of POST /data-sources are refused before anything is kept, and how the faults are told.
import assert from "node:assert/strict";
import { test } from "node:test";
import { dataSourceDraft } from "../../src/domain/data-sources.ts";
import { parse, pointer } from "../../src/kit/schema.ts";

/** The faults of a body as an answer shows them. */
function faultsOf(body: unknown): string[] {
  const read = parse(dataSourceDraft, body);
  assert.ok("faults" in read, "accepted");
  return read.faults.map(({ path, detail }) => `${pointer(path)} ${detail}`);
}

const json = (...data: readonly unknown[]) => ({ name: "x", type: "json", data });
const csv = (data: unknown) => ({ name: "x", type: "csv", data });
const SCALAR = "must be a string, a number, true, false or null";
const row = (members: number) => Object.fromEntries(Array.from({ length: members }, (_, n) => [`c${n}`, n]));

for (const [what, body, ...faults] of [
  [
    "every fault of the body",
    { name: "", type: "xml", app_id: 5, data: 1, more: 1 },
    "#/more is not a known member",
    "#/name must have 1 to 200 characters",
    "#/app_id must be a string",
    '#/type must be one of "json", "csv"',
  ],
  ["what is missing", {}, "#/name is required", "#/type is required", "#/data is required"],
  ["missing data of a known type", { name: "x", type: "csv" }, "#/data is required"],
  ["null", null, "# must be an object"],
  ["an array", [], "# must be an object"],
  ["an object where rows should be", { ...json(), data: {} }, "#/data must be an array of flat objects"],
  ["text where rows should be", { ...json(), data: "a,b" }, "#/data must be an array of flat objects"],
  ["null where rows should be", { ...json(), data: null }, "#/data must be an array of flat objects"],
  [
    "rows that are no flat objects",
    json({ a: 1 }, [], null, "x", { "x/y~z": {} }, { a: [], b: 1 }),
    "#/data/1 must be a flat object",
    "#/data/2 must be a flat object",
    "#/data/3 must be a flat object",
    `#/data/4/x~1y~0z ${SCALAR}`,
    `#/data/5/a ${SCALAR}`,
  ],
  [
    "values that are none of JSON's, and names of any kind",
    json(...JSON.parse('[{"a":1e999},{"__proto__":{}}]')),
    "#/data/0/a must be a finite number",
    `#/data/1/__proto__ ${SCALAR}`,
  ],
  [
    "lone surrogates and NUL, in values and names",
    json({ a: "\ud800" }, { "b\0": 1 }, { "\udc00": {} }),
    "#/data/0/a must not contain a lone surrogate",
    "#/data/1 has a member whose name must not contain a NUL character",
    "#/data/2 has a member whose name must not contain a lone surrogate",
    `#/data/2/%EF%BF%BD ${SCALAR}`,
  ],
  ["a lone surrogate in CSV", csv("a\n\ud800"), "#/data must not contain a lone surrogate"],
  ["NUL in CSV", csv("a\n\0"), "#/data must not contain a NUL character"],
  ["rows where CSV should be", csv([]), "#/data must be a string of CSV"],
  ["a member with a lone surrogate", { ...csv("a"), "\ud800": 1 }, "#/%EF%BF%BD is not a known member"],
] as const)
  test(`${what}: told with its place`, () => assert.deepEqual(faultsOf(body), faults));

test("8.bounds.columns: a row of JSON has 100 members at most", () => {
  assert.ok("value" in parse(dataSourceDraft, json(row(100))));
  const faults = [1, 2].map((at) => `#/data/${at} must have 100 members at most`);
  assert.deepEqual(faultsOf(json({}, row(101), row(102))), faults);
});

test("7.error-body.data-faults: twenty faults of rows are listed, the rest are counted", () => {
  const listed = (count: number) => faultsOf(json(...Array(count).fill(1)));
  assert.equal(listed(20).length, 20);
  assert.equal(listed(20)[0], "#/data/0 must be a flat object");
  for (const count of [21, 25]) {
    const [sum, first, ...others] = listed(count);
    assert.equal(sum, `#/data has ${count} faults; the first of them are listed`);
    assert.equal(first, "#/data/0 must be a flat object");
    assert.equal(others.length, 18);
  }
});
