// FILE as a start finds it: in the layout of layout.ts, or in any other of the same JSON document, such as a person or
// `JSON.stringify(service.snapshot())` may have written. What does not fit is refused by file and line; a checksum that
// does not hold is damage, also when the JSON is still in order.
import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { StoreRefusal } from "../../domain/store.ts";
import type { Lists } from "../tables.ts";
import { BYTES_MAX, sizeOf } from "./disk.ts";
import { BLOCK_LINES, checksumsOf, encode } from "./layout.ts";

/** The lines between the records, as layout.ts writes them. */
const BETWEEN = /^(\{"format":1,"journal":\d+,"collections":\{|"([^"\\]|\\.)*":\[|\],?|\},"checksums":\[[^\]]*\]\}|)$/;

export class Document {
  /** The last line of the journal that is contained; undefined where the file does not say. */
  readonly journal: number | undefined;
  /** Whether it stands as this program writes it. */
  readonly isAsWritten: boolean;
  readonly lists: Lists;
  readonly #text: string;
  readonly #checksums: readonly unknown[] | undefined;

  constructor(private readonly file: string) {
    const size = sizeOf(file) ?? 0;
    if (size > BYTES_MAX)
      throw new StoreRefusal(
        `${file} has ${size} bytes, and no more than ${BYTES_MAX} can be read. Put a smaller one in its place, or keep so much data in another store.`,
      );
    const bytes = readFileSync(file);
    this.#text = bytes.toString("utf8").replace(/^\ufeff/, "");
    ({ lists: this.lists, journal: this.journal, checksums: this.#checksums } = this.#members(this.#parsed()));
    this.isAsWritten = this.journal !== undefined && checksumsOf(bytes).join() === this.#checksums?.join();
    // Else what is no text would be replaced without a word.
    if (!this.isAsWritten && !isUtf8(bytes)) throw this.#notWhole((line) => line.includes("\ufffd"), "not UTF-8");
  }

  /** What is wrong with a collection, or with its n-th record: told by the line, if the record has one for itself. */
  refusal(fault: string, name: string, n?: number): StoreRefusal {
    if (n === undefined)
      return this.#wrong(name, `${fault}. Start the version that wrote it, or put a good copy in its place.`);
    const record = JSON.stringify(this.lists.find(([each]) => each === name)?.[1][n]);
    const line = this.#text.split("\n").findLastIndex((each) => each === record || each === `${record},`);
    return this.#refusal(line < 0 ? `${name}[${n}]` : `line ${line + 1}`, fault);
  }

  /** To be asked last: where it can be told what is wrong with a record, that says more. */
  refuseDamage(): void {
    const written = this.#checksums;
    if (this.isAsWritten || written === undefined) return;
    // Written differently, the same content still has the same checksums.
    const found = checksumsOf(Buffer.concat([...encode(this.journal ?? 0, this.lists)]));
    const longer = found.length < written.length ? written : found;
    const at = longer.findIndex((_, n) => found[n] !== written[n]);
    if (at < 0) return;
    throw this.#refusal(
      `lines ${at * BLOCK_LINES + 1} to ${(at + 1) * BLOCK_LINES}`,
      'not what was written there (checksum). Put a good copy in its place; if you changed it on purpose, remove its member "checksums".',
    );
  }

  #parsed(): unknown {
    try {
      return JSON.parse(this.#text);
    } catch (error) {
      // The parser quotes the text around the fault, line feeds and all.
      throw this.#notWhole((line) => !isOwn(line), String(error).replaceAll("\n", " "));
    }
  }

  /** The members of the document; others than these may be misspelt ones and are not passed over. */
  #members(document: unknown) {
    if (typeof document !== "object" || Array.isArray(document))
      throw this.#wrong("", 'not a JSON object with "format" and "collections"');
    const { format, collections, journal, checksums, ...others }: Record<string, unknown> = { ...document };
    if (typeof format === "number" && format > 1)
      throw this.#wrong("format", `format ${format} was written by a newer version; this one knows format 1`);
    for (const other of Object.keys(others)) throw this.#wrong(other, `unknown member "${other}"`);
    if (format !== 1) throw this.#wrong("format", '"format" is not 1: no data of this service; name another file');
    if (typeof collections !== "object" || collections === null) throw this.#wrong("", 'no "collections"');
    if (journal !== undefined && !(typeof journal === "number" && Number.isSafeInteger(journal) && journal >= 0))
      throw this.#wrong("journal", '"journal" is not the number of a line');
    if (checksums !== undefined && !Array.isArray(checksums))
      throw this.#wrong("checksums", '"checksums" is not an array');
    const lists = Object.entries(collections).map(([name, records]): Lists[number] => {
      if (!Array.isArray(records)) throw this.#wrong(name, `"${name}" is not an array of records`);
      return [name, records];
    });
    return { lists, journal, checksums };
  }

  #wrong(member: string, what: string): StoreRefusal {
    return this.#refusal((line) => line.includes(JSON.stringify(member)), what);
  }

  #notWhole(isOdd: (line: string) => boolean, what: string): StoreRefusal {
    return this.#refusal(isOdd, `not a whole JSON document (${what}). Put a good copy in its place.`);
  }

  /** By the first line that fits; the first of all where none does. */
  #refusal(where: string | ((line: string) => boolean), what: string): StoreRefusal {
    const first = typeof where === "string" ? -1 : this.#text.split("\n").findIndex(where);
    const place = typeof where === "string" ? where : `line ${Math.max(0, first) + 1}`;
    return new StoreRefusal(`${this.file} ${place}: ${what}`);
  }
}

/** Whether a line could stand in a FILE that this program has written. */
function isOwn(line: string): boolean {
  try {
    return BETWEEN.test(line) || JSON.parse(line.replace(/,$/, "")) !== undefined;
  } catch {
    return false;
  }
}
