// The store behind `--data FILE`: records in memory, each commit in FILE.journal before it is acknowledged, and FILE as
// readable JSON. Commits that wait at the same time are written together with one fdatasync. A start, a clean stop and
// a long journal write a checkpoint: FILE with all data, and an empty journal. At every moment the two files hold all
// data.
import { appendFileSync, readlinkSync, realpathSync, renameSync, rmSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import {
  type AnyCollection,
  StorageUnavailable,
  type Store,
  StoreOpenError,
} from "../domain/store.ts";
import { after } from "../lib/clock.ts";
import { encodeBatch, encodeSnapshot, FILE_MODE, readFiles, tryCall } from "./json-file/format.ts";
import { acquireLock, type Lock, type LockOptions } from "./json-file/lock.ts";
import { createStore } from "./memory.ts";
import type { Change, Tables } from "./tables.ts";

interface Settings extends LockOptions {
  /** A checkpoint is written when the journal is longer than this and more than twice as long as FILE. */
  readonly journal_bytes_max: number;
}

const DEFAULTS: Settings = {
  warn: () => undefined,
  wait: (for_ms) => new Promise((resolve) => void after(for_ms, resolve)),
  journal_bytes_max: 8 * 1024 * 1024,
};

export function jsonFileStore(path: string, options: Partial<Settings> = {}): Store {
  const settings = { ...DEFAULTS, ...options };
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

  /** Reads the files. Changes none of them before all data is read and FILE has been replaced once. */
  async function load(collections: readonly AnyCollection[]): Promise<Tables> {
    try {
      file = resolveLinks(path);
      lock = await acquireLock(file, settings);
      const recovered = readFiles(file, collections);
      const journalFile = `${file}.journal`;
      seq = recovered.seq;
      await replace(recovered.tables);
      if (recovered.torn !== undefined) {
        const options = { encoding: "latin1", mode: FILE_MODE, flush: true } as const;
        appendFileSync(`${file}.torn`, `${recovered.torn}\n`, options);
        settings.warn(
          `The last line of ${journalFile} was cut short by a crash and never acknowledged; it was moved to ${file}.torn`,
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
        `${path} cannot be used (${error}). Its folder must exist, and this user must be able to write there. In a container, mount the folder, not the file alone.`,
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
    checkpointAt = length + Math.max(settings.journal_bytes_max, 2 * text.length);
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
      settings.warn(`${path} could not be written (${error}); changes stay in its journal`),
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
  return target === undefined ? path : resolveLinks(resolve(realpathSync(dirname(path)), target));
}
