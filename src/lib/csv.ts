// CSV parser for RFC 4180: a header line, records of as many fields, quoted fields with doubled quotes and line breaks.
// Lines end in CRLF or LF, optional on the last line; blank lines at the end are ignored. Anything else is an error
// that names its line: a guess could put values into the wrong column unnoticed. All fields are text exactly as
// written, including spaces.

class CsvError extends Error {
  constructor(
    readonly offset: number,
    problem: string,
  ) {
    super(problem);
  }
}

/** Returns the records, header first, or an error with its line, counted from 1 as in an editor. */
export function parseCsv(csv: string, maxColumns: number): string[][] | string {
  try {
    return parseRecords(withoutBlankEnd(csv), maxColumns);
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = csv.slice(0, error.offset).split("\n").length;
    return `Line ${line}: ${error.message}.`;
  }
}

function withoutBlankEnd(text: string): string {
  const lineEnd = text.indexOf("\n", text.trimEnd().length);
  return lineEnd < 0 ? text : text.slice(0, lineEnd + 1);
}

function parseRecords(text: string, maxColumns: number): string[][] {
  const separatorAt = /,|\r?\n|$/y;
  const records: string[][] = [];
  let fields: string[] = [];
  let recordStart = 0;
  for (let start = 0; start < text.length || fields.length > 0; start = separatorAt.lastIndex) {
    if (fields.length === maxColumns)
      throw new CsvError(recordStart, `there are more than ${maxColumns} columns`);
    const isQuoted = text[start] === '"';
    const end = isQuoted ? findQuotedEnd(text, start) : findPlainEnd(text, start);
    const field = text.slice(start, end);
    fields.push(isQuoted ? field.slice(1, -1).replaceAll('""', '"') : field);
    separatorAt.lastIndex = end;
    const separator = separatorAt.exec(text)?.[0];
    if (separator === undefined)
      throw new CsvError(end, "a quote or a carriage return is in the wrong place");
    if (separator === ",") continue;
    const [{ length } = fields] = records;
    if (fields.length !== length)
      throw new CsvError(
        recordStart,
        `the number of fields is ${fields.length}, but the header has ${length}`,
      );
    records.push(fields);
    fields = [];
    recordStart = separatorAt.lastIndex;
  }
  const [names = [""]] = records;
  // The name itself may be as long as the text.
  const wrong = names.findIndex((name, index) => name.trim() === "" || names.indexOf(name) < index);
  if (wrong >= 0)
    throw new CsvError(0, `column ${wrong + 1} has no name or repeats an earlier one`);
  return records;
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
