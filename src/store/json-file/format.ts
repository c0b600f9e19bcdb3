// The formats of FILE and FILE.journal. FILE is one JSON document with one record per line; its last line has the
// checksum of each line before it. A line of FILE.journal is one batch of commits with its checksum and number.
import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { type AnyCollection, type Entity, StoreOpenError } from "../../domain/store.ts";
import {
  type Change,
  DATA_FORMAT,
  getDeclared,
  listRecords,
  loadTables,
  type Tables,
} from "../tables.ts";

/** Only the owner may read the files, because they hold secrets of webhooks and the signing key. */
export const FILE_MODE = 0o600;
const CHECKSUMS_START = '\n},"checksums":';

/** Loads zlib on first use, because a memory store never needs it. */
const toChecksum = (content: string | Buffer): string =>
  process.getBuiltinModule("node:zlib").crc32(content).toString(16).padStart(8, "0");

/** Appends the line with the checksums. */
const addChecksums = (content: string): string =>
  `${content}${CHECKSUMS_START}${JSON.stringify(content.split("\n").map(toChecksum))}}\n`;

/** Returns the text of a FILE that contains the journal up to the batch `seq`. */
export function encodeSnapshot(seq: number, tables: Tables): string {
  const lists = Object.entries(listRecords(tables)).map(([name, records]) => {
    const lines = records.map((record) => JSON.stringify(record));
    return `${JSON.stringify(name)}:[\n${lines.join(",\n")}\n]`;
  });
  return addChecksums(
    `{"format":${DATA_FORMAT},"journal":${seq},"collections":{\n${lists.join(",\n")}`,
  );
}

/** Returns a line of the journal. A write has the name of its collection, the id, and the record or null. */
export function encodeBatch(seq: number, changes: readonly Change[]): Buffer {
  const writes = changes.map(({ table, row, after }) => [table.name, row.record.id, after]);
  const body = `"seq":${seq},"writes":${JSON.stringify(writes)}}`;
  return Buffer.from(`{"crc":"${toChecksum(body)}",${body}\n`);
}

interface Batch {
  readonly seq: number;
  readonly writes: readonly (readonly [name: string, id: string, record: Entity | null])[];
}

/** Parses a line of the journal. Returns undefined if it is incomplete or its checksum is wrong. */
function parseBatch(line: string): Batch | undefined {
  const [, checksum, body = ""] = /^\{"crc":"(\w{8})",(.*)\n$/s.exec(line) ?? [];
  const bytes = Buffer.from(body, "latin1");
  return checksum === toChecksum(bytes) ? JSON.parse(`{${bytes}`) : undefined;
}

/** Two lines with a damaged line feed between them. A torn line has nothing after it. */
const JOINED = /\]\}.\{"crc":"\w{8}","seq":/s;

/** Reads FILE and FILE.journal. Throws `StoreOpenError` if any of their data is damaged or missing. */
export function readFiles(file: string, collections: readonly AnyCollection[]) {
  const bytes = readIfExists(file);
  const journal = readIfExists(`${file}.journal`) ?? Buffer.of();
  const snapshot = bytes && parseSnapshot(file, bytes);
  const tables = loadTables(collections, snapshot?.collections ?? {}, file);
  if (journal.length > 0 && snapshot?.journal === undefined)
    throw new StoreOpenError(
      `${file} is missing or was written by hand, but has a journal. Put the original back, or delete the journal to lose its changes.`,
    );
  return { tables, ...replayJournal(`${file}.journal`, journal, tables, snapshot?.journal ?? 0) };
}

function failAtLine(file: string, line: number, problem: string): never {
  throw new StoreOpenError(
    `${file} line ${line}: ${problem}. Correct it, or restore the data file and its journal from a copy.`,
  );
}

/** Returns the data in FILE, and the number of the last batch in it. A FILE written by hand has no such number. */
function parseSnapshot(file: string, bytes: Buffer) {
  const text = bytes.toString();
  const checksumsAt = text.lastIndexOf(CHECKSUMS_START);
  if (checksumsAt >= 0) verifyLines(file, text, checksumsAt);
  /** Fails with the line at this position. */
  const fail = (position: number, problem: string): never =>
    failAtLine(file, text.slice(0, position).split("\n").length, problem);
  if (!isUtf8(bytes)) fail(text.indexOf("\ufffd"), "invalid UTF-8");
  let document: { readonly [member: string]: unknown } | null;
  try {
    document = JSON.parse(text);
  } catch (error) {
    const [, position = text.length] = /position (\d+)/.exec(String(error)) ?? [];
    return fail(Number(position), `invalid JSON (${error})`.replaceAll("\n", " "));
  }
  const { format, journal, collections, checksums, ...others } = document ?? {};
  if (format !== DATA_FORMAT)
    fail(
      text.indexOf('"format"'),
      `the format is ${format}, but this version reads only format ${DATA_FORMAT}`,
    );
  for (const name of Object.keys(others))
    fail(text.indexOf(`"${name}"`), `unknown member "${name}"`);
  return {
    collections: (collections ?? {}) as { readonly [name: string]: unknown },
    journal: checksumsAt < 0 ? undefined : (journal as number),
  };
}

/** Fails with the first line that does not match its checksum. */
function verifyLines(file: string, text: string, checksumsAt: number): void {
  const toChecksums = (all: string): string[] => all.slice(checksumsAt).split(",");
  const expected = toChecksums(addChecksums(text.slice(0, checksumsAt)));
  const changed = toChecksums(text).findIndex((checksum, n) => checksum !== expected[n]);
  if (changed >= 0)
    failAtLine(
      file,
      changed,
      'checksum mismatch; after a change on purpose, remove the member "checksums"',
    );
}

/** Applies the batches that FILE does not contain. `torn` is the last line, if a crash cut it short. */
function replayJournal(file: string, bytes: Buffer, tables: Tables, contained: number) {
  // Latin-1 keeps all bytes, so that checksums and lines are those of the file.
  const lines = bytes.toString("latin1").match(/[^\n]*\n|[^\n]+$/g) ?? [];
  let next = contained + 1;
  let torn: string | undefined;
  for (const [n, line] of lines.entries()) {
    const batch = parseBatch(line);
    if (batch === undefined) {
      torn = line;
      if (n < lines.length - 1 || JOINED.test(line)) failAtLine(file, n + 1, "checksum mismatch");
      break;
    }
    if (n === 0) next = Math.min(next, batch.seq);
    if (batch.seq !== next)
      failAtLine(file, n + 1, `number ${batch.seq} where ${next} should follow`);
    next += 1;
    if (batch.seq <= contained) continue;
    for (const [name, id, record] of batch.writes) {
      const table = getDeclared(tables, name);
      if (record) table.put(record);
      else table.remove(id);
    }
  }
  return { seq: Math.max(contained, next - 1), torn };
}

/** Returns a file's content; undefined if there is no file. */
export const readIfExists = (file: string) => tryCall(() => readFileSync(file), "ENOENT");

/** Returns undefined if the system call fails with the code `harmless`, or with any code if none is given. */
export function tryCall<T>(call: () => T, harmless?: string): T | undefined {
  try {
    return call();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined || code !== (harmless ?? code)) throw error;
    return undefined;
  }
}
