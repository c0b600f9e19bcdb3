// FILE: all records as one JSON document that a person can read and this program can check. One record stands on a line
// and the last line carries checksums of the lines before it, some hundred at a time, so that damage is found and told
// by line. How it is read, in this and in any other layout, is in load.ts.
import { crc32 } from "node:zlib";
import type { Records } from "../frozen.ts";

/** Lines under one checksum. */
export const BLOCK_LINES = 250;

/** So much is turned into text at a time (a tenth of a millisecond); requests are answered in between. */
const SLICE_CHARS = 64 * 1024;

/** The records of each collection, in creation order. */
export type Lists = readonly (readonly [name: string, records: Records])[];

/** The parts, one after the other, of a snapshot that contains the journal up to the line `journal`. */
export function* encode(journal: number, lists: Lists, checksums = new Checksums()): Generator<Buffer> {
  let slice = "";
  let lines = 0;
  for (const line of linesOf(journal, lists)) {
    slice += line;
    lines += 1;
    if (slice.length < SLICE_CHARS && lines < checksums.linesLeft) continue;
    yield checksums.add(Buffer.from(slice), lines);
    slice = "";
    lines = 0;
  }
  if (lines > 0) yield checksums.add(Buffer.from(slice), lines);
  yield Buffer.from(`},"checksums":${JSON.stringify(checksums.finish())}}\n`);
}

/** The checksums that a snapshot of these records carries. */
export function checksumsOf(journal: number, lists: Lists): readonly string[] {
  const checksums = new Checksums();
  for (const _ of encode(journal, lists, checksums));
  return checksums.finish();
}

/** The checksums of lines as they come. */
export class Checksums {
  readonly #found: string[] = [];
  #lines = 0;
  #crc = 0;

  /** How many lines the block still takes that is being summed. */
  get linesLeft(): number {
    return BLOCK_LINES - this.#lines;
  }

  /** `bytes` are so many lines, no more than the block takes. */
  add(bytes: Buffer, lines: number): Buffer {
    this.#crc = crc32(bytes, this.#crc);
    this.#lines += lines;
    if (this.#lines === BLOCK_LINES) this.#endBlock();
    return bytes;
  }

  finish(): readonly string[] {
    if (this.#lines > 0) this.#endBlock();
    return this.#found;
  }

  #endBlock(): void {
    this.#found.push(hex(this.#crc));
    this.#crc = 0;
    this.#lines = 0;
  }
}

function* linesOf(journal: number, lists: Lists): Generator<string> {
  yield `{"format":1,"journal":${journal},"collections":{\n`;
  for (const [at, [name, records]] of lists.entries()) {
    yield `${JSON.stringify(name)}:[\n`;
    for (let n = 0; n < records.length; n += 1)
      yield `${JSON.stringify(records.at(n))}${n + 1 < records.length ? "," : ""}\n`;
    yield at + 1 < lists.length ? "],\n" : "]\n";
  }
}

export const hex = (crc: number): string => crc.toString(16).padStart(8, "0");
