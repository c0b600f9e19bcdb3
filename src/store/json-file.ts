// The store behind `--data FILE`: records in memory, each commit in FILE.journal before it is acknowledged, and FILE as
// readable JSON. Commits that wait at the same time are written together with one fdatasync. A start, a clean stop and
// a long journal write a checkpoint: FILE with all data, and an empty journal. A crash at any moment loses no
// acknowledged commit.
import { isUtf8 } from "node:buffer";
import { appendFileSync, readlinkSync, realpathSync, renameSync, rmSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import {
  type AnyCollection,
  type Entity,
  StorageUnavailable,
  type Store,
  StoreOpenError,
} from "../domain/store.ts";
import { after } from "../lib/clock.ts";
import {
  acquireLock,
  FILE_MODE,
  type Lock,
  type LockOptions,
  readIfExists,
  tryCall,
} from "./json-file-lock.ts";
import { createStore } from "./memory.ts";
import { type Change, DATA_FORMAT, getDeclared, loadTables, type Tables } from "./tables.ts";

const CHECKSUMS_START = '\n},"checksums":';

interface Options extends Partial<LockOptions> {
  /** A checkpoint is written when the journal is longer than this and more than twice as long as FILE. */
  readonly journal_bytes_max?: number;
}

export function jsonFileStore(
  path: string,
  {
    warn = () => undefined,
    wait = (for_ms) => new Promise((resolve) => void after(for_ms, resolve)),
    journal_bytes_max = 8 * 1024 * 1024,
  }: Options = {},
): Store {
  let file = path;
  let lock: Lock | undefined;
  let journal: FileHandle | undefined;
  /** The length of the journal in bytes, and the length that makes a checkpoint due. */
  let length = 0;
  let checkpointAt = 0;
  /** The number of the last batch in the files. */
  let seq = 0;
  /** The error that stopped all writing. After a failed fsync nobody knows what the disk holds. */
  let stopped: unknown;

  function stop(error: unknown): never {
    stopped = error;
    throw error;
  }

  /** Another process may have taken the lock over while this one was suspended. */
  function assertWritable(): void {
    if (stopped !== undefined) throw stopped;
    if (!lock?.isHeld())
      stop(new Error(`${file} was taken over by another process; restart this one`));
  }

  function releaseLock(): void {
    lock?.release();
    lock = undefined;
  }

  /** Makes created, renamed and removed names durable. */
  async function syncFolder(): Promise<void> {
    const folder = await open(dirname(file), "r");
    await folder.sync().finally(() => folder.close());
  }

  /** Replaces FILE before it touches the journal, so that a crash at any point loses nothing. */
  async function load(collections: readonly AnyCollection[]): Promise<Tables> {
    try {
      file = resolveLinks(path);
      lock = await acquireLock(file, { warn, wait });
      const recovered = readFiles(file, collections);
      const journalFile = `${file}.journal`;
      seq = recovered.seq;
      await replace(recovered.tables);
      if (recovered.torn !== undefined) {
        appendFileSync(`${file}.torn`, `${recovered.torn}\n`, {
          encoding: "latin1",
          mode: FILE_MODE,
          flush: true,
        });
        warn(
          `The last line of ${journalFile} was cut short and never acknowledged; moved to ${file}.torn`,
        );
      }
      // A new file, because a suspended process that has lost its lock may still have the old one open.
      rmSync(journalFile, { force: true });
      journal = await open(journalFile, "ax", FILE_MODE);
      await syncFolder();
      return recovered.tables;
    } catch (error) {
      await journal?.close();
      releaseLock();
      if ((error as NodeJS.ErrnoException).code === undefined) throw error;
      throw new StoreOpenError(
        `${path} cannot be used (${error}). Its folder must exist and be writable. In a container, mount the folder, not the file.`,
        { cause: error },
      );
    }
  }

  /** Appends a batch to the journal durably. On failure the journal is cut at its former end. */
  async function append(changes: readonly Change[]): Promise<void> {
    assertWritable();
    const line = encodeBatch(seq + 1, changes);
    try {
      await journal?.appendFile(line);
      await journal?.datasync().catch(stop);
      // A process that takes the lock over from now on finds the line. Only then may it be acknowledged.
      assertWritable();
    } catch (error) {
      await journal?.truncate(length).catch(stop);
      throw error;
    }
    length += line.length;
    seq += 1;
  }

  /** Writes FILE, and empties the journal. */
  async function replace(tables: Tables): Promise<void> {
    const text = encodeSnapshot(seq, tables);
    const temporary = `${file}.new`;
    checkpointAt = length + Math.max(journal_bytes_max, 2 * text.length);
    assertWritable();
    try {
      rmSync(temporary, { force: true });
      const handle = await open(temporary, "wx", FILE_MODE);
      await handle
        .writeFile(text)
        .then(() => handle.sync().catch(stop))
        .finally(() => handle.close());
      assertWritable();
      renameSync(temporary, file);
      // FILE is replaced: an error from here on leaves open which data hold, so the store stops.
      await syncFolder().catch(stop);
      await journal?.truncate().catch(stop);
    } catch (error) {
      // A new owner of the lock uses the same name.
      if (stopped === undefined) tryCall(() => rmSync(temporary, { force: true }));
      throw error;
    }
    checkpointAt -= length;
    length = 0;
  }

  const checkpoint = (tables: Tables): Promise<void> =>
    replace(tables).catch((error: unknown) =>
      warn(`${path} could not be written (${error}); changes stay in its journal`),
    );

  return createStore({
    load,
    async append(changes, tables) {
      await append(changes).catch(throwUnavailable);
      if (length > checkpointAt) await checkpoint(tables);
    },
    replace: (tables) => replace(tables).catch(throwUnavailable),
    /** Leaves one file if all changes are in it. */
    async close(tables) {
      if (length > 0) await checkpoint(tables);
      await journal?.close();
      if (length === 0) tryCall(() => lock?.isHeld() && rmSync(`${file}.journal`));
      releaseLock();
    },
  });
}

function throwUnavailable(cause: unknown): never {
  throw new StorageUnavailable(`The data could not be written: ${cause}`, { cause });
}

/** Follows symbolic links, including a link to a file that does not exist yet. */
function resolveLinks(path: string): string {
  const target = tryCall(() => readlinkSync(path));
  return target === undefined
    ? resolve(path)
    : resolveLinks(resolve(realpathSync(dirname(path)), target));
}

// The formats of FILE and FILE.journal. FILE is one JSON document with one record per line; its last line has the
// checksum of each line before it. A line of FILE.journal is one batch of commits with its checksum and number.

/** Loads zlib on first use, because a memory store never needs it. */
const toChecksum = (content: string | Buffer): string =>
  process.getBuiltinModule("node:zlib").crc32(content).toString(16).padStart(8, "0");

/** Appends the line with the checksums. */
const addChecksums = (content: string): string =>
  `${content}${CHECKSUMS_START}${JSON.stringify(content.split("\n").map(toChecksum))}}\n`;

/** Returns the text of a FILE that contains the journal up to the batch `seq`. */
function encodeSnapshot(seq: number, tables: Tables): string {
  const lists = Array.from(tables, ([name, table]) => {
    const lines = table.records().map((record) => JSON.stringify(record));
    return `${JSON.stringify(name)}:[\n${lines.join(",\n")}\n]`;
  });
  return addChecksums(
    `{"format":${DATA_FORMAT},"journal":${seq},"collections":{\n${lists.join(",\n")}`,
  );
}

/** Returns a line of the journal. A write has the name of its collection, the id, and the record or null. */
function encodeBatch(seq: number, changes: readonly Change[]): Buffer {
  const writes = changes.map(({ table, row, after }) => [table.name, row.record.id, after]);
  const body = `"seq":${seq},"writes":${JSON.stringify(writes)}}`;
  return Buffer.from(`{"crc":"${toChecksum(body)}",${body}\n`);
}

interface Batch {
  readonly seq: number;
  readonly writes: [name: string, id: string, record: Entity | null][];
}

/** Parses a line of the journal. Returns undefined if it is incomplete or its checksum is wrong. */
function parseBatch(line: string): Batch | undefined {
  const [, checksum, body = ""] = /^\{"crc":"(\w{8})",(.*)\n$/s.exec(line) ?? [];
  const bytes = Buffer.from(body, "latin1");
  return checksum === toChecksum(bytes) ? JSON.parse(`{${bytes}`) : undefined;
}

/** Two lines joined by a damaged line feed. A line cut short by a crash never contains the start of another. */
const JOINED = /\]\}.\{"crc":"\w{8}","seq":/s;

/** Reads FILE and FILE.journal. Throws `StoreOpenError` if any of their data is damaged or missing. */
function readFiles(file: string, collections: readonly AnyCollection[]) {
  const bytes = readIfExists(file);
  const journal = readIfExists(`${file}.journal`) ?? Buffer.of();
  const snapshot = bytes && parseSnapshot(file, bytes);
  const tables = loadTables(collections, snapshot?.collections ?? {}, file);
  if (journal.length > 0 && snapshot?.journal === undefined)
    throw new StoreOpenError(
      `${file} is missing or was written by hand, but has a journal. Restore it or delete the journal to lose its changes.`,
    );
  return { tables, ...replayJournal(`${file}.journal`, journal, tables, snapshot?.journal ?? 0) };
}

function failAtLine(file: string, line: number, problem: string): never {
  throw new StoreOpenError(
    `${file} line ${line}: ${problem}. Correct it, or restore data file and journal from a copy.`,
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
  const splitChecksums = (all: string): string[] => all.slice(checksumsAt).split(",");
  const expected = splitChecksums(addChecksums(text.slice(0, checksumsAt)));
  const changed = splitChecksums(text).findIndex((checksum, n) => checksum !== expected[n]);
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
