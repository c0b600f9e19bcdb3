// The store behind `--data FILE`: records in memory, every commit in FILE.journal before it is acknowledged, and FILE
// itself as readable JSON. This module recovers both at a start, and changes nothing until all is known to be good. A
// last line that a crash cut short or damaged is set aside with a warning. Any other fault throws with file, line and
// remedy: data is never lost silently.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { type Store, StoreOpenError } from "../domain/store.ts";
import { after } from "../lib/clock.ts";
import { unsafeCast } from "../lib/schema.ts";
import { createGroupCommit } from "./group-commit.ts";
import type { StoredRecord } from "./indexes.ts";
import { batchOf, isTwoLines } from "./json-file/format.ts";
import { codeOf, followLinks, PRIVATE, sizeOf } from "./json-file/fs.ts";
import { Files, type Settings } from "./json-file/journal.ts";
import { acquireLock } from "./json-file/lock.ts";
import { readDocument } from "./json-file/snapshot-reader.ts";
import { MemoryStore } from "./memory.ts";
import type { Tables } from "./tables.ts";

const DEFAULTS: Settings = {
  warn: () => undefined,
  journal_bytes_max: 8 * 1024 * 1024,
  wait: (for_ms) => new Promise((resolve) => void after(for_ms, resolve)),
};

const MOUNT = "In a container, mount the folder that it lies in (writable), not the file alone";

const REMEDIES: Readonly<Record<string, string>> = {
  ENOENT: "Its folder does not exist; create it first.",
  EACCES: `This user may not create and replace files in its folder; change the permissions. ${MOUNT}.`,
  EPERM: `Its folder lets nobody create and replace files; choose another. ${MOUNT}.`,
  ENOTDIR: "A part of its path is no folder; name another.",
  EISDIR: `It is a folder; name a file. ${MOUNT}: Docker makes a folder of a file that is not there.`,
  EROFS: `It lies on a read-only file system; choose another place. ${MOUNT}.`,
  EBUSY: `It cannot be replaced because it is mounted on its own. ${MOUNT}.`,
  EXDEV: `It cannot be replaced because it is mounted on its own. ${MOUNT}.`,
  ELOOP: "Its links lead in a circle; name another.",
  ENAMETOOLONG: "Its name is too long; choose another.",
  ENOSPC: "The disk is full; make room.",
};

export const jsonFileStore = (path: string, options: Partial<Settings> = {}): Store =>
  new MemoryStore(createGroupCommit((tables) => open(path, tables, { ...DEFAULTS, ...options })));

async function open(path: string, tables: Tables, settings: Settings): Promise<Files> {
  let [release, aside]: [() => void, string | undefined] = [() => {}, undefined];
  try {
    const file = followLinks(path);
    const lock = await acquireLock(file, settings);
    release = () => lock.release();
    const { seq, torn } = recover(file, tables);
    aside = torn && setAside(file, torn.line, seq + 1);
    const files = await Files.open({ ...settings, file, tables, lock }, seq);
    if (torn)
      settings.warn(
        `${torn.name} was cut short by a crash and never acknowledged; it was moved to ${aside}`,
      );
    return files;
  } catch (error) {
    if (aside !== undefined) rmSync(aside, { force: true });
    release();
    const code = codeOf(error);
    if (code === undefined) throw error;
    // Disk errors become a `StoreOpenError` with a one-line remedy, like data errors.
    const remedy = REMEDIES[code] ?? "Look into the disk.";
    throw new StoreOpenError(`${path} cannot be used (${error}). ${remedy}`, { cause: error });
  }
}

function refuse(what: string): never {
  throw new StoreOpenError(what);
}

/** The number of the last valid line, and the incomplete last line that a crash left, if any. */
type Recovered = {
  readonly seq: number;
  readonly torn?: { readonly name: string; readonly line: Buffer };
};

/** Fills the empty tables. */
function recover(file: string, tables: Tables): Recovered {
  const journal = `${file}.journal`;
  const size = sizeOf(file);
  const hasJournal = (sizeOf(journal) ?? 0) > 0;
  if (size === 0)
    refuse(
      `${file} is empty. Put a good copy in its place, or delete it for a fresh start. ${MOUNT}.`,
    );
  if (size === undefined && hasJournal)
    refuse(
      `${file} is missing but ${journal} is there. Put ${file} back, or delete both to start afresh.`,
    );
  for (const left of [`${file}.new`, `${journal}.new`]) rmSync(left, { force: true });
  if (size === undefined) return { seq: 0 };
  const contained = readDocument(file, size, tables);
  if (!hasJournal) return { seq: contained ?? 0 };
  if (contained === undefined)
    return refuse(
      `${journal} does not belong to ${file}, which was written by hand. Delete or move ${journal} to start from ${file}.`,
    );
  return replay(file, tables, contained);
}

/** Applies the journal lines that FILE does not contain. */
function replay(file: string, tables: Tables, contained: number): Recovered {
  const bytes = readFileSync(`${file}.journal`);
  let last: number | undefined;
  let start = 0;
  for (let number = 1, end = 0; start < bytes.length; number += 1, start = end) {
    end = bytes.indexOf("\n", start) + 1 || bytes.length;
    const line = bytes.subarray(start, end);
    const name = `${file}.journal line ${number}`;
    const wrong = (what: string) =>
      refuse(
        `${name} ${what}. Restore both files from a copy, or cut the journal before line ${number} to lose what follows.`,
      );
    const batch = batchOf(line);
    if (batch === undefined) {
      if (end < bytes.length) wrong("is not what was written there (CRC)");
      if (isTwoLines(line)) wrong("has run together with the next one (its line feed is damaged)");
      return { seq: Math.max(last ?? 0, contained), torn: { name, line } };
    }
    const { seq, commits } = batch;
    const expected = last === undefined ? Math.min(seq, contained + 1) : last + 1;
    if (seq !== expected) wrong(`has the number ${seq} where ${expected} should follow`);
    last = seq;
    if (seq <= contained) continue;
    for (const [kind, collection, what] of commits.flat()) {
      const table =
        tables.get(collection) ??
        wrong(`writes to a collection "${collection}" that this version does not know`);
      // The line's CRC is valid, so `what` is the record or id that a commit wrote.
      const change =
        kind === "put"
          ? table.put(unsafeCast<StoredRecord>(what))
          : table.remove(unsafeCast<string>(what));
      if (typeof change === "string") wrong(`has ${change}`);
    }
  }
  return { seq: Math.max(last ?? 0, contained) };
}

/** Saves an unacknowledged line to a file of its own, for inspection, before the journal is cut there. */
function setAside(file: string, line: Buffer, seq: number): string {
  let name = `${file}.torn-${seq}`;
  for (let n = 2; sizeOf(name) !== undefined; n += 1) name = `${file}.torn-${seq}-${n}`;
  writeFileSync(name, line, { flag: "wx", mode: PRIVATE, flush: true });
  return name;
}
