// Fixtures of the store tests: a temporary folder, a small model, and stores on its files.
import assert from "node:assert/strict";
import {
  copyFileSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import {
  type AnyCollection,
  collection,
  isStoreError,
  type Store,
} from "../../src/domain/store.ts";
import { jsonFileStore } from "../../src/store/json-file.ts";
import { freshFile } from "../support/closing.ts";

export interface Note {
  readonly id: string;
  readonly list: string;
  readonly text: string;
}

export const notes = collection<Note>()("notes", { list: { by: ["list"] } }, { text: ["text"] });

export const note = (id: string, text = `text of ${id}`): Note => ({ id, list: "all", text });

/** Notes whose ids are the numbers from 0. */
export const numbered = (count: number): Note[] =>
  Array.from({ length: count }, (_, at) => note(`${at}`));

/** The path of a data file in a new folder. */
export const newFile = (): string => freshFile("data.json");

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
export function copyFiles(file: string): string {
  const to = `${file}-copy`;
  copyFileSync(file, to);
  if (existsSync(`${file}.journal`)) copyFileSync(`${file}.journal`, `${to}.journal`);
  return to;
}

export const write = (store: Store, ...records: readonly Note[]): Promise<void> =>
  store.transact(async (tx) => {
    for (const record of records) await tx.put(notes, record);
  });

export async function idsIn(store: Store): Promise<string> {
  return (await store.page(notes, "list", ["all"], { offset: 0, limit: 1000 }))
    .map(({ id }) => id)
    .join(" ");
}

/** Asserts that the write rejects with StorageUnavailable. */
export const isLost = (work: Promise<unknown>) =>
  assert.rejects(work, (error) => isStoreError(error, "StorageUnavailable"));

export const textOf = (file: string): string => readFileSync(file, "utf8");

/** Lists the folder, if it is one, with inode, size and time of every file but locks, which others may write. */
function listFiles(folder: string) {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(folder).map((name) => {
    const { ino, size, mtimeMs } = statSync(join(folder, name));
    return name.endsWith(".lock") ? name : { name, ino, size, mtimeMs };
  });
}

/** Asserts that opening the file rejects with one line that matches all patterns, and changes no file. */
export async function failsToOpen(file: string, ...patterns: readonly RegExp[]): Promise<void> {
  const before = listFiles(dirname(file));
  await assert.rejects(jsonFileStore(file).open([notes]), (error) => {
    assert.ok(isStoreError(error, "StoreOpenError"), String(error));
    for (const pattern of patterns) assert.match(error.message, pattern);
    assert.doesNotMatch(error.message, /\n/);
    return true;
  });
  assert.deepEqual(listFiles(dirname(file)), before);
}

/** Lists the files in a folder that this process has open, including deleted ones; empty without /proc. */
export function openFilesIn(folder: string): string[] {
  if (!existsSync("/proc/self/fd")) return [];
  const names = readdirSync("/proc/self/fd").map((fd) => join("/proc/self/fd", fd));
  // The descriptor that read the list is closed again.
  const still = names.filter((name) => lstatSync(name, { throwIfNoEntry: false }) !== undefined);
  return still.map((name) => readlinkSync(name)).filter((path) => path.startsWith(folder));
}

/** Asserts that a restore of invalid data rejects and keeps the current data. */
export async function rejectsBadData(store: Store): Promise<void> {
  await write(store, note("before"));
  for (const [records, pattern] of [
    [[note("a", "x"), note("b", "x")], /notes\[1\] is a second record with the same text in notes/],
    [[note("a", "x"), note("a", "y")], /notes\[1\] is a second record with the id "a"/],
  ] as const)
    await assert.rejects(
      store.restore({ format: 2, collections: { notes: records } }),
      (error) => isStoreError(error, "StoreOpenError") && pattern.test(error.message),
    );
  assert.deepEqual((await store.snapshot()).collections.notes, [note("before")]);
}
