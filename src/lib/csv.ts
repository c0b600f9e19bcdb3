// CSV parser for RFC 4180: a header line, records of as many fields, quoted fields with doubled quotes and line breaks.
// Lines end in CRLF or LF, optional on the last line; blank lines at the end are ignored. Anything else is an error
// that names its line: a guess could put values into the wrong column unnoticed. All fields are text exactly as
// written, including spaces.

/** Returns the records, header first, or an error with its line, counted from 1 as in an editor. */
export function parseCsv(csv: string, maxColumns: number): string[][] | string {
  // Without blank lines at the end.
  const lineEnd = csv.indexOf("\n", csv.trimEnd().length);
  const text = lineEnd < 0 ? csv : csv.slice(0, lineEnd + 1);
  const separatorAt = /,|\r?\n|$/y;
  const records: string[][] = [];
  let fields: string[] = [];
  let recordStart = 0;
  const fail = (offset: number, problem: string): string =>
    `Line ${text.slice(0, offset).split("\n").length}: ${problem}.`;

  for (let start = 0; start < text.length || fields.length > 0; start = separatorAt.lastIndex) {
    if (fields.length === maxColumns)
      return fail(recordStart, `there are more than ${maxColumns} columns`);
    const isQuoted = text[start] === '"';
    const end = isQuoted ? findQuotedEnd(text, start) : findPlainEnd(text, start);
    if (end < 0) return fail(start, "a quoted field begins here and is never closed");
    const field = text.slice(start, end);
    fields.push(isQuoted ? field.slice(1, -1).replaceAll('""', '"') : field);
    separatorAt.lastIndex = end;
    const separator = separatorAt.exec(text)?.[0];
    if (separator === undefined)
      return fail(end, "a quote or a carriage return is in the wrong place");
    if (separator === ",") continue;
    const [{ length } = fields] = records;
    if (fields.length !== length)
      return fail(
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
  if (wrong < 0) return records;
  return fail(0, `column ${wrong + 1} has no name or repeats an earlier one`);
}

/** Returns the end of a quoted field; -1 if it is never closed. */
function findQuotedEnd(text: string, start: number): number {
  let end = start;
  do end = text.indexOf('"', end + 1) + 1;
  while (end > 0 && text[end] === '"');
  return end || -1;
}

function findPlainEnd(text: string, start: number): number {
  const special = /[",\r\n]|$/g;
  special.lastIndex = start;
  return special.exec(text)?.index ?? start;
}
