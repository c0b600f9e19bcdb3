// Fixtures of the store tests: a small model, and stores on files in temporary folders.
import assert from "node:assert/strict";
import { closeSync, copyFileSync, openSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import {
  ALL_RECORDS,
  type AnyCollection,
  collection,
  isStoreError,
  type Store,
} from "../../src/domain/store.ts";
import { jsonFileStore } from "../../src/store/json-file.ts";
import { freshFile } from "../support/closing.ts";
import { contains } from "../support/patterns.ts";

interface Note {
  id: string;
  list: string;
  text: string;
}

export const notes = collection<Note>()("notes", { list: { by: ["list"] } }, { text: ["text"] });

export const note = (id: string, text = `text of ${id}`) => ({ id, list: "all", text });

/** Notes whose ids are the numbers from 0. */
export const numbered = (count: number) => Array.from({ length: count }, (_, at) => note(`${at}`));

/** The path of a data file in a new folder. */
export const newFile = () => freshFile("data.json");

/** Opens a store and closes it after the test if necessary. */
export async function openStore(
  t: TestContext,
  file = newFile(),
  options: Parameters<typeof jsonFileStore>[1] = {},
  collections: AnyCollection[] = [notes],
) {
  const warnings: string[] = [];
  const store = jsonFileStore(file, { ...options, warn: (line) => warnings.push(line) });
  await store.open(collections);
  t.after(() => store.close());
  return { file, store, warnings };
}

/** Opens a new store with these notes, each written in its own commit. */
export async function storeWith(t: TestContext, ids: string) {
  const opened = await openStore(t);
  for (const id of ids.split(" ")) await write(opened.store, note(id));
  return opened;
}

/** Copies FILE and FILE.journal while the store has them open, as a crash would leave them. */
export function copyFiles(file: string) {
  const to = `${file}-copy`;
  copyFileSync(file, to);
  copyFileSync(`${file}.journal`, `${to}.journal`);
  return to;
}

export const write = (store: Store, ...records: readonly Note[]) =>
  store.transact(async (tx) => {
    for (const record of records) await tx.put(notes, record);
  });

export const data = (...records: readonly Note[]) =>
  ({ format: 2, collections: { notes: records } }) as const;

export const idsIn = async (store: Store) =>
  (await store.page(notes, "list", ["all"], ALL_RECORDS)).map(({ id }) => id).join(" ");

/** The ids of the notes that a crash would leave now. */
export const idsAfterCrash = async (t: TestContext, file: string) =>
  idsIn((await openStore(t, copyFiles(file))).store);

/** Asserts that the write rejects with StorageUnavailable. */
export const isLost = (work: Promise<unknown>) =>
  assert.rejects(work, (error) => isStoreError(error, "StorageUnavailable"));

export const textOf = (file: string) => readFileSync(file, "utf8");

/** Lists the files in a folder with inode, size and time of all but locks, which others may write. */
const listFiles = (folder: string) =>
  readdirSync(folder).map((name) => {
    const { ino, size, mtimeMs } = statSync(join(folder, name));
    return name.endsWith(".lock") ? name : { name, ino, size, mtimeMs };
  });

/**
 * Asserts that opening the file rejects with one line that contains all texts, and changes no file; and that a close
 * then leaves alone a file that was opened meanwhile.
 */
export async function failsToOpen(file: string, ...texts: readonly string[]) {
  const before = listFiles(dirname(file));
  const store = jsonFileStore(file);
  await assert.rejects(store.open([notes]), (error) => {
    assert.ok(isStoreError(error, "StoreOpenError"), String(error));
    assert.doesNotMatch(error.message, /\n/);
    for (const text of texts) contains(error.message, text);
    return true;
  });
  const other = openSync(".", "r");
  await store.close();
  closeSync(other);
  assert.deepEqual(listFiles(dirname(file)), before);
}
