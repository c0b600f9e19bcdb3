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
import { Mutex } from "../lib/tasks.ts";
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

/** Commits that are written together. They are in the tables already. */
class Batch {
  readonly changes: Change[] = [];
  /** Ends the batch; with an error if its changes are lost and undone. */
  end: (lost?: StorageUnavailable) => void = () => undefined;
  readonly ended = new Promise<StorageUnavailable | undefined>((resolve) => {
    this.end = resolve;
  });
}

class JsonFileStore extends MemoryStore {
  #files: DataFiles | undefined;
  /** Runs writes to the files one after the other. */
  readonly #writes = new Mutex();
  #writing: Batch | undefined;
  /** The commits made while the batch before is written. */
  #waiting: Batch | undefined;
  #hasCommitted = false;

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
    await this.#writes.run(async () => {
      if (this.#files?.hasJournal()) await this.#fold();
      await this.#files?.close();
      this.#files = undefined;
    });
  }

  /** Returns the result once all data that it depends on is durable. Runs the call again if that data is lost. */
  protected override async run<T>(work: () => Promise<T>, from?: AnyCollection): Promise<T> {
    for (;;) {
      const [outcome, batch, hasCommitted] = await super.run(async () => {
        this.#hasCommitted = false;
        const [outcome] = await Promise.allSettled([work()]);
        return [outcome, this.#findBatch(from), this.#hasCommitted] as const;
      });
      const lost = await batch?.ended;
      if (lost !== undefined && hasCommitted) throw lost;
      if (lost !== undefined) continue;
      if (outcome.status === "rejected") throw outcome.reason;
      return outcome.value;
    }
  }

  /** Returns the last batch with changes of the collection, or of any collection. */
  #findBatch(from: AnyCollection | undefined): Batch | undefined {
    return [this.#waiting, this.#writing].find((batch) =>
      batch?.changes.some(({ table }) => from === undefined || table.name === from.name),
    );
  }

  protected override commit(changes: readonly Change[]): void {
    this.#hasCommitted = true;
    if (this.#waiting === undefined) {
      this.#waiting = new Batch();
      void this.#writes.run(() => this.#writeBatch());
    }
    for (const change of changes) this.#waiting.changes.push(change);
  }

  protected override replaceTables(tables: Tables): Promise<void> {
    return this.#writes.run(() =>
      this.exclusive(async () => {
        await this.#saveTables(tables).catch((error: unknown) => {
          throw toUnavailable(error);
        });
        this.tables = tables;
      }),
    );
  }

  /** Writes FILE with all commits so far. */
  async #saveTables(tables: Tables): Promise<void> {
    await this.#files?.replace(tables);
    this.#waiting?.end();
    this.#waiting = undefined;
  }

  async #fold(): Promise<void> {
    await this.exclusive(() => this.#saveTables(this.tables)).catch((error: unknown) =>
      this.settings.warn(
        `${this.path} could not be written (${error}); changes stay in ${this.path}.journal`,
      ),
    );
  }

  async #writeBatch(): Promise<void> {
    // Requests of the same turn share the batch.
    await nextTurn();
    const batch = this.#waiting;
    if (batch === undefined) return; // lost with the batch before, or saved with all data
    this.#writing = batch;
    this.#waiting = undefined;
    try {
      await this.#files?.append(batch.changes);
      this.#writing = undefined;
      batch.end();
    } catch (error) {
      await this.exclusive(async () => this.#undoBatches(toUnavailable(error)));
    }
    if (this.#files?.isFoldDue()) await this.#fold();
  }

  /** Undoes the batch that could not be written and all commits after it, which may have read its data. */
  #undoBatches(lost: StorageUnavailable): void {
    const batches = [this.#writing, this.#waiting].filter((batch) => batch !== undefined);
    this.#writing = undefined;
    this.#waiting = undefined;
    undoAll(batches.flatMap(({ changes }) => changes));
    for (const batch of batches) batch.end(lost);
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
      appendFileSync(`${file}.torn`, `${torn.line}\n`, { mode: FILE_MODE, flush: true });
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
