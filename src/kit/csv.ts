// Comma-separated text as RFC 4180 has it: a header line, records of as many fields, quoted fields with doubled quotes and
// line breaks inside. Lines end in CRLF or LF, the last one may do without. Strict: what RFC 4180 does not allow is a
// fault that names its line, for a guess would put values into the wrong column without anybody noticing. All fields
// are text here, exactly as written, spaces too. Time and memory follow the length of the text.

/**
 * `fields` holds the records one behind the other, each as long as the header: millions of short records would cost ten
 * times the memory as arrays of their own.
 */
export type CsvTable = { readonly [part in "header" | "fields"]: readonly string[] };

/** Why a text is no table. Lines count from 1, as an editor shows them; those inside quoted fields count too. */
export class CsvFault {
  readonly line: number;
  readonly detail: string;

  constructor(text: string, at: number, detail: string) {
    let line = 1;
    for (let end = text.indexOf("\n"); end >= 0 && end < at; end = text.indexOf("\n", end + 1)) line += 1;
    this.line = line;
    this.detail = detail;
  }
}

export function parseCsv(text: string): CsvTable | CsvFault {
  let header: readonly string[] | undefined;
  const fields: string[] = [];
  for (let at = 0; at < text.length; ) {
    const before = fields.length;
    const end = readRecord(text, at, fields);
    if (end instanceof CsvFault) return end;
    const unfit = header ? unfitCount(fields.length - before, header.length) : unfitNames(fields);
    if (unfit) return new CsvFault(text, at, unfit);
    header ??= fields.splice(0);
    at = end;
  }
  return header ? { header, fields } : new CsvFault(text, 0, "the text is empty, there is no header line");
}

const unfitCount = (count: number, width: number): string | undefined =>
  count === width ? undefined : `the number of fields is ${count}, but the header has ${width}`;

/** Names are counted, not quoted: one of them may be as long as the text. */
function unfitNames(names: readonly string[]): string | undefined {
  const places = new Map<string, number>();
  for (const [at, name] of names.entries()) {
    const before = places.get(name);
    if (name.trim() === "") return `column ${at + 1} of the header has no name`;
    if (before !== undefined) return `columns ${before + 1} and ${at + 1} of the header have the same name`;
    places.set(name, at);
  }
  return undefined;
}

/** Adds the fields of the record that begins at `from`; answers where the next one begins. */
function readRecord(text: string, from: number, fields: string[]): number | CsvFault {
  for (let at = from; ; ) {
    const quoted = text[at] === '"';
    const end = quoted ? endOfQuoted(text, at) : endOfPlain(text, at);
    if (end instanceof CsvFault) return end;
    fields.push(quoted ? text.slice(at + 1, end - 1).replaceAll('""', '"') : text.slice(at, end));
    const next = text[end];
    if (next === undefined) return end;
    if (next === "\n") return end + 1;
    if (next === "\r" && text[end + 1] === "\n") return end + 2;
    if (next !== ",") return new CsvFault(text, end, unfitEnd(next, quoted));
    at = end + 1;
  }
}

function unfitEnd(next: string, quoted: boolean): string {
  if (next === "\r") return "a carriage return without a line feed";
  return quoted ? "text after the closing quote of a field" : "a quote inside a field that does not begin with one";
}

function endOfQuoted(text: string, at: number): number | CsvFault {
  let end = text.indexOf('"', at + 1);
  while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
  return end < 0 ? new CsvFault(text, at, "a quoted field begins here and is never closed") : end + 1;
}

function endOfPlain(text: string, at: number): number {
  let end = at;
  while (end < text.length && text[end] !== "," && text[end] !== "\n" && text[end] !== "\r" && text[end] !== '"')
    end += 1;
  return end;
}
