// domain/data-sources: which bodies of POST /data-sources are refused before anything is kept, and how the faults are told.
import assert from "node:assert/strict";
import { test } from "node:test";
import { dataSourceDraft } from "../../src/domain/data-sources.ts";
import { Refusal } from "../../src/domain/refusal.ts";
import { parseJson } from "../../src/http/input.ts";
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

test("7.error-body.data-faults: twenty faults of rows are told, the rest are counted", () => {
  const rows = Array.from({ length: 20 }, (_, at) => `#/data/${at} must be a flat object`);
  assert.deepEqual(faultsOf(json(...Array(20).fill(1))), rows);
  assert.deepEqual(faultsOf(json(...Array(22).fill(1))), [...rows, ...Array(2).fill("# is wrong, too")]);
});

test("8.bounds: an object of over 250,000 members is refused before it is parsed, an array of more items is not", () => {
  const refused = (text: string) => {
    const read = parseJson(Buffer.from(text));
    return read instanceof Refusal ? read.reason : undefined;
  };
  const [open, member] = ['[{"":[1,2]},{', '"":1,'];
  const errors = [{ pointer: "#", detail: "has an object of over 250000 members" }];
  assert.deepEqual(refused(open + member.repeat(250_000)), { code: "validation_failed", errors });
  assert.equal(refused(open + member.repeat(249_999))?.code, "invalid_json", "it ends before the last member");
  assert.equal(refused(`${open}${member.repeat(249_999)}"a,b{":1}]`), undefined);
  assert.equal(refused(`[${"1,".repeat(300_000)}1]`), undefined);
});
