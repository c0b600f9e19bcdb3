// The data of a data source: lib/csv accepts what RFC 4180 allows and reports each violation with its line; the type of
// each column, the values of its cells, and the limits of columns and size; JSON parsing that keeps numbers as written.
// test/choices/2-apps lists the numbers that a double represents exactly.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isExactNumber,
  parseCsvTable,
  parseExactJson,
  parseObjects,
  type Table,
} from "../../src/domain/columns.ts";
import { CELLS_MAX, type Cell, type Row } from "../../src/domain/model.ts";
import { parseCsv } from "../../src/lib/csv.ts";

function table(text: string) {
  const result = parseCsv(text, 5);
  assert.ok(typeof result !== "string", `${result} in ${JSON.stringify(text)}`);
  const [header, ...records] = result;
  return { header, records };
}

function fault(text: string) {
  const result = parseCsv(text, 5);
  assert.ok(typeof result === "string", `accepted ${JSON.stringify(text)}`);
  return result;
}

test("lines end in LF or CRLF, even mixed in one text, and the last line end is optional", () => {
  for (const text of ["a,b\n1,2", "a,b\r\n1,2\r\n", "a,b\n1,2\r\n"])
    assert.deepEqual(table(text), { header: ["a", "b"], records: [["1", "2"]] });
  assert.deepEqual(table("a,b"), { header: ["a", "b"], records: [] });
});

test("blank lines at the end are ignored, with or without spaces; other blank lines are records", () => {
  for (const end of ["\n\n", "\r\n\r\n", "\n \n", "\n\n  ", "\n\t \r\n\r\n"])
    assert.deepEqual(table(`a${end}`), { header: ["a"], records: [] }, JSON.stringify(end));
  assert.deepEqual(table("a\n\n1\n\n").records, [[""], ["1"]]);
  assert.deepEqual(table('a\n1\n""\n\n').records, [["1"], [""]]);
  assert.deepEqual(table("a,b\n1, \n\n").records, [["1", " "]]);
});

test("quoted, empty and blank fields are kept as written; column names may be any text in any case", () => {
  for (const [text, ...expected] of [
    ['"a","b ""q"""\n"1,2","x\r\ny\nz\rw"', ["a", 'b "q"'], ["1,2", "x\r\ny\nz\rw"]],
    ['a,b\n"",""""', ["a", "b"], ["", '"']],
    ["a,b,c\n,,\n 1 ,, x\n", ["a", "b", "c"], ["", "", ""], [" 1 ", "", " x"]],
    ["a,b\n1,", ["a", "b"], ["1", ""]],
    ["a\n1\n\n2\n", ["a"], ["1"], [""], ["2"]],
    [
      "__proto__,constructor,toString\n1,2,3",
      ["__proto__", "constructor", "toString"],
      ["1", "2", "3"],
    ],
    ["a,A,a \n1,2,3", ["a", "A", "a "], ["1", "2", "3"]],
  ] as const) {
    const { header, records } = table(text);
    assert.deepEqual([header, ...records], expected);
  }
});

/** The error messages, each with the texts that cause it and the reported line. */
const FAULTS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  "column 1 has no name or repeats an earlier one": { "": 1, " \r\n\t\n ": 1, "\n1": 1 },
  "column 2 has no name or repeats an earlier one": { "a,,c\n1,2,3": 1, 'a," "\n1,2': 1 },
  "column 3 has no name or repeats an earlier one": { "a,b,a\n1,2,3": 1 },
  "the number of fields is 3, but the header has 2": { "a,b\r\n1,2,3\r\n": 2 },
  "the number of fields is 1, but the header has 2": {
    "a,b\n1,2\n\n3,4\n": 3,
    'a,b\n"1\n\r\n",2\n3\n': 5,
  },
  "a quoted field begins here and is never closed": { '"': 1, 'a,b\n1,"2\n3,4\n': 2, 'a\n"1""': 2 },
  "a quote or a carriage return is in the wrong place": {
    'a,b\n"1"x,2': 2,
    'a\n"x\n\ny"z': 4,
    'a"b\n1': 1,
    "a,b\r1,2\r": 1,
    "a\n1\r": 2,
    'a\n"1"\rx': 2,
  },
  "there are more than 5 columns": { "a,b,c,d,e,f": 1, 'a\n1,2,3,4,5,"never closed': 2 },
};

test("violations of RFC 4180 are reported with their line, counting lines inside quoted fields", () => {
  for (const [detail, texts] of Object.entries(FAULTS))
    for (const [text, line] of Object.entries(texts))
      assert.equal(fault(text), `Line ${line}: ${detail}.`, JSON.stringify(text));
});

function assertTable(table: Table | string) {
  assert.ok(typeof table !== "string", String(table));
  return table;
}
const csv = (text: string) => assertTable(parseCsvTable(text));
const json = (rows: readonly Row[]) => assertTable(parseObjects(rows));

/** Returns the type of the first column, and its cells. */
const first = ({ columns, rows }: Table) => [columns[0]?.type, ...rows.map(([cell]) => cell)];
const csvColumn = (...fields: readonly string[]) => first(csv(`c\n${fields.join("\n")}\n`));
const jsonColumn = (...cells: readonly Cell[]) => first(json(cells.map((c) => ({ c }))));

