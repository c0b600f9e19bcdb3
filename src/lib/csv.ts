// CSV parser for RFC 4180: a header line, records of as many fields, quoted fields with doubled quotes and line breaks.
// Lines end in CRLF or LF, optional on the last line; blank lines at the end are ignored. Anything else is an error
// that names its line: a guess could put values into the wrong column unnoticed. All fields are text exactly as
// written, including spaces. Time is linear in the input, and nothing is retained.

// Comparing character codes takes a fifth of the time of comparing characters.
const [QUOTE, COMMA, LINE_FEED, CARRIAGE_RETURN] = [0x22, 0x2c, 0x0a, 0x0d] as const;

/** Formats a parse error. Lines count from 1, as in an editor, including those inside quoted fields. */
function fault(text: string, before: number, detail: string): string {
  let line = 1;
  for (let at = 0; at < before; at += 1) if (text.charCodeAt(at) === LINE_FEED) line += 1;
  return `Line ${line}: ${detail}.`;
}

/** Yields the records, header first, with at most `most` fields; an error text comes last. */
export function* parseCsv(
  given: string,
  most: number,
): Generator<readonly string[] | string, void> {
  const text = withoutBlankEnd(given);
  const separator = otherSeparator(text);
  if (separator !== undefined)
    return yield fault(
      text,
      0,
      `the columns seem to be separated by ${separator}; separate them with commas`,
    );
  let header: readonly string[] | undefined;
  for (let at = 0; at < text.length; ) {
    const fields: string[] = [];
    const end = readRecord(text, at, fields, most);
    if (typeof end === "string") return yield end;
    const invalid = header ? unfitCount(fields.length, header.length) : unfitNames(fields);
    if (invalid) return yield fault(text, at, invalid);
    header ??= fields;
    yield fields;
    at = end;
  }
  if (header === undefined) yield fault(text, 0, "the text is empty, there is no header line");
}

/** Removes trailing lines that are empty or have only spaces; the line before them stays unchanged. */
function withoutBlankEnd(text: string): string {
  const end = text.trimEnd().length;
  const lineEnd = text.indexOf("\n", end);
  return end === 0 || lineEnd < 0 ? text.slice(0, end && text.length) : text.slice(0, lineEnd + 1);
}

const OTHER_SEPARATORS = { ";": "semicolons (;)", "\t": "tabs", "|": "vertical bars (|)" };
/** The separator is detected in this many characters. */
const FIRST_CHARACTERS = 65_536;

/** Returns the separator of the first two lines, outside quotes, if it is not the comma. */
function otherSeparator(text: string): string | undefined {
  const [header = "", next = header] = text
    .slice(0, FIRST_CHARACTERS)
    .replace(/"[^"]*("|$)/g, "")
    .trimEnd()
    .split("\n");
  const count = (line: string, sign: string) => line.split(sign).length - 1;
  const [commas, nextCommas] = [count(header, ","), count(next, ",")];
  const isThere = ([sign]: readonly [string, string]) => {
    const [signs, nextSigns] = [count(header, sign), count(next, sign)];
    // A header with commas is invalid anyway if the next line has another number of them.
    return (
      signs > 0 && nextSigns > 0 && (commas === 0 || (commas !== nextCommas && signs === nextSigns))
    );
  };
  return Object.entries(OTHER_SEPARATORS).find(isThere)?.[1];
}

const unfitCount = (count: number, width: number): string | undefined =>
  count === width ? undefined : `the number of fields is ${count}, but the header has ${width}`;

/** Errors number the columns, because a name may be as long as the text. */
function unfitNames(names: readonly string[]): string | undefined {
  for (const [at, name] of names.entries()) {
    const first = names.indexOf(name);
    if (name.trim() === "") return `column ${at + 1} of the header has no name`;
    if (first < at) return `columns ${first + 1} and ${at + 1} of the header have the same name`;
  }
  return undefined;
}

/** Adds the fields of the record at `from`; returns the start of the next record, or an error. */
function readRecord(text: string, from: number, fields: string[], most: number): number | string {
  for (let at = from; ; ) {
    if (fields.length === most) return fault(text, from, `there are more than ${most} columns`);
    const quoted = text.charCodeAt(at) === QUOTE;
    const end = quoted ? endOfQuoted(text, at) : endOfPlain(text, at);
    if (typeof end === "string") return end;
    fields.push(quoted ? unquoted(text.slice(at + 1, end - 1)) : text.slice(at, end));
    const next = text.charCodeAt(end);
    if (end === text.length) return end;
    if (next === LINE_FEED) return end + 1;
    if (next === CARRIAGE_RETURN && text.charCodeAt(end + 1) === LINE_FEED) return end + 2;
    if (next !== COMMA) return fault(text, end, unfitEnd(next, quoted));
    at = end + 1;
  }
}

function unfitEnd(next: number, quoted: boolean): string {
  if (next === CARRIAGE_RETURN) return "a carriage return without a line feed";
  return quoted
    ? "text after the closing quote of a field"
    : "a quote inside a field that does not begin with one";
}

function endOfQuoted(text: string, at: number): number | string {
  for (let end = at + 1; end < text.length; end += 1)
    if (text.charCodeAt(end) === QUOTE && text.charCodeAt(++end) !== QUOTE) return end;
  return fault(text, at, "a quoted field begins here and is never closed");
}

/** `replaceAll` takes four times as long. */
const unquoted = (text: string): string => text.split('""').join('"');

function endOfPlain(text: string, at: number): number {
  for (let end = at; end < text.length; end += 1) {
    const code = text.charCodeAt(end);
    if (code === COMMA || code === LINE_FEED || code === CARRIAGE_RETURN || code === QUOTE)
      return end;
  }
  return text.length;
}
