// domain/columns: the type of each column, the values of its cells, and the limits of columns and size.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CELLS_MAX, parseCsvTable, parseObjects, type Table } from "../../src/domain/columns.ts";
import type { Row } from "../../src/domain/model.ts";

type Cells = readonly (string | number | boolean | null)[];

function made(table: Table | string): Table {
  assert.ok(typeof table !== "string", String(table));
  return table;
}

const csv = (text: string) => made(parseCsvTable(text));
const json = (rows: readonly Row[]) => made(parseObjects(rows));

/** The type of the first column, and its cells. */
const first = ({ columns, rows }: Table) => [columns[0]?.type, ...rows.map(([cell]) => cell)];
const csvColumn = (...fields: readonly string[]) => first(csv(`c\n${fields.join("\n")}\n`));
const jsonColumn = (...cells: Cells) => first(json(cells.map((c) => ({ c }))));

/** "name:type" of each. */
const shown = ({ columns }: Table) => columns.map(({ name, type }) => `${name}:${type}`).join(" ");

test("2.data-reading.csv: plain decimal numbers are numbers", () => {
  assert.deepEqual(csvColumn("0", "-1", "2.50", "1000000", "-0.001"), [
    "number",
    0,
    -1,
    2.5,
    1_000_000,
    -0.001,
  ]);
  for (const text of "007|-01|+1|1e5|0x10|Infinity|NaN|1.|.5| 1|1 |1,5|1_000|--1".split("|"))
    assert.deepEqual(csvColumn("1", `"${text}"`), ["string", "1", text]);
});

test("2.data-reading.csv: whole numbers are numbers up to 2^53 - 1 and text beyond", () => {
  assert.deepEqual(csvColumn("9007199254740991"), ["number", 9_007_199_254_740_991]);
  for (const text of ["9007199254740992", "-9007199254740992"])
    assert.deepEqual(csvColumn(text), ["string", text]);
  for (const { length } of ["9".repeat(308), "9".repeat(309)])
    assert.equal(csvColumn(`${"9".repeat(length)}.5`)[0], "string");
});

test("2.data-reading.csv: a fraction is a number if a double represents it exactly; any other makes the column text, as written", () => {
  const good = [
    "1.50",
    "0.1",
    "-0.0",
    "-0",
    "0.30000000000000004",
    "9007199254740991.0",
    `0.${"0".repeat(323)}5`,
  ];
  assert.deepEqual(csvColumn(...good).slice(0, 3), ["number", 1.5, 0.1]);
  for (const text of [
    "0.1234567890123456789",
    "9007199254740991.4",
    `0.${"0".repeat(330)}1`,
    "123456789.123456789",
  ])
    assert.deepEqual(csvColumn("1.50", text, "007"), ["string", "1.50", text, "007"]);
});

test("2.data-reading.csv: true and false are booleans", () => {
  assert.deepEqual(csvColumn("true", "false"), ["boolean", true, false]);
  for (const text of ["TRUE", "yes", "1", "t", ""])
    assert.notEqual(csvColumn("true", text, "x")[0], "boolean", text);
  assert.deepEqual(csvColumn("true", "True"), ["string", "true", "True"]);
});

const DATETIMES =
  "2026-01-31 2024-02-29 2000-02-29 2026-12-31T23:59:59Z 2026-01-01T00:00Z 2026-01-01T00:00:00.123456789+23:59 " +
  "2026-01-01T12:30:00-05:00 2026-01-01T19:59:59-09:59";
const NO_DATETIMES =
  "2026-02-29|2100-02-29|2026-04-31|2026-00-01|2026-13-01|2026-01-00|2026-01-32|2026-1-1|20260101|2026-01-01T00:00:00|" +
  "2026-01-01T20:00|2026-01-01 00:00:00Z|2026-01-01T24:00:00Z|2026-01-01T24:00Z|2026-01-01T00:60:00Z|" +
  "2026-01-01T20:60Z|2026-01-01T00:00:60Z|2026-01-01T00:00:00+24:00|2026-01-01T00:00:00+01:60|" +
  "2026-01-01T00:00:00.Z|2026-01-01Z|01/02/2026|2026-01-01\n";

test("2.data-reading.csv: dates and date-times with a zone are datetimes and stay as written, as in JSON", () => {
  const datetimes = DATETIMES.split(" ");
  assert.deepEqual(csvColumn(...datetimes), ["datetime", ...datetimes]);
  assert.deepEqual(jsonColumn(...datetimes, null), ["datetime", ...datetimes, null]);
  for (const text of NO_DATETIMES.split("|")) {
    assert.equal(csvColumn("2026-01-01", `"${text}"`)[0], "string", text);
    assert.equal(jsonColumn("2026-01-01", text)[0], "string", text);
  }
});

test("2.data-reading.empty-field: an empty field is null and does not affect the column's type", () => {
  const table = csv('n,b,d,s\n1,true,2026-01-01,x\n,,,""\n');
  assert.equal(shown(table), "n:number b:boolean d:datetime s:string");
  assert.deepEqual(table.rows[1], [null, null, null, null]);
});

test("2.data-reading.empty-column: a column without any value is a string", () => {
  assert.equal(shown(csv("a,b\n,1\n,2\n")), "a:string b:number");
  assert.deepEqual([shown(csv("a,b\n")), csv("a,b\n").rows], ["a:string b:string", []]);
  assert.deepEqual(jsonColumn(null, null), ["string", null, null]);
});

test("2.data-reading.json: a column has the common type of its values, and mixed types become text", () => {
  for (const [type, cells, texts] of [
    ["number", [1, null, -2.5]],
    ["boolean", [true, false, null]],
    ["string", ["1", "", null]],
    ["string", [1, "x", true, null, 1e21], ["1", "x", "true", null, "1e+21"]],
    ["number", [2 ** 53 - 1, -(2 ** 53 - 1), 0.5]],
    ["string", [2 ** 53, 1], ["9007199254740992", "1"]],
    ["string", [-1e300, 0.5], ["-1e+300", "0.5"]],
    ["string", [1, false], ["1", "false"]],
    ["string", ["2026-01-01", 5], ["2026-01-01", "5"]],
  ] as const)
    assert.deepEqual(jsonColumn(...cells), [type, ...(texts ?? cells)]);
});

test("2.data-reading.missing-member: a missing member is null, and columns are in order of appearance", () => {
  const table = json([{ b: 1 }, { a: "x", b: 2 }, {}]);
  assert.equal(shown(table), "b:number a:string");
  assert.equal(JSON.stringify(table.rows), '[[1,null],[2,"x"],[null,null]]');
  assert.deepEqual(json([]), { columns: [], rows: [] });
  assert.deepEqual(json([{}, {}]), { columns: [], rows: [[], []] });
});

const names = (count: number) => Array.from({ length: count }, (_, at) => `c${at}`);

const TOO_MANY = "There are more than 1000000 cells (rows times columns).";

test("8.bounds.cells: rows with missing members cannot produce more cells than allowed", () => {
  const wide = Object.fromEntries(names(100).map((name) => [name, 1]));
  const rows = Math.floor(CELLS_MAX / 100);
  assert.equal(json([wide, ...Array<Row>(rows - 1).fill({})]).rows.length, rows);
  assert.equal(parseObjects([wide, ...Array<Row>(rows).fill({})]), TOO_MANY);
  assert.equal(json(Array<Row>(CELLS_MAX).fill({})).rows.length, CELLS_MAX);
  assert.equal(parseObjects(Array<Row>(CELLS_MAX + 1).fill({})), TOO_MANY);
});
