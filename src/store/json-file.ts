// The store behind `--data FILE`: records in memory, every commit in FILE.journal before it is acknowledged, and FILE
// itself a document that a person can read. Here is what a start makes of the two: it changes nothing until all is known
// to be good, but that a last line which is cut short or damaged, as a crash leaves it, is set aside and told. Anything
// else that does not fit is refused, with file, line and remedy: never silently less data.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { type Store, StoreRefusal } from "../domain/store.ts";
import { trusted } from "../kit/schema.ts";
import type { Keeper } from "./commits.ts";
import type { Fields } from "./indexes.ts";
import { codeOf, followLinks, PRIVATE, sizeOf } from "./json-file/disk.ts";
import { Document } from "./json-file/document.ts";
import { Files, type Good, type Settings } from "./json-file/files.ts";
import { type Batch, batchOf, isTwoLines } from "./json-file/layout.ts";
import { lock } from "./json-file/lock.ts";
import { MemoryStore } from "./memory.ts";
import { load, recordsIn, type Tables } from "./tables.ts";

export type JsonFileOptions = Partial<Settings>;

const DEFAULTS: Settings = { warn: () => undefined, journal_bytes_max: 8 * 1024 * 1024 };

export const jsonFileStore = (path: string, options: JsonFileOptions = {}): Store =>
  new MemoryStore((tables) => open(path, tables, { ...DEFAULTS, ...options }));

async function open(path: string, tables: Tables, settings: Settings): Promise<Keeper> {
  let unlock = () => {};
  try {
    const file = followLinks(path);
    unlock = lock(file);
    const good = recover(file, tables, settings.warn);
    const files = await Files.open({ ...settings, file, tables, unlock }, good);
    if (!good.isAsWritten) await files.replace(recordsIn(tables));
    return files;
  } catch (error) {
    unlock();
    throw refusalOf(path, error);
  }
}

/** A start that fails on the disk is refused like one that fails on the data: with one line that says what to do. */
function refusalOf(file: string, error: unknown): unknown {
  const code = codeOf(error);
  if (code === undefined) return error;
  const remedies = new Map([
    ["ENOENT", "Its folder does not exist; create it first."],
    ["EACCES", "This user may not read and write it and its folder; change their permissions."],
    ["EISDIR", "It is a folder; name a file."],
    ["EROFS", "It lies on a read-only file system; choose another place."],
    ["ENOSPC", "The disk is full; make room."],
  ]);
  const remedy = remedies.get(code) ?? "Look into the disk.";
  return new StoreRefusal(`${file} cannot be used (${error}). ${remedy}`, { cause: error });
}

/** Fills the tables, which are empty. Answers what is good of the journal, and whether FILE is in its usual layout. */
function recover(file: string, tables: Tables, warn: Settings["warn"]): Good & { readonly isAsWritten: boolean } {
  const journal = `${file}.journal`;
  const size = sizeOf(file);
  const hasJournal = (sizeOf(journal) ?? 0) > 0;
  const refuse = (what: string) => {
    throw new StoreRefusal(what);
  };
  if (size === 0) refuse(`${file} is empty. Put a good copy in its place, or delete it for a fresh start.`);
  if (size === undefined && hasJournal)
    refuse(`${file} is missing but ${journal} is there. Put ${file} back, or delete both to start afresh.`);
  for (const left of [`${file}.new`, `${journal}.new`]) rmSync(left, { force: true });
  if (size === undefined) return { seq: 0, length: 0, isAsWritten: false };
  const document = new Document(file);
  const { journal: contained, isAsWritten } = document;
  Array.from(load(tables, document.lists, (...wrong) => document.refusal(...wrong)));
  document.refuseDamage();
  if (contained === undefined && hasJournal)
    refuse(
      `${journal} does not belong to ${file}, which was written by hand. Delete or move ${journal} to start from ${file}.`,
    );
  const bytes = hasJournal ? readFileSync(journal) : Buffer.alloc(0);
  return { ...replay(file, bytes, tables, contained ?? 0, warn), isAsWritten };
}

/** Makes the writes of the lines that FILE does not contain. */
function replay(file: string, bytes: Buffer, tables: Tables, contained: number, warn: Settings["warn"]): Good {
  let last: number | undefined;
  let start = 0;
  for (let number = 1, end = 0; start < bytes.length; number += 1, start = end) {
    end = bytes.indexOf("\n", start) + 1 || bytes.length;
    const line = bytes.subarray(start, end);
    const refuse = (what: string) => {
      throw new StoreRefusal(
        `${file}.journal line ${number} ${what}. Restore both files from a copy, or cut the journal before line ${number} to lose what follows.`,
      );
    };
    const batch = batchOf(line);
    if (batch === undefined) {
      if (end < bytes.length) refuse("is not what was written there (CRC)");
      if (isTwoLines(line)) refuse("has run together with the next one (its line feed is damaged)");
      const aside = setAside(file, line, Math.max(last ?? 0, contained) + 1);
      warn(`${file}.journal line ${number} was cut short by a crash and never acknowledged; it was moved to ${aside}`);
      break;
    }
    const expected = last === undefined ? Math.min(batch.seq, contained + 1) : last + 1;
    if (batch.seq !== expected) refuse(`has the number ${batch.seq} where ${expected} should follow`);
    const fault = batch.seq > contained ? apply(tables, batch) : undefined;
    if (fault !== undefined) refuse(fault);
    last = batch.seq;
  }
  // A journal that has nothing that FILE does not have can go, all of it.
  return last === undefined || last <= contained ? { seq: contained, length: 0 } : { seq: last, length: start };
}

function apply(tables: Tables, { commits }: Batch): string | undefined {
  for (const [kind, name, what] of commits.flat()) {
    const table = tables.get(name);
    if (table === undefined) return `writes to a collection "${name}" that this version does not know`;
    // The line's CRC holds: `what` is the record or the id that a commit wrote.
    const change = kind === "put" ? table.put(trusted<Fields>(what)) : table.remove(trusted<string>(what));
    if (typeof change === "string") return `has ${change}`;
  }
  return undefined;
}

/** Keeps a line that was never acknowledged where a person can look at it, before the journal is cut there. */
function setAside(file: string, line: Buffer, seq: number): string {
  let name = `${file}.torn-${seq}`;
  for (let n = 2; sizeOf(name) !== undefined; n += 1) name = `${file}.torn-${seq}-${n}`;
  writeFileSync(name, line, { flag: "wx", mode: PRIVATE, flush: true });
  return name;
}
