// The formats of FILE and FILE.journal. FILE is one JSON document with one record per line; its last line has the
// checksum of each line before it. A line of FILE.journal is one batch of commits with its checksum and number.
import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { type AnyCollection, type Entity, StoreOpenError } from "../../domain/store.ts";
import { type Change, listRecords, loadTables, type Tables } from "../tables.ts";

/** Only the owner may read the files, because they hold secrets of webhooks and the signing key. */
export const FILE_MODE = 0o600;
export const MOUNT =
  "In a container, mount the folder that it lies in (writable), not the file alone.";
const FORMAT = 2;
const CHECKSUMS_START = '\n},"checksums":[';

/** Loads zlib on first use, because a memory store never needs it. */
const toChecksum = (content: string | Buffer): string =>
  process.getBuiltinModule("node:zlib").crc32(content).toString(16).padStart(8, "0");

/** Returns FILE without its checksums. `seq` is the number of the last batch that it contains. */
function encodeContent(seq: unknown, lists: object): string {
  const texts = Object.entries(lists).map(([name, records]: [string, readonly unknown[]]) => {
    const lines = records.map((record) => JSON.stringify(record));
    return `${JSON.stringify(name)}:[\n${lines.join(",\n")}\n]`;
  });
  return `{"format":${FORMAT},"journal":${seq},"collections":{\n${texts.join(",\n")}\n}`;
}

const toChecksums = (content: string): string =>
  JSON.stringify(content.split("\n").map(toChecksum));

/** Returns the text of a FILE that contains the journal up to the batch `seq`. */
export function encodeSnapshot(seq: number, tables: Tables): string {
  const content = encodeContent(seq, listRecords(tables));
  return `${content},"checksums":${toChecksums(content)}}\n`;
}

/** Returns a line of the journal. */
export function encodeBatch(seq: number, changes: readonly Change[]): Buffer {
  const writes = changes.map(({ table, row, after }) =>
    after === undefined ? ["remove", table.name, row.record.id] : ["put", table.name, after],
  );
  const body = `"seq":${seq},"writes":${JSON.stringify(writes)}}`;
  return Buffer.from(`{"crc":"${toChecksum(body)}",${body}\n`);
}

type Write = readonly ["put", string, Entity] | readonly ["remove", string, string];

