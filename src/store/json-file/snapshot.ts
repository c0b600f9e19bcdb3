// FILE: all records as one JSON document that a person can read and this program can check. One record stands on a line
// and the last line carries checksums of the lines before it, some hundred at a time, so that damage is found and told
// by line. How it is read, in this and in any other layout, is in load.ts.
import { crc32 } from "node:zlib";

/** Lines under one checksum; also how much is turned into text at a time while requests are answered. */
export const BLOCK_LINES = 250;

/** The records of each collection, in creation order. */
export type Lists = readonly (readonly [name: string, records: readonly unknown[]])[];

/** The blocks of a snapshot that contains the journal up to the line `journal`. */
export function* encode(journal: number, lists: Lists): Generator<Buffer> {
  const checksums: string[] = [];
  let block: string[] = [];
  const finish = () => {
    const bytes = Buffer.from(block.join(""));
    checksums.push(hex(crc32(bytes)));
    block = [];
    return bytes;
  };
  for (const line of linesOf(journal, lists)) {
    block.push(line);
    if (block.length === BLOCK_LINES) yield finish();
  }
  if (block.length > 0) yield finish();
  yield Buffer.from(`},"checksums":${JSON.stringify(checksums)}}\n`);
}

function* linesOf(journal: number, lists: Lists): Generator<string> {
  yield `{"format":1,"journal":${journal},"collections":{\n`;
  for (const [at, [name, records]] of lists.entries()) {
    yield `${JSON.stringify(name)}:[\n`;
    for (let n = 0; n < records.length; n += 1)
      yield `${JSON.stringify(records[n])}${n + 1 < records.length ? "," : ""}\n`;
    yield at + 1 < lists.length ? "],\n" : "]\n";
  }
}

export const hex = (crc: number): string => crc.toString(16).padStart(8, "0");
