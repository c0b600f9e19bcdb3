// What the tests of the JSON-file store share: a folder that goes away, a small model, and stores on its files.
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

/** Notes with the numbers from 0 as their ids. */
export const numbered = (count: number): Note[] =>
  Array.from({ length: count }, (_, at) => note(`${at}`));

/** A data file in a folder of its own. */
export const newFile = (): string => freshFile("data.json");

/** An open store; closed after the test if it is still open. */
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

/** A new store with these notes, each written by itself. */
export async function storeWith(t: TestContext, ids: string) {
  const opened = await openStore(t);
  for (const id of ids.split(" ")) await write(opened.store, note(id));
  return opened;
}

/** FILE and FILE.journal as a crash would leave them: copied while the store has them open. */
export function crashed(file: string): string {
  const to = `${file}-copy`;
  copyFileSync(file, to);
  if (existsSync(`${file}.journal`)) copyFileSync(`${file}.journal`, `${to}.journal`);
  return to;
}

export const write = (store: Store, ...records: readonly Note[]): Promise<void> =>
  store.transact(async (tx) => {
    for (const record of records) await tx.put(notes, record);
  });

/** Writes a note that is told of. */
export const publish = (store: Store, id: string): Promise<void> =>
  store.transact(async (tx) => {
    await tx.put(notes, note(id));
    tx.publish("t", id);
  });

export async function idsIn(store: Store): Promise<string> {
  return (await store.page(notes, "list", ["all"], { offset: 0, limit: 1000 }))
    .map(({ id }) => id)
    .join(" ");
}

/** What this writes cannot be kept, and whoever wrote it hears so. */
export const lost = (work: Promise<unknown>) =>
  assert.rejects(work, (error) => isStoreError(error, "StorageUnavailable"));

export const textOf = (file: string): string => readFileSync(file, "utf8");

/** What is in the folder, if it is one, and of all but a lock, which others may write, when it was written. */
function look(folder: string) {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(folder).map((name) => {
    const { ino, size, mtimeMs } = statSync(join(folder, name));
    return name.endsWith(".lock") ? name : { name, ino, size, mtimeMs };
  });
}

/** Asserts that the file is not opened, that one line says each of these, and that nothing is touched. */
export async function refused(file: string, ...says: readonly RegExp[]): Promise<void> {
  const before = look(dirname(file));
  await assert.rejects(jsonFileStore(file).open([notes]), (error) => {
    assert.ok(isStoreError(error, "StoreOpenError"), String(error));
    for (const said of says) assert.match(error.message, said);
    assert.doesNotMatch(error.message, /\n/);
    return true;
  });
  assert.deepEqual(look(dirname(file)), before);
}

/** What this process has open in a folder, also what is deleted by now; nothing where the system does not say. */
export function openFilesIn(folder: string): string[] {
  if (!existsSync("/proc/self/fd")) return [];
  const names = readdirSync("/proc/self/fd").map((fd) => join("/proc/self/fd", fd));
  // The one that lists them is closed again.
  const still = names.filter((name) => lstatSync(name, { throwIfNoEntry: false }) !== undefined);
  return still.map((name) => readlinkSync(name)).filter((path) => path.startsWith(folder));
}

/** What it cannot restore it refuses, and it keeps what it has. */
export async function refusesBadData(store: Store): Promise<void> {
  await write(store, note("before"));
  const refused = store.restore({
    format: 1,
    collections: { notes: [note("a", "x"), note("b", "x")] },
  });
  const says = /a second record with the same text in notes/;
  await assert.rejects(
    refused,
    (error) => isStoreError(error, "StoreOpenError") && says.test(String(error)),
  );
  assert.deepEqual((await store.snapshot()).collections.notes, [note("before")]);
}
