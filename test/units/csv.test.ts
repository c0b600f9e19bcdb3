// lib/csv: accepts what RFC 4180 allows and reports each violation with its line.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCsv } from "../../src/lib/csv.ts";

function table(text: string) {
  const result = parseCsv(text, 5);
  assert.ok(typeof result !== "string", `${result} in ${JSON.stringify(text)}`);
  const [header, ...records] = result;
  return { header, records };
}

function fault(text: string): string | undefined {
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
  "column 1 needs a name of its own": { "": 1, " \r\n\t\n ": 1, "\n1": 1 },
  "column 2 needs a name of its own": { "a,,c\n1,2,3": 1, 'a," "\n1,2': 1 },
  "column 3 needs a name of its own": { "a,b,a\n1,2,3": 1 },
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

test("a MiB of plain or quoted text and ten MiB of quotes are read whole", () => {
  const size = 1_048_576;
  const plain = table(`a,b\n${"1234567,abc\n".repeat(size / 12)}`);
  assert.equal(plain.records.length, Math.floor(size / 12));
  const quoted = table(`a\n${'"x""y\nz"\n'.repeat(size / 9)}`);
  assert.deepEqual(quoted.records.at(-1), ['x"y\nz']);
  assert.match(fault(`a\n"${'""'.repeat(size * 5)}`) ?? "", /^Line 2: a quoted field begins here/);
});
