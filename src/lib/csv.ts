// CSV parser for RFC 4180: a header line, records of as many fields, quoted fields with doubled quotes and line breaks.
// Lines end in CRLF or LF, optional on the last line; blank lines at the end are ignored. Anything else is an error
// that names its line: a guess could put values into the wrong column unnoticed. All fields are text exactly as
// written, including spaces.

class CsvError extends Error {
  constructor(
    readonly offset: number,
    message: string,
  ) {
    super(message);
  }
}

/** Returns the records, header first, or an error with its line, counted from 1 as in an editor. */
export function parseCsv(csv: string, maxColumns: number): string[][] | string {
  const text = withoutBlankEnd(csv);
  try {
    return parseRecords(text, maxColumns);
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = text.slice(0, error.offset).split("\n").length;
    return `Line ${line}: ${error.message}.`;
  }
}

function parseRecords(text: string, maxColumns: number): string[][] {
  checkSeparator(text);
  const records: string[][] = [];
  for (let offset = 0; offset < text.length; ) {
    const { fields, end } = readRecord(text, offset, maxColumns);
    const [header] = records;
    if (header === undefined) checkNames(fields);
    else if (fields.length !== header.length)
      throw new CsvError(
        offset,
        `the number of fields is ${fields.length}, but the header has ${header.length}`,
      );
    records.push(fields);
    offset = end;
  }
  if (records.length === 0) throw new CsvError(0, "the text is empty, there is no header line");
  return records;
}

/** Removes trailing lines that are empty or have only spaces; the line before them stays unchanged. */
function withoutBlankEnd(text: string): string {
  const end = text.trimEnd().length;
  const lineEnd = text.indexOf("\n", end);
  return end === 0 || lineEnd < 0 ? text.slice(0, end && text.length) : text.slice(0, lineEnd + 1);
}

const OTHER_SEPARATORS = { ";": "semicolons (;)", "\t": "tabs", "|": "vertical bars (|)" };
/** The separator is detected in this many characters. */
const SAMPLE_LENGTH = 65_536;

/** Rejects a text whose first two lines, outside quotes, are separated by another character than the comma. */
function checkSeparator(text: string): void {
  const [header = "", next = header] = text
    .slice(0, SAMPLE_LENGTH)
    .replace(/"[^"]*("|$)/g, "")
    .trimEnd()
    .split("\n");
  if (header.includes(",")) return;
  for (const [character, name] of Object.entries(OTHER_SEPARATORS))
    if (header.includes(character) && next.includes(character))
      throw new CsvError(
        0,
        `the columns seem to be separated by ${name}; separate them with commas`,
      );
}

/** Errors number the columns, because a name may be as long as the text. */
function checkNames(names: readonly string[]): void {
  for (const [index, name] of names.entries()) {
    const first = names.indexOf(name);
    if (name.trim() === "") throw new CsvError(0, `column ${index + 1} of the header has no name`);
    if (first < index)
      throw new CsvError(
        0,
        `columns ${first + 1} and ${index + 1} of the header have the same name`,
      );
  }
}

/** Returns the fields of the record at `start`, and where the next one starts. */
function readRecord(text: string, start: number, maxColumns: number) {
  const fields: string[] = [];
  for (let offset = start; ; offset += 1) {
    if (fields.length === maxColumns)
      throw new CsvError(start, `there are more than ${maxColumns} columns`);
    const isQuoted = text[offset] === '"';
    const end = isQuoted ? findQuotedEnd(text, offset) : findPlainEnd(text, offset);
    const field = text.slice(offset, end);
    fields.push(isQuoted ? field.slice(1, -1).replaceAll('""', '"') : field);
    if (end === text.length) return { fields, end };
    if (text[end] === "\n") return { fields, end: end + 1 };
    if (text.startsWith("\r\n", end)) return { fields, end: end + 2 };
    if (text[end] === "\r") throw new CsvError(end, "a carriage return without a line feed");
    if (text[end] !== ",")
      throw new CsvError(
        end,
        isQuoted
          ? "text after the closing quote of a field"
          : "a quote inside a field that does not begin with one",
      );
    offset = end;
  }
}

function findQuotedEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 2))
    if (text[end + 1] !== '"') return end + 1;
  throw new CsvError(start, "a quoted field begins here and is never closed");
}

function findPlainEnd(text: string, start: number): number {
  const special = /[",\r\n]/g;
  special.lastIndex = start;
  return special.exec(text)?.index ?? text.length;
}
