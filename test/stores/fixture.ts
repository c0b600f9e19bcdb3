// What the tests of the JSON-file store share: a folder that goes away, a small model, and stores on its files.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { collection, type Store } from "../../src/domain/store.ts";
import { type JsonFileOptions, jsonFileStore } from "../../src/store/json-file.ts";

export interface Note {
  readonly id: string;
  readonly list: string;
  readonly text: string;
}

export const notes = collection<Note>()("notes", { list: { by: ["list"] } }, { text: ["text"] });

export const note = (id: string, text = `text of ${id}`): Note => ({ id, list: "all", text });

/** A folder for one test, removed after it. */
export function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "json-file-store-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Opened {
  readonly store: Store;
  readonly warnings: string[];
}

/** An open store; closed after the test if it is still open. */
export async function openStore(t: TestContext, file: string, options: JsonFileOptions = {}): Promise<Opened> {
  const warnings: string[] = [];
  const store = jsonFileStore(file, { ...options, warn: (line) => warnings.push(line) });
  await store.open([notes]);
  t.after(() => store.close());
  return { store, warnings };
}

export const write = (store: Store, ...records: readonly Note[]): Promise<void> =>
  store.transact(async (tx) => {
    for (const record of records) await tx.put(notes, record);
  });

export async function idsIn(store: Store): Promise<string[]> {
  return (await store.page(notes, "list", ["all"], { offset: 0, limit: 1000 })).map(({ id }) => id);
}

export const textOf = (file: string): string => readFileSync(file, "utf8");