/** Returns "name:type" of each column. */
const types = ({ columns }: Table) => columns.map(({ name, type }) => `${name}:${type}`).join(" ");

const INTEGER_MAX = "9007199254740991";

test("2.data-reading.csv: plain decimal numbers that a double holds exactly are numbers", () => {
  const plain = ["0", "-1", "2.50", "-0.001", INTEGER_MAX, "0.30000000000000004", "-0.0"];
  assert.deepEqual(csvColumn(...plain), ["number", ...plain.map(Number)]);
});

test("2.data-reading.csv: codes, inexact numbers and other notations make the column text, as written", () => {
  const codes = "007|-01|+1|1e5|0x10|Infinity|NaN|1.|.5| 1|1 |1,5|1_000|yes|TRUE|true";
  const inexact = `9007199254740992|0.1234567890123456789|${INTEGER_MAX}.4`;
  for (const text of `${codes}|${inexact}`.split("|"))
    assert.deepEqual(csvColumn("1.50", `"${text}"`), ["string", "1.50", text]);
});

test("2.data-reading.csv: only true and false are booleans", () => {
  assert.deepEqual(csvColumn("true", "false"), ["boolean", true, false]);
  for (const text of ["TRUE", "1"])
    assert.deepEqual(csvColumn("true", text), ["string", "true", text]);
});

const DATETIMES =
  "2026-01-31 2024-02-29 2026-12-31T23:59:59Z 2026-01-01T00:00Z 2026-01-01T00:00:00.123456789+23:59";
const NO_DATETIMES =
  "2026-02-29|2026-04-31|2026-00-01|2026-13-01|2026-1-1|20260101|2026-01-01T00:00:00|2026-01-01 00:00:00Z|" +
  "2026-01-01T24:00Z|2026-01-01T20:60Z|2026-01-01T00:00:00+24:00|2026-01-01Z|01/02/2026|2026-01-01\n";

test("2.data-reading.csv: dates and date-times with a zone are datetimes and stay as written, as in JSON", () => {
  const datetimes = DATETIMES.split(" ");
  assert.deepEqual(csvColumn(...datetimes), ["datetime", ...datetimes]);
  assert.deepEqual(jsonColumn(...datetimes, null), ["datetime", ...datetimes, null]);
  for (const text of NO_DATETIMES.split("|"))
    assert.equal(jsonColumn("2026-01-01", text)[0], "string", text);
});

test("2.data-reading.empty-field: an empty field is null, and a column without values is a string", () => {
  const table = csv('n,b,d,s,e\n1,true,2026-01-01,x,\n,,,"",\n');
  assert.equal(types(table), "n:number b:boolean d:datetime s:string e:string");
  assert.deepEqual(table.rows[1], [null, null, null, null, null]);
});

test("2.data-reading.json: a column has the common type of its values, and mixed types become text", () => {
  for (const [type, cells, texts] of [
    ["number", [2 ** 53 - 1, null, -2.5]],
    ["boolean", [true, false, null]],
    ["string", ["1", "", null]],
    ["string", [1, "x", true, null, 1e21], ["1", "x", "true", null, "1e+21"]],
    ["string", [2 ** 53, 1], ["9007199254740992", "1"]],
    ["string", [Infinity, 1], ["Infinity", "1"]],
    ["string", ["2026-01-01", 5], ["2026-01-01", "5"]],
  ] as const)
    assert.deepEqual(jsonColumn(...cells), [type, ...(texts ?? cells)]);
});

test("2.data-reading.missing-member: a missing member is null, and columns are in order of appearance", () => {
  const table = json([{ b: 1 }, { a: "x", b: 2 }]);
  assert.equal(types(table), "b:number a:string");
  assert.deepEqual(table.rows, [
    [1, null],
    [2, "x"],
  ]);
  assert.deepEqual(json([]), { columns: [], rows: [] });
});

test("8.bounds.cells: rows with missing members cannot produce more cells than allowed", () => {
  const wide = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`c${at}`, 1]));
  const rows = [wide, ...Array<Row>(CELLS_MAX / 100).fill({})];
  assert.equal(json(rows.slice(1)).rows.length, CELLS_MAX / 100);
  assert.equal(parseObjects(rows), "There are more than 1000000 cells (rows times columns).");
});

/** The arguments of the `keep` call; empty if there was no call. */
function keepCall(json: string) {
  const calls: unknown[] = [];
  const parsed = parseExactJson(json, (...values) => calls.push(...values));
  assert.deepEqual(parsed, JSON.parse(json));
  return calls;
}

test("numbers: megabytes of numbers, escapes or digits are parsed in linear time", () => {
  const zeros = "0".repeat(1_000_000);
  const [, written] = keepCall(`[${"1.50,".repeat(100_000)}1]`);
  assert.equal(JSON.stringify(written), `[${'"1.50",'.repeat(100_000)}1]`);
  assert.deepEqual(keepCall(`["${'\\"'.repeat(zeros.length)}"]`), []);
  assert.equal(String(keepCall(`[1${zeros}]`)[1]), `1${zeros}`);
  assert.equal(isExactNumber(`1.${zeros}`), true);
});
