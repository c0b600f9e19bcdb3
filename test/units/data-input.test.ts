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

test("every fault of the body is told, with its place", () => {
  assert.deepEqual(faultsOf({ name: "", type: "xml", app_id: 5, data: 1, more: 1 }), [
    "#/more is not a known member",
    "#/name must have 1 to 200 characters",
    "#/app_id must be a string",
    '#/type must be one of "json", "csv"',
  ]);
  assert.deepEqual(faultsOf({}), ["#/name is required", "#/type is required", "#/data is required"]);
  assert.deepEqual(faultsOf({ name: "x", type: "csv" }), ["#/data is required"]);
  for (const body of [null, [], "x", 1]) assert.deepEqual(faultsOf(body), ["# must be an object"]);
});

test("a name has 1 to 200 characters", () => {
  const body = (name: string) => ({ name, type: "csv", data: "a" });
  assert.ok("value" in parse(dataSourceDraft, body("x".repeat(200))));
  assert.deepEqual(faultsOf(body("x".repeat(201))), ["#/name must have 1 to 200 characters"]);
  assert.deepEqual(faultsOf(body("")), ["#/name must have 1 to 200 characters"]);
});

test("rows of JSON are flat objects of text, numbers, booleans and nulls", () => {
  const body = (data: unknown) => ({ name: "x", type: "json", data });
  for (const data of [{}, "a,b", null, 1])
    assert.deepEqual(faultsOf(body(data)), ["#/data must be an array of flat objects"]);
  const scalar = "must be a string, a number, true, false or null";
  assert.deepEqual(faultsOf(body([{ a: 1 }, [], null, "x", { "x/y~z": {} }, { a: [], b: 1 }])), [
    "#/data/1 must be a flat object",
    "#/data/2 must be a flat object",
    "#/data/3 must be a flat object",
    `#/data/4/x~1y~0z ${scalar}`,
    `#/data/5/a ${scalar}`,
  ]);
  assert.deepEqual(faultsOf(body(JSON.parse('[{"a":1e999},{"__proto__":{}}]'))), [
    "#/data/0/a must be a finite number",
    `#/data/1/__proto__ ${scalar}`,
  ]);
});

test("8.bounds.columns: a row of JSON has 100 members at most", () => {
  const row = (members: number) => Object.fromEntries(Array.from({ length: members }, (_, n) => [`c${n}`, n]));
  const body = (...data: unknown[]) => ({ name: "x", type: "json", data });
  assert.ok("value" in parse(dataSourceDraft, body(row(100))));
  assert.deepEqual(faultsOf(body({}, row(101), row(102))), [
    "#/data/1 must have 100 members at most",
    "#/data/2 must have 100 members at most",
  ]);
});

test("text that could not be given back as it came is refused: lone surrogates and NUL, in values, names and CSV", () => {
  assert.deepEqual(faultsOf({ name: "x", type: "json", data: [{ a: "\ud800" }, { "b\0": 1 }, { "\udc00": 1 }] }), [
    "#/data/0/a must not contain a lone surrogate",
    "#/data/1 has a member whose name must not contain a NUL character",
    "#/data/2 has a member whose name must not contain a lone surrogate",
  ]);
  assert.deepEqual(faultsOf({ name: "x", type: "json", data: [{ "\udc00": {} }] }), [
    "#/data/0 has a member whose name must not contain a lone surrogate",
    "#/data/0/%EF%BF%BD must be a string, a number, true, false or null",
  ]);
  assert.deepEqual(faultsOf({ name: "x", type: "csv", data: "a", "\ud800": 1 }), ["#/%EF%BF%BD is not a known member"]);
  assert.deepEqual(faultsOf({ name: "x", type: "csv", data: "a\n\ud800" }), [
    "#/data must not contain a lone surrogate",
  ]);
  assert.deepEqual(faultsOf({ name: "x", type: "csv", data: "a\n\0" }), ["#/data must not contain a NUL character"]);
  assert.deepEqual(faultsOf({ name: "x", type: "csv", data: [] }), ["#/data must be a string of CSV"]);
});

test("7.error-body.data-faults: twenty faults of rows are listed, the rest are counted", () => {
  const listed = (count: number) => faultsOf({ name: "x", type: "json", data: Array(count).fill(1) });
  assert.equal(listed(20).length, 20);
  assert.equal(listed(20)[0], "#/data/0 must be a flat object");
  for (const count of [21, 25]) {
    const [sum, first, ...others] = listed(count);
    assert.equal(sum, `#/data has ${count} faults; the first of them are listed`);
    assert.equal(first, "#/data/0 must be a flat object");
    assert.equal(others.length, 18);
  }
});
