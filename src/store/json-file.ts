// The store behind `--data FILE`: records in memory, each commit in FILE.journal before it is acknowledged, and FILE as
// readable JSON. Commits that wait at the same time are written together with one fdatasync. A start, a clean stop and
// a long journal fold the journal into FILE. At every moment the two files hold all data.
import {
  appendFileSync,
  lstatSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import {
  type AnyCollection,
  StorageUnavailable,
  type Store,
  StoreOpenError,
} from "../domain/store.ts";
import { after, nextTurn } from "../lib/clock.ts";
import {
  encodeBatch,
  encodeSnapshot,
  FILE_MODE,
  getErrorCode,
  MOUNT,
  readFiles,
  tryCall,
} from "./json-file/format.ts";
import { acquireLock, type LockOptions } from "./json-file/lock.ts";
import { MemoryStore } from "./memory.ts";
import { type Change, type Tables, undoAll } from "./tables.ts";

interface Settings extends LockOptions {
  /** The journal is folded into FILE when it is longer than this and longer than FILE twice. */
  readonly journal_bytes_max: number;
}

const DEFAULTS: Settings = {
  warn: () => undefined,
  wait: (for_ms) => new Promise((resolve) => void after(for_ms, resolve)),
  journal_bytes_max: 8 * 1024 * 1024,
};

const REMEDIES: Readonly<Record<string, string>> = {
  ENOENT: "Its folder does not exist; create it first.",
  EACCES: "This user may not create and replace files in its folder; change the permissions.",
  EROFS: "It lies on a read-only file system; choose another folder.",
  EISDIR: "It is a folder; name a file. Docker creates a folder if a file to mount does not exist.",
  EBUSY: "It cannot be replaced because it is mounted on its own.",
  ENOSPC: "The disk is full; make room.",
};

export const jsonFileStore = (path: string, options: Partial<Settings> = {}): Store =>
  new JsonFileStore(path, { ...DEFAULTS, ...options });

/** A call that waits for its turn. */
interface Call {
  readonly work: () => Promise<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

class JsonFileStore extends MemoryStore {
  #files: DataFiles | undefined;
  #waiting: Call[] = [];
  /** The changes that are in the tables, but not yet in the files. */
  #unsaved: Change[] = [];
  #isExecuting = false;

  constructor(
    private readonly path: string,
    private readonly settings: Settings,
  ) {
    super();
  }

  override async open(collections: readonly AnyCollection[]): Promise<void> {
    await super.open(collections);
    try {
      const file = resolveLinks(this.path);
      const { files, tables } = await openFiles(file, collections, this.settings);
      this.#files = files;
      this.tables = tables;
    } catch (error) {
      await super.close();
      throw toOpenError(this.path, error);
    }
  }

  override async close(): Promise<void> {
    await super.close();
    await this.exclusive(async () => {
      if (this.#files?.hasJournal()) await this.#fold();
      await this.#files?.close();
      this.#files = undefined;
    });
  }

  /** Reads of a durable collection run at once; other calls wait for the next batch. */
  protected override async run<T>(work: () => Promise<T>, from?: AnyCollection): Promise<T> {
    this.assertUsable();
    const isDurable = !this.#unsaved.some(({ table }) => table.name === from?.name);
    if (from !== undefined && isDurable && !this.#isExecuting) return work();
    return new Promise<unknown>((resolve, reject) => {
      this.#enqueue({ work, resolve, reject });
    }) as Promise<T>;
  }

  #enqueue(call: Call): void {
    this.#waiting.push(call);
    if (this.#waiting.length === 1) void this.exclusive(() => this.#runBatch());
  }

  /** Runs all waiting calls one after the other, then saves their changes together. */
  async #runBatch(): Promise<void> {
    // Requests of the same turn share the batch.
    await nextTurn();
    const calls = this.#waiting.splice(0);
    const outcomes = [];
    this.#isExecuting = true;
    for (const call of calls) {
      const count = this.#unsaved.length;
      const result = call.work();
      await Promise.allSettled([result]);
      outcomes.push({ call, result, hasCommitted: this.#unsaved.length > count });
    }
    this.#isExecuting = false;
    try {
      if (this.#unsaved.length > 0) await this.#files?.append(this.#unsaved);
      this.#unsaved = [];
      for (const { call, result } of outcomes) call.resolve(result);
    } catch (error) {
      undoAll(this.#unsaved);
      this.#unsaved = [];
      for (const { call, hasCommitted } of outcomes) {
        if (hasCommitted) call.reject(toUnavailable(error));
        else this.#enqueue(call); // it may have read what is undone now
      }
    }
    if (this.#files?.isFoldDue()) await this.#fold();
  }

  protected override commit(changes: readonly Change[]): void {
    for (const change of changes) this.#unsaved.push(change);
  }

  protected override replaceTables(tables: Tables): Promise<void> {
    return this.run(async () => {
      await this.#files?.replace(tables).catch((error: unknown) => {
        throw toUnavailable(error);
      });
      this.tables = tables;
      this.#unsaved = [];
    });
  }

  async #fold(): Promise<void> {
    await this.#files?.replace(this.tables).catch((error: unknown) => {
      const message = `${this.path} could not be written (${error}); changes stay in its journal`;
      this.settings.warn(message);
    });
  }
}

const toUnavailable = (cause: unknown): StorageUnavailable =>
  new StorageUnavailable(`The data could not be written: ${cause}`, { cause });

/** Turns an error of the file system into one line with a remedy. */
function toOpenError(path: string, cause: unknown): unknown {
  const code = getErrorCode(cause);
  if (code === undefined) return cause;
  const remedy = REMEDIES[code] ?? "Check the path and the disk.";
  return new StoreOpenError(`${path} cannot be used (${cause}). ${remedy} ${MOUNT}`, { cause });
}

type DataFiles = Awaited<ReturnType<typeof openFiles>>["files"];

/** Opens FILE and its journal. Changes no file before all data is read and FILE has been replaced once. */
async function openFiles(file: string, collections: readonly AnyCollection[], settings: Settings) {
  const journalFile = `${file}.journal`;
  const lock = await acquireLock(file, settings);
  let journal: FileHandle | undefined;
  /** The length of the journal in bytes, and the length that makes a fold due. */
  let length = 0;
  let foldAt = 0;
  /** The number of the last batch in the files. */
  let seq = 0;
  /** The error that stopped all writing. After a failed fsync nobody knows what the disk holds. */
  let stopped: unknown;

  function stop(error: unknown): never {
    stopped = error;
    throw error;
  }

  function assertWritable(): void {
    if (stopped !== undefined) throw stopped;
    if (!lock.isHeld())
      stop(new Error(`${file} was taken over by another process; restart this one`));
  }

  /** Makes created, renamed and removed names durable. */
  async function syncFolder(): Promise<void> {
    const folder = await open(dirname(file), "r");
    await folder
      .sync()
      .catch(stop)
      .finally(() => folder.close());
  }

  /** Appends a batch to the journal durably. On failure the journal is cut at its former end. */
  async function append(changes: readonly Change[]): Promise<void> {
    assertWritable();
    const line = encodeBatch(seq + 1, changes);
    try {
      await journal?.appendFile(line);
      await journal?.datasync().catch(stop);
    } catch (error) {
      await journal?.truncate(length).catch(stop);
      throw error;
    }
    // A process that takes the lock over from now on finds the line. Only then may it be acknowledged.
    assertWritable();
    length += line.length;
    seq += 1;
  }

  /** Writes FILE, and empties the journal. */
  async function replace(tables: Tables): Promise<void> {
    const text = encodeSnapshot(seq, tables);
    const temporary = `${file}.new`;
    foldAt = length + Math.max(settings.journal_bytes_max, 2 * text.length);
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
      await syncFolder();
      await journal?.truncate();
    } catch (error) {
      // A new owner of the lock uses the same name.
      if (stopped === undefined) tryCall(() => rmSync(temporary, { force: true }));
      throw error;
    }
    foldAt -= length;
    length = 0;
  }

  /** Leaves one file if the journal is empty. */
  async function close(): Promise<void> {
    await journal?.close();
    if (length === 0) tryCall(() => lock.isHeld() && rmSync(journalFile));
    lock.release();
  }

  try {
    const { tables, torn, ...recovered } = readFiles(file, collections);
    seq = recovered.seq;
    await replace(tables);
    if (torn !== undefined) {
      appendFileSync(`${file}.torn`, `${torn.line}\n`, {
        encoding: "latin1",
        mode: FILE_MODE,
        flush: true,
      });
      settings.warn(
        `${journalFile} line ${torn.number} was cut short by a crash and never acknowledged; it was moved to ${file}.torn`,
      );
    }
    // A new file, because a suspended process that has lost its lock may still have the old one open.
    rmSync(journalFile, { force: true });
    journal = await open(journalFile, "ax", FILE_MODE);
    await syncFolder();
    const hasJournal = () => length > 0;
    const isFoldDue = () => length > foldAt;
    return { files: { append, replace, close, hasJournal, isFoldDue }, tables };
  } catch (error) {
    await journal?.close();
    lock.release();
    throw error;
  }
}

/** Follows symbolic links, including a link to a file that does not exist yet. */
function resolveLinks(path: string): string {
  statSync(path, { throwIfNoEntry: false }); // throws if the links form a circle
  const file = join(realpathSync(dirname(resolve(path))), basename(path));
  if (!lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) return file;
  return resolveLinks(resolve(dirname(file), readlinkSync(file)));
}
