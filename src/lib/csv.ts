// Comma-separated text as RFC 4180 has it: a header line, records of as many fields, quoted fields with doubled quotes and
// line breaks inside. Lines end in CRLF or LF, the last one may do without; blank lines at the end are ignored. Strict: what
// RFC 4180 does not allow is a fault that names its line, for a guess would put values into the wrong column without anybody
// noticing. All fields are text here, exactly as written, spaces too. Time follows the length of what is read, and nothing
// is kept of it.

// To look at codes takes a fifth of the time that it takes to look at characters.
const [QUOTE, COMMA, LINE_FEED, CARRIAGE_RETURN] = [0x22, 0x2c, 0x0a, 0x0d] as const;

/** Why a text is no table. Lines count from 1, as an editor shows them; those inside quoted fields count too. */
function fault(text: string, before: number, detail: string): string {
  let line = 1;
  for (let at = 0; at < before; at += 1) if (text.charCodeAt(at) === LINE_FEED) line += 1;
  return `Line ${line}: ${detail}.`;
}

/** The records one by one, the header first, of `most` fields at most; why it is no table, in words, is the last. */
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

/** Blank lines are empty or have spaces only. The last line that is not blank stays as it is. */
function withoutBlankEnd(text: string): string {
  const end = text.trimEnd().length;
  const lineEnd = text.indexOf("\n", end);
  return end === 0 || lineEnd < 0 ? text.slice(0, end && text.length) : text.slice(0, lineEnd + 1);
}

const OTHER_SEPARATORS = { ";": "semicolons (;)", "\t": "tabs", "|": "vertical bars (|)" };
/** So much of a text shows its separator. */
const FIRST_CHARACTERS = 65_536;

/** Returns what separates the fields of the first two lines, quoted ones aside, where that is not the comma. */
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
    // A header with commas is wrong anyway where the next line has another number of them.
    return (
      signs > 0 && nextSigns > 0 && (commas === 0 || (commas !== nextCommas && signs === nextSigns))
    );
  };
  return Object.entries(OTHER_SEPARATORS).find(isThere)?.[1];
}

const unfitCount = (count: number, width: number): string | undefined =>
  count === width ? undefined : `the number of fields is ${count}, but the header has ${width}`;

/** Names are counted, not quoted: one of them may be as long as the text. */
function unfitNames(names: readonly string[]): string | undefined {
  for (const [at, name] of names.entries()) {
    const first = names.indexOf(name);
    if (name.trim() === "") return `column ${at + 1} of the header has no name`;
    if (first < at) return `columns ${first + 1} and ${at + 1} of the header have the same name`;
  }
  return undefined;
}

/** Adds the fields of the record that begins at `from`; answers where the next one begins. */
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