/** Parses a line of the journal. Returns undefined if it is incomplete or its checksum is wrong. */
function parseBatch(line: string): { seq: number; writes: readonly Write[] } | undefined {
  const [, checksum, body = ""] = /^\{"crc":"(\w{8})",(.*)\n$/s.exec(line) ?? [];
  const bytes = Buffer.from(body, "latin1");
  return checksum === toChecksum(bytes) ? JSON.parse(`{${bytes}`) : undefined;
}

/** Whether a bad line is two lines with a damaged line feed between them. A torn line has nothing after it. */
const isJoined = (line: string): boolean =>
  Array.from(line.matchAll(/.\{"crc":"/gs)).some(
    ({ index }) => parseBatch(`${line.slice(0, index)}\n`) !== undefined,
  );

interface Recovered {
  readonly tables: Tables;
  /** The number of the last batch. */
  readonly seq: number;
  /** The last line of the journal, if a crash cut it short. */
  readonly torn?: { readonly number: number; readonly line: string };
}

/** Reads FILE and FILE.journal. Throws `StoreOpenError` if any of their data is damaged or missing. */
export function readFiles(file: string, collections: readonly AnyCollection[]): Recovered {
  const bytes = readIfExists(file);
  const journal = readIfExists(`${file}.journal`) ?? Buffer.of();
  if (bytes?.length === 0)
    refuse(file, `is empty. Put a good copy in its place, or delete it to start afresh. ${MOUNT}`);
  if (bytes === undefined && journal.length > 0)
    refuse(
      file,
      "is missing, but its journal exists. Put it back, or delete both to start afresh.",
    );
  const snapshot = bytes && parseSnapshot(file, bytes);
  const tables = loadTables(collections, snapshot?.collections ?? {}, file);
  const contained = snapshot?.journal;
  if (journal.length === 0) return { tables, seq: contained ?? 0 };
  if (contained === undefined)
    return refuse(
      file,
      "was written by hand, but has a journal. Delete the journal to start from it.",
    );
  return replayJournal(`${file}.journal`, journal, tables, contained);
}

export function refuse(what: string, problem: string): never {
  throw new StoreOpenError(`${what} ${problem}`);
}

/** Returns the data in FILE, and the number of the last batch in it, which a FILE written by hand does not have. */
function parseSnapshot(file: string, bytes: Buffer) {
  const text = bytes.toString().replace(/^\ufeff/, "");
  const lines = text.split("\n");
  const fail = (line: number, problem: string): never =>
    refuse(
      `${file} line ${line}:`,
      `${problem}. Put a good copy in its place, or name another file.`,
    );
  /** Fails with the first line that has this text. */
  const failAt = (part: string, problem: string): never =>
    fail(lines.findIndex((line) => line.includes(part)) + 1 || 1, problem);
  const changedLine = findChangedLine(text);
  if (changedLine !== undefined && !isUtf8(bytes)) failAt("\ufffd", "invalid UTF-8");
  let document: { readonly [member: string]: unknown } | null;
  try {
    document = JSON.parse(text);
  } catch (error) {
    const [, position = text.length] = /position (\d+)/.exec(String(error)) ?? [];
    const line = text.slice(0, Number(position)).split("\n").length;
    return fail(changedLine || line, `invalid JSON (${error})`.replaceAll("\n", " "));
  }
  const { format, journal, collections, checksums, ...others } = document ?? {};
  if (format !== FORMAT)
    failAt('"format"', `the format is ${format}, but this version reads only format ${FORMAT}`);
  for (const name of Object.keys(others)) failAt(`"${name}"`, `unknown member "${name}"`);
  if (typeof collections !== "object" || collections === null)
    return failAt('"collections"', '"collections" is not an object');
  if (journal !== undefined && !(Number.isSafeInteger(journal) && Number(journal) >= 0))
    failAt('"journal"', '"journal" is not the number of a batch');
  // Another layout of the same document is no damage.
  const isChanged = () =>
    JSON.stringify(checksums) !== toChecksums(encodeContent(journal, collections));
  if (checksums !== undefined && changedLine !== undefined && isChanged())
    fail(
      changedLine || 1,
      'checksum mismatch. After a change on purpose, remove the member "checksums"',
    );
  return {
    collections: collections as { readonly [name: string]: unknown },
    journal: journal as number | undefined,
  };
}

/** Returns the number of the first line without a matching checksum, or 0 if the last line has no checksums. */
function findChangedLine(text: string): number | undefined {
  const at = text.lastIndexOf(CHECKSUMS_START);
  if (at < 0) return 0;
  const checksums = text.slice(at).match(/[0-9a-f]{8}/g) ?? [];
  const lines = `${text.slice(0, at)}\n}`.split("\n");
  const n = lines.findIndex((line, n) => toChecksum(line) !== checksums[n]);
  return n < 0 ? undefined : n + 1;
}

/** Applies the batches that FILE does not contain. */
function replayJournal(file: string, bytes: Buffer, tables: Tables, contained: number): Recovered {
  // Latin-1 keeps all bytes, so that checksums and lines are those of the file.
  const lines = bytes.toString("latin1").split(/(?<=\n)/);
  let seq = contained;
  let last: number | undefined;
  for (const [n, line] of lines.entries()) {
    const fail = (problem: string): never =>
      refuse(
        `${file} line ${n + 1}: ${problem}.`,
        "Restore both files from a copy, or delete the journal from this line on to lose those changes.",
      );
    const batch = parseBatch(line);
    if (batch === undefined) {
      if (n < lines.length - 1) return fail("checksum mismatch");
      if (isJoined(line)) return fail("the line feed at its end is damaged");
      return { tables, seq, torn: { number: n + 1, line } };
    }
    const expected = last === undefined ? Math.min(batch.seq, contained + 1) : last + 1;
    if (batch.seq !== expected) fail(`number ${batch.seq} where ${expected} should follow`);
    if (batch.seq > contained) for (const write of batch.writes) applyWrite(write, tables, fail);
    last = batch.seq;
    seq = Math.max(seq, last);
  }
  return { tables, seq };
}

function applyWrite(
  [kind, name, content]: Write,
  tables: Tables,
  fail: (problem: string) => never,
): void {
  const table = tables.get(name) ?? fail(`this version has no collection "${name}"`);
  if (kind === "remove") table.remove(content);
  else {
    const conflict = table.findConflict(content);
    if (conflict !== undefined) fail(conflict);
    table.put(content);
  }
}

export const getErrorCode = (error: unknown): string | undefined =>
  (error as NodeJS.ErrnoException).code;

/** Returns a file's content; undefined if there is no file. */
export function readIfExists(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if (getErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Runs a system call that may fail without harm; then it returns undefined. */
export function tryCall<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if (getErrorCode(error) === undefined) throw error;
    return undefined;
  }
}
