// Comma-separated text as RFC 4180 has it: a header line, records of as many fields, quoted fields with doubled quotes and
// line breaks inside. Lines end in CRLF or LF, the last one may do without. Strict: what RFC 4180 does not allow is a
// fault that names its line, for a guess would put values into the wrong column without anybody noticing. All fields
// are text here, exactly as written, spaces too. Time and memory follow the length of the text.

/**
 * `fields` holds the records one behind the other, each as long as the header: millions of short records would cost ten
 * times the memory as arrays of their own.
 */
export interface CsvTable {
  readonly header: readonly string[];
  readonly fields: readonly string[];
}

/** Why a text is no table. Lines count from 1, as an editor shows them; those inside quoted fields count too. */
export class CsvFault {
  readonly line: number;
  readonly detail: string;
  constructor(line: number, detail: string) {
    this.line = line;
    this.detail = detail;
  }
}

export function parseCsv(text: string): CsvTable | CsvFault {
  if (text === "") return new CsvFault(1, "the text is empty, there is no header line");
  const scanner = new Scanner(text);
  const header: string[] = [];
  const unfit = scanner.record(header) ?? unfitHeader(header);
  if (unfit) return unfit;
  const width = header.length;
  const fields: string[] = [];
  while (!scanner.atEnd) {
    const { line } = scanner;
    const before = fields.length;
    const fault = scanner.record(fields);
    if (fault) return fault;
    const count = fields.length - before;
    if (count !== width) return new CsvFault(line, `the number of fields is ${count}, but the header has ${width}`);
  }
  return { header, fields };
}

/** Names are counted, not quoted: one of them may be as long as the text. */
function unfitHeader(names: readonly string[]): CsvFault | undefined {
  const places = new Map<string, number>();
  for (const [at, name] of names.entries()) {
    if (name.trim() === "") return new CsvFault(1, `column ${at + 1} of the header has no name`);
    const before = places.get(name);
    if (before !== undefined)
      return new CsvFault(1, `columns ${before + 1} and ${at + 1} of the header have the same name`);
    places.set(name, at);
  }
  return undefined;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const LF = 0x0a;
const CR = 0x0d;

class Scanner {
  readonly #text: string;
  #at = 0;
  /** The line that the next character stands on. */
  line = 1;

  constructor(text: string) {
    this.#text = text;
  }

  get atEnd(): boolean {
    return this.#at === this.#text.length;
  }

  /** Adds the fields of one record; the scanner then stands behind its line break. */
  record(fields: string[]): CsvFault | undefined {
    for (;;) {
      const field = this.#text.charCodeAt(this.#at) === QUOTE ? this.#quoted() : this.#plain();
      if (field instanceof CsvFault) return field;
      fields.push(field);
      if (this.#text.charCodeAt(this.#at) !== COMMA) return this.#endOfRecord();
      this.#at += 1;
    }
  }

  /** Ends before the comma or line break, or at the end of the text. */
  #plain(): string | CsvFault {
    const start = this.#at;
    for (; this.#at < this.#text.length; this.#at += 1) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === COMMA || code === LF || code === CR) break;
      if (code === QUOTE) return this.#fault("a quote inside a field that does not begin with one");
    }
    return this.#text.slice(start, this.#at);
  }

  #quoted(): string | CsvFault {
    const text = this.#text;
    const start = this.#at + 1;
    let end = text.indexOf('"', start);
    let doubled = false;
    while (end >= 0 && text.charCodeAt(end + 1) === QUOTE) {
      doubled = true;
      end = text.indexOf('"', end + 2);
    }
    if (end < 0) return this.#fault("a quoted field begins here and is never closed");
    this.#at = end + 1;
    const inside = text.slice(start, end);
    this.line += lineBreaks(inside);
    return doubled ? inside.replaceAll('""', '"') : inside;
  }

  /** Steps over the line break; what else may follow a field is a fault. */
  #endOfRecord(): CsvFault | undefined {
    if (this.atEnd) return undefined;
    const code = this.#text.charCodeAt(this.#at);
    if (code === CR && this.#text.charCodeAt(this.#at + 1) !== LF)
      return this.#fault("a carriage return without a line feed");
    if (code !== CR && code !== LF) return this.#fault("text after the closing quote of a field");
    this.#at += code === CR ? 2 : 1;
    this.line += 1;
    return undefined;
  }

  #fault(detail: string): CsvFault {
    return new CsvFault(this.line, detail);
  }
}

function lineBreaks(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}
