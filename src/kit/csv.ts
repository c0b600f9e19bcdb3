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
  while (scanner.at < text.length) {
    const [start, before] = [scanner.at, fields.length];
    const fault = scanner.record(fields);
    if (fault) return fault;
    const count = fields.length - before;
    if (count !== width) return scanner.fault(`the number of fields is ${count}, but the header has ${width}`, start);
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
  /** Where the next character stands. */
  at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Adds the fields of one record; the scanner then stands behind its line break. */
  record(fields: string[]): CsvFault | undefined {
    for (;;) {
      const field = this.#code() === QUOTE ? this.#quoted() : this.#plain();
      if (field instanceof CsvFault) return field;
      fields.push(field);
      if (this.#code() !== COMMA) return this.#endOfRecord();
      this.at += 1;
    }
  }

  /** Lines are counted only here: a text has one fault at most. */
  fault(detail: string, at = this.at): CsvFault {
    let line = 1;
    for (let end = this.#text.indexOf("\n"); end >= 0 && end < at; end = this.#text.indexOf("\n", end + 1)) line += 1;
    return new CsvFault(line, detail);
  }

  #code(after = 0): number {
    return this.#text.charCodeAt(this.at + after);
  }

  /** Ends before the comma or line break, or at the end of the text. */
  #plain(): string | CsvFault {
    const start = this.at;
    for (; this.at < this.#text.length; this.at += 1) {
      const code = this.#code();
      if (code === COMMA || code === LF || code === CR) break;
      if (code === QUOTE) return this.fault("a quote inside a field that does not begin with one");
    }
    return this.#text.slice(start, this.at);
  }

  #quoted(): string | CsvFault {
    const start = this.at + 1;
    let end = this.#text.indexOf('"', start);
    while (end >= 0 && this.#text.charCodeAt(end + 1) === QUOTE) end = this.#text.indexOf('"', end + 2);
    if (end < 0) return this.fault("a quoted field begins here and is never closed");
    this.at = end + 1;
    return this.#text.slice(start, end).replaceAll('""', '"');
  }

  /** Steps over the line break; what else may follow a field is a fault. */
  #endOfRecord(): CsvFault | undefined {
    if (this.at === this.#text.length) return undefined;
    const code = this.#code();
    if (code === CR && this.#code(1) !== LF) return this.fault("a carriage return without a line feed");
    if (code !== CR && code !== LF) return this.fault("text after the closing quote of a field");
    this.at += code === CR ? 2 : 1;
    return undefined;
  }
}
