// The format of FILE and FILE.journal. FILE is one JSON document, readable by people: one record per line, and in the
// last line the checksums of each 250 lines before it. A line of the journal is one batch of commits: the CRC of the
// rest of the line, its number, and the writes of each commit.
import type { Change, TableDump } from "../tables.ts";

/** Lines under one checksum. */
export const BLOCK_LINES = 250;

/** Characters encoded at a time (0.1 ms); requests are served in between. */
const SLICE_CHARS = 64 * 1024;
const LINE_FEED = 10;

/** `{"crc":"0123abcd",` - of fixed length, so that the rest can be checked before anything is parsed. */
const HEAD_BYTES = 18;
const START = '{"crc":"';
const HEAD = /^\{"crc":"([0-9a-f]{8})",$/;

export type Write =
  | readonly ["put", collection: string, record: object]
  | readonly ["remove", string, id: string];
export type Batch = { readonly seq: number; readonly commits: readonly (readonly Write[])[] };

/** Loads zlib on first use; an in-memory store never needs it. */
const crc32 = (text: Buffer | string, before = 0): number =>
  process.getBuiltinModule("node:zlib").crc32(text, before);

const hex = (crc: number): string => crc.toString(16).padStart(8, "0");

/** Yields the parts of a FILE that contains the journal up to line `journal`. */
export function* encode(journal: number, lists: TableDump): Generator<Buffer> {
  const crcs: number[] = [];
  let lines = 0;
  let slice = "";
  for (const line of linesOf(journal, lists)) {
    const block = Math.floor(lines / BLOCK_LINES);
    crcs[block] = crc32(line, crcs[block]);
    lines += 1;
    slice += line;
    if (slice.length < SLICE_CHARS) continue;
    yield Buffer.from(slice);
    slice = "";
  }
  yield Buffer.from(`${slice}},"checksums":${JSON.stringify(crcs.map(hex))}}\n`);
}

function* linesOf(journal: number, lists: TableDump): Generator<string> {
  yield `{"format":1,"journal":${journal},"collections":{\n`;
  for (const [at, [name, records]] of lists.entries()) {
    yield `${JSON.stringify(name)}:[\n`;
    for (const [n, record] of records.entries())
      yield `${JSON.stringify(record)}${n + 1 < records.length ? "," : ""}\n`;
    yield at + 1 < lists.length ? "],\n" : "]\n";
  }
}

/** Returns the checksums that a FILE of these bytes should have in its last line. */
export function checksumsOf(bytes: Buffer): readonly string[] {
  const checksums: string[] = [];
  const last = bytes.lastIndexOf(LINE_FEED, -2) + 1;
  for (let start = 0, end = 0; start < last; start = end) {
    for (let lines = 0; lines < BLOCK_LINES && end < last; lines += 1)
      end = bytes.indexOf(LINE_FEED, end) + 1;
    checksums.push(hex(crc32(bytes.subarray(start, end))));
  }
  return checksums;
}

const writeOf = ({ table: { name }, row, after }: Change): Write =>
  after === undefined ? ["remove", name, row.record.id] : ["put", name, after];

/** A line of the journal. */
export function lineOf(seq: number, commits: readonly (readonly Change[])[]): Buffer {
  const writes = JSON.stringify(commits.map((changes) => changes.map(writeOf)));
  const body = Buffer.from(`"seq":${seq},"commits":${writes}}\n`);
  return Buffer.concat([Buffer.from(`{"crc":"${hex(crc32(body.subarray(0, -1)))}",`), body]);
}

/** Returns the batch of a line; undefined if the line is incomplete or its CRC does not match. */
export function batchOf(line: Buffer): Batch | undefined {
  const [, crc] = HEAD.exec(line.toString("latin1", 0, HEAD_BYTES)) ?? [];
  const body = line.subarray(HEAD_BYTES, -1);
  if (line.at(-1) !== LINE_FEED || crc !== hex(crc32(body))) return undefined;
  // The CRC matches, so `lineOf` wrote this.
  return JSON.parse(`{${body.toString("utf8")}`);
}

/**
 * Whether a bad line is two lines whose line feed was damaged. A torn write never looks like this, because nothing was
 * written after it.
 */
export function isTwoLines(line: Buffer): boolean {
  for (let at = line.indexOf(START, 1); at > 0; at = line.indexOf(START, at + 1))
    if (
      batchOf(Buffer.concat([line.subarray(0, at - 1), Buffer.of(LINE_FEED)])) ??
      batchOf(line.subarray(at))
    )
      return true;
  return false;
}
