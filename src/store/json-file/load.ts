// Reads FILE into tables: line by line where it stands as snapshot.ts writes it, else as one JSON document, which is how
// a person or `JSON.stringify(service.snapshot())` may have written it. Whatever does not fit is refused by file and
// line and nothing is touched; a checksum that does not hold is damage, also when the JSON is still in order.
import { readFileSync } from "node:fs";
import { StoreRefusal } from "../../domain/store.ts";
import { trusted } from "../../kit/schema.ts";
import type { Fields, Rules } from "../rules.ts";
import { Tables } from "../tables.ts";
import { type Line, messageOf, readLines } from "./disk.ts";
import { BLOCK_LINES, Checksums, checksumsOf } from "./snapshot.ts";

const HEAD = /^\{"format":1,"journal":(\d{1,15}),"collections":\{\n$/;
const LIST = /^"(?:[^"\\]|\\.)*":\[\n$/;
const TAIL = /^\},"checksums":\[[^\]]*\]\}\n$/;
const CLOSING_BRACKET = 93;
const COMMA = 44;

export interface Loaded {
  readonly tables: Tables;
  /** The last line of the journal that is contained; undefined where the file does not say. */
  readonly journal: number | undefined;
  /** Whether the file stands as this program writes it. */
  readonly asWritten: boolean;
}

export function loadSnapshot(file: string, rules: Rules): Loaded {
  const own = new OwnLayout(file, rules);
  for (const line of readLines(file)) if (!own.take(line)) return loadDocument(file, rules, own.number);
  return own.finish() ?? loadDocument(file, rules, own.number);
}

type Add = (record: unknown, line: () => string) => void;

/** Puts records into tables; refuses what no table could hold. */
class Filler {
  readonly tables: Tables;
  readonly #file: string;
  readonly #rules: Rules;

  constructor(file: string, rules: Rules) {
    this.#file = file;
    this.#rules = rules;
    this.tables = new Tables(rules);
  }

  list(name: string, where: string): Add {
    const rule = this.#rules.get(name);
    if (rule === undefined)
      throw new StoreRefusal(
        `${this.#file} ${where}: this version knows no collection "${name}". Start the version that wrote it, or put a good copy in its place.`,
      );
    const add = this.tables.adder(rule);
    return (record, where) => {
      const fault = isRecord(record) ? add(record) : "not a record with an id";
      if (fault !== undefined) throw new StoreRefusal(`${this.#file} ${where()}: ${fault}`);
    };
  }
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && "id" in value && typeof value.id === "string";
}

/**
 * Takes the lines of a file one by one, as long as they stand as written. Records whose lines lie together are parsed
 * together, as one array: that takes two thirds of the time of parsing each line.
 */
class OwnLayout {
  readonly #file: string;
  readonly #filler: Filler;
  readonly #checksums = new Checksums();
  #journal = 0;
  #add: Add | undefined;
  #tail: string | undefined;
  /** The lines of records that are not parsed yet: where they begin, the number of the first, and how many they are. */
  #from = 0;
  #first = 0;
  #gathered = 0;
  /** The line to tell a fault by. */
  #number = 0;
  readonly #where = () => `line ${this.#number}`;

  constructor(file: string, rules: Rules) {
    this.#file = file;
    this.#filler = new Filler(file, rules);
  }

  /** The number of the line that is not as written; of the last line where the file ends too early. */
  get number(): number {
    return this.#number;
  }

