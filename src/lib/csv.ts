// CSV parser for RFC 4180: a header line, records of as many fields, quoted fields with doubled quotes and line breaks.
// Lines end in CRLF or LF, optional on the last line; blank lines at the end are ignored. Anything else is an error
// that names its line: a guess could put values into the wrong column unnoticed. All fields are text exactly as
// written, including spaces.

class CsvError extends Error {
  constructor(text: string, offset: number, problem: string) {
    const line = text.slice(0, offset).split("\n").length;
    super(`Line ${line}: ${problem}.`);
  }
}

/** Returns the records, header first, or an error with its line, counted from 1 as in an editor. */
export function parseCsv(csv: string, maxColumns: number): string[][] | string {
  try {
    return parseRecords(withoutBlankEnd(csv), maxColumns);
  } catch (error) {
    if (error instanceof CsvError) return error.message;
    throw error;
  }
}

function withoutBlankEnd(text: string): string {
  const lineEnd = text.indexOf("\n", text.trimEnd().length);
  return lineEnd < 0 ? text : text.slice(0, lineEnd + 1);
}

function parseRecords(text: string, maxColumns: number): string[][] {
  const records: string[][] = [];
  for (let offset = 0; offset < text.length; ) {
    const { fields, end } = readRecord(text, offset, maxColumns);
    const [header = fields] = records;
    if (fields.length !== header.length)
      throw new CsvError(
        text,
        offset,
        `the number of fields is ${fields.length}, but the header has ${header.length}`,
      );
    records.push(fields);
    offset = end;
  }
  const [names = [""]] = records;
  // The name itself may be as long as the text.
  const wrong = names.findIndex((name, at) => name.trim() === "" || names.indexOf(name) < at);
  if (wrong >= 0) throw new CsvError(text, 0, `column ${wrong + 1} needs a name of its own`);
  return records;
}

/** Returns the fields of the record at `start`, and where the next one starts. */
function readRecord(text: string, start: number, maxColumns: number) {
  const separatorAt = /,|\r?\n|$/y;
  const fields: string[] = [];
  for (let offset = start; ; offset = separatorAt.lastIndex) {
    if (fields.length === maxColumns)
      throw new CsvError(text, start, `there are more than ${maxColumns} columns`);
    const isQuoted = text[offset] === '"';
    const end = isQuoted ? findQuotedEnd(text, offset) : findPlainEnd(text, offset);
    const field = text.slice(offset, end);
    fields.push(isQuoted ? field.slice(1, -1).replaceAll('""', '"') : field);
    separatorAt.lastIndex = end;
    const separator = separatorAt.exec(text)?.[0];
    if (separator === undefined)
      throw new CsvError(text, end, "a quote or a carriage return is in the wrong place");
    if (separator !== ",") return { fields, end: separatorAt.lastIndex };
  }
}

function findQuotedEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 2))
    if (text[end + 1] !== '"') return end + 1;
  throw new CsvError(text, start, "a quoted field begins here and is never closed");
}

function findPlainEnd(text: string, start: number): number {
  const special = /[",\r\n]/g;
  special.lastIndex = start;
  return special.exec(text)?.index ?? text.length;
}
