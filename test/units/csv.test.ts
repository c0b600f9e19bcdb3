// kit/csv: what RFC 4180 allows, and each thing that it does not with the line it stands on.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CsvFault, parseCsv } from "../../src/kit/csv.ts";

function table(text: string) {
  const read = parseCsv(text);
  assert.ok(!(read instanceof CsvFault), read instanceof CsvFault ? `${read.line}: ${read.detail}` : "");
  const width = read.header.length;
  const records = Array.from({ length: read.fields.length / width }, (_, at) =>
    read.fields.slice(at * width, (at + 1) * width),
  );
  return { header: read.header, records };
}

function fault(text: string): [line: number, detail: string] {
  const read = parseCsv(text);
  assert.ok(read instanceof CsvFault, `accepted ${JSON.stringify(text)}`);
  return [read.line, read.detail];
}

test("lines end in LF or CRLF, also in one text, and the last may do without", () => {
  const expected = { header: ["a", "b"], records: [["1", "2"]] };
  for (const text of ["a,b\n1,2\n", "a,b\n1,2", "a,b\r\n1,2\r\n", "a,b\r\n1,2", "a,b\n1,2\r\n"])
    assert.deepEqual(table(text), expected, JSON.stringify(text));
});

test("a header alone is a table without records", () => {
  for (const text of ["a,b", "a,b\n", "a,b\r\n"]) assert.deepEqual(table(text), { header: ["a", "b"], records: [] });
});

test("a quoted field holds commas, line breaks, carriage returns and doubled quotes", () => {
  assert.deepEqual(table('"a","b ""q"""\n"1,2","x\r\ny\nz\rw"').header, ["a", 'b "q"']);
  assert.deepEqual(table('"a","b ""q"""\n"1,2","x\r\ny\nz\rw"').records, [["1,2", "x\r\ny\nz\rw"]]);
  assert.deepEqual(table('a,b\n"",""""').records, [["", '"']]);
});

test("empty fields and spaces stay as written", () => {
  assert.deepEqual(table("a,b,c\n,,\n 1 ,, x\n").records, [
    ["", "", ""],
    [" 1 ", "", " x"],
  ]);
  assert.deepEqual(table("a,b\n1,").records, [["1", ""]]);
});

test("an empty line is one empty field: a record of a table with one column, a fault in a wider one", () => {
  assert.deepEqual(table("a\n1\n\n2\n").records, [["1"], [""], ["2"]]);
  assert.deepEqual(fault("a,b\n1,2\n\n"), [3, "the number of fields is 1, but the header has 2"]);
});

test("names such as __proto__ and constructor are names", () => {
  assert.deepEqual(table("__proto__,constructor,toString\n1,2,3"), {
    header: ["__proto__", "constructor", "toString"],
    records: [["1", "2", "3"]],
  });
});

test("a text without header line", () => {
  assert.deepEqual(fault(""), [1, "the text is empty, there is no header line"]);
  assert.deepEqual(fault("\n1"), [1, "column 1 of the header has no name"]);
});

test("a header name that is blank or stands twice", () => {
  assert.deepEqual(fault("a,,c\n1,2,3"), [1, "column 2 of the header has no name"]);
  assert.deepEqual(fault('a," "\n1,2'), [1, "column 2 of the header has no name"]);
  assert.deepEqual(fault("a,b,a\n1,2,3"), [1, "columns 1 and 3 of the header have the same name"]);
  assert.deepEqual(table("a,A,a \n1,2,3").header, ["a", "A", "a "]);
});

test("too few and too many fields", () => {
  assert.deepEqual(fault("a,b\n1,2\n3\n"), [3, "the number of fields is 1, but the header has 2"]);
  assert.deepEqual(fault("a,b\r\n1,2,3\r\n"), [2, "the number of fields is 3, but the header has 2"]);
});

test("a quote that is never closed is told where it begins", () => {
  const detail = "a quoted field begins here and is never closed";
  assert.deepEqual(fault('a,b\n1,"2\n3,4\n'), [2, detail]);
  assert.deepEqual(fault('"'), [1, detail]);
  assert.deepEqual(fault('a\n"1""'), [2, detail]);
});

test("text after a closing quote", () => {
  const detail = "text after the closing quote of a field";
  assert.deepEqual(fault('a,b\n"1"x,2'), [2, detail]);
  assert.deepEqual(fault('a,b\n"1" ,2'), [2, detail]);
  assert.deepEqual(fault('a\n"x\n\ny"z'), [4, detail]);
});

test("a quote inside an unquoted field", () => {
  const detail = "a quote inside a field that does not begin with one";
  assert.deepEqual(fault('a,b\n1,2"'), [2, detail]);
  assert.deepEqual(fault('a"b\n1'), [1, detail]);
});

test("a carriage return alone ends no line", () => {
  const detail = "a carriage return without a line feed";
  assert.deepEqual(fault("a,b\r1,2\r"), [1, detail]);
  assert.deepEqual(fault("a\n1\r"), [2, detail]);
  assert.deepEqual(fault('a\n"1"\rx'), [2, detail]);
});

test("line breaks inside quoted fields count as lines of the text", () => {
  assert.deepEqual(fault('a,b\n"1\n\r\n",2\n3\n'), [5, "the number of fields is 1, but the header has 2"]);
});

test("ten MiB, plain, quoted and hostile, are read whole", () => {
  const size = 10_485_760;
  const plain = parseCsv(`a,b\n${"1234567,abc\n".repeat(size / 12)}`);
  assert.equal("fields" in plain && plain.fields.length, 2 * Math.floor(size / 12));
  const quoted = parseCsv(`a\n${'"x""y\nz"\n'.repeat(size / 9)}`);
  assert.equal("fields" in quoted && quoted.fields.at(-1), 'x"y\nz');
  assert.equal(fault(`a\n"${'""'.repeat(size / 2)}`)[0], 2);
});