  /** False when the line, or one gathered before it, is none that this program writes at this place. */
  take(line: Line): boolean {
    this.#number = line.number;
    if (this.#add !== undefined && line.buffer[line.from] !== CLOSING_BRACKET) {
      if (this.#gathered === 0) [this.#from, this.#first] = [line.from, line.number];
      this.#gathered += 1;
      const isEnough = line.isLastInBuffer || line.number % BLOCK_LINES === 0;
      return isEnough ? this.#records(this.#add, line, line.to) : true;
    }
    if (this.#add !== undefined && !this.#records(this.#add, line, line.from)) return false;
    if (this.#tail !== undefined) return false;
    const text = line.text(line.from, line.to);
    if (this.#add === undefined && line.number > 1 && TAIL.test(text)) {
      this.#tail = text;
      return true;
    }
    this.#checksums.add(line.bytes, 1);
    if (line.number === 1) return this.#head(text);
    if (this.#add === undefined) return this.#open(text);
    this.#add = undefined;
    return true;
  }

  finish(): Loaded | undefined {
    const checksums = parsed(`{${this.#tail?.slice(2)}`);
    if (checksums === undefined) return undefined;
    refuseDamage(this.#file, this.#checksums.finish(), trusted<{ checksums: unknown[] }>(checksums).checksums);
    return { tables: this.#filler.tables, journal: this.#journal, asWritten: true };
  }

  #head(text: string): boolean {
    const [, journal] = HEAD.exec(text) ?? [];
    this.#journal = Number(journal);
    return journal !== undefined;
  }

  #open(text: string): boolean {
    if (!LIST.test(text)) return false;
    const name = parsed(text.slice(0, -3));
    if (typeof name !== "string") return false;
    this.#add = this.#filler.list(name, this.#where());
    return true;
  }

  /** Adds the records whose lines were gathered, up to the byte `to`. */
  #records(add: Add, line: Line, to: number): boolean {
    const lines = this.#gathered;
    if (lines === 0) return true;
    this.#gathered = 0;
    this.#checksums.add(line.buffer.subarray(this.#from, to), lines);
    const text = line.text(this.#from, line.buffer[to - 2] === COMMA ? to - 2 : to - 1);
    const records = parsed(`[${text}]`);
    if (!Array.isArray(records) || records.length !== lines) {
      this.#number = this.#first + oddOne(text);
      return false;
    }
    for (let at = 0; at < lines; at += 1) {
      this.#number = this.#first + at;
      add(records[at], this.#where);
    }
    return true;
  }
}

/** Which of the lines is not one record on its own, counted from 0. */
function oddOne(text: string): number {
  const lines = text.split("\n");
  return Math.max(
    0,
    lines.findIndex((line) => parsed(line.replace(/,$/, "")) === undefined),
  );
}

/** Undefined where the text is no JSON: what it is instead is found out when the file is read as a whole. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reads a file of any layout. `oddLine` is the first that does not stand as this program writes it. */
function loadDocument(file: string, rules: Rules, oddLine: number): Loaded {
  const text = textOf(file, oddLine);
  const { journal, checksums, collections } = shapeOf(file, text, parseDocument(file, text, oddLine));
  const filler = new Filler(file, rules);
  const lists = Object.entries(collections);
  for (const [name, records] of lists) {
    const add = filler.list(name, `line ${lineWith(text, JSON.stringify(name))}`);
    if (!Array.isArray(records)) throw new StoreRefusal(`${file}: "${name}" is not an array of records`);
    for (const [at, record] of records.entries()) add(record, () => `${name}[${at}]`);
  }
  // Written differently, the same content still has the same checksums.
  if (checksums !== undefined) {
    refuseDamage(file, checksumsOf(journal ?? 0, trusted<[string, unknown[]][]>(lists)), checksums);
  }
  return { tables: filler.tables, journal, asWritten: false };
}

function textOf(file: string, oddLine: number): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    throw notWhole(file, oddLine, error);
  }
}

function parseDocument(file: string, text: string, oddLine: number): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw notWhole(file, oddLine, error);
  }
}

function notWhole(file: string, oddLine: number, error: unknown): StoreRefusal {
  // The parser quotes the text around the fault, line feeds and all.
  const what = messageOf(error).replaceAll("\n", " ");
  return new StoreRefusal(
    `${file} line ${oddLine}: not a whole JSON document (${what}). Put a good copy in its place.`,
  );
}

interface Shape {
  readonly journal?: number;
  readonly checksums?: readonly unknown[];
  readonly collections: object;
}

/** The members of the document; others than these may be misspelt ones and are not passed over. */
function shapeOf(file: string, text: string, document: unknown): Shape {
  const refusal = (member: string, what: string) =>
    new StoreRefusal(`${file} line ${lineWith(text, JSON.stringify(member))}: ${what}`);
  if (typeof document !== "object" || document === null || Array.isArray(document))
    throw new StoreRefusal(`${file}: not a JSON object with "format" and "collections"`);
  const { format, collections, journal, checksums, ...others }: Record<string, unknown> = { ...document };
  if (typeof format === "number" && format > 1)
    throw refusal("format", `format ${format} was written by a newer version; this one knows format 1`);
  const [other] = Object.keys(others);
  if (other !== undefined) throw refusal(other, `unknown member ${JSON.stringify(other)}`);
  if (format !== 1) throw refusal("format", '"format" is not 1');
  if (typeof collections !== "object" || collections === null) throw refusal("collections", 'no "collections"');
  if (journal !== undefined && !(Number.isSafeInteger(journal) && Number(journal) >= 0))
    throw refusal("journal", '"journal" is not the number of a line');
  if (checksums !== undefined && !Array.isArray(checksums)) throw refusal("checksums", '"checksums" is not an array');
  return { collections, ...(journal !== undefined && { journal: Number(journal) }), ...(checksums && { checksums }) };
}

/** The number of the line that has the text; the first where none has. */
function lineWith(document: string, text: string): number {
  return document.slice(0, Math.max(0, document.indexOf(text))).split("\n").length;
}

function refuseDamage(file: string, found: readonly string[], written: readonly unknown[]): void {
  if (found.length === written.length && found.every((checksum, at) => checksum === written[at])) return;
  const at = Math.max(
    0,
    found.findIndex((checksum, n) => checksum !== written[n]),
  );
  const lines = `lines ${at * BLOCK_LINES + 1} to ${(at + 1) * BLOCK_LINES}`;
  throw new StoreRefusal(
    `${file} ${lines}: not what was written there (checksum). Put a good copy in its place; if you changed it on purpose, remove its member "checksums".`,
  );
}
