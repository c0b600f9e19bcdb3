// File operations of the JSON-file store. Each completes or fails: a short write continues until all is written or an
// error is thrown. Callers interpret the errors.
import { constants } from "node:buffer";
import * as fs from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { isNodeError } from "../../lib/node-error.ts";

/** Readable for the owner only: the data holds hashes, secrets of webhooks and the signing key. */
export const PRIVATE = 0o600;
/** The maximum length of a JavaScript string: a longer file could not be parsed again. */
export const BYTES_MAX = constants.MAX_STRING_LENGTH;
const UNSYNCED_BYTES_MAX = 1024 * 1024;

// Callback functions, because they cost less than FileHandles and every commit waits for them.
export const open = promisify(fs.open);
export const close = promisify(fs.close);
export const truncate = promisify(fs.ftruncate);
export const datasync = promisify(fs.fdatasync);
export const sync = promisify(fs.fsync);
export const remove = (file: string): Promise<void> => fs.promises.rm(file, { force: true });
const write = promisify(fs.write);
const read = promisify(fs.read);

export async function writeAll(fd: number, bytes: Buffer, position: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const { bytesWritten } = await write(fd, bytes, done, bytes.length - done, position + done);
    if (bytesWritten === 0) throw new Error("The disk took no more bytes and gave no reason");
    done += bytesWritten;
  }
}

/** Creates a new file in place of any with this name, so that no other process has it open. */
export async function createFile(file: string): Promise<number> {
  await remove(file);
  return await open(file, "wx+", PRIVATE);
}

export async function readPart(fd: number, start: number, end: number): Promise<Buffer> {
  const part = Buffer.alloc(end - start);
  const { bytesRead } = await read(fd, part, 0, part.length, start);
  if (bytesRead < part.length) throw new Error("The file is shorter than what was written to it");
  return part;
}

/**
 * Writes a temporary file, renames it once it is synced, and returns its open descriptor. `check` throws if the file
 * must not be replaced; nothing else in this process runs between it and the rename.
 */
export async function replaceFile(
  file: string,
  deps: Iterable<Buffer>,
  check: () => void,
  bytesMax = BYTES_MAX,
): Promise<number> {
  check();
  const fd = await createFile(`${file}.new`);
  try {
    let [length, synced] = [0, 0];
    for (const part of deps) {
      if (length + part.length > bytesMax)
        throw new Error(`more than ${bytesMax} bytes could not be read again`);
      await writeAll(fd, part, length);
      length += part.length;
      if (length - synced < UNSYNCED_BYTES_MAX) continue;
      // Syncs in between, so that other writers do not wait for the whole file at once.
      await datasync(fd);
      synced = length;
    }
    await sync(fd);
    check();
    fs.renameSync(`${file}.new`, file);
    return fd;
  } catch (error) {
    await close(fd);
    await remove(`${file}.new`).catch(() => undefined);
    throw error;
  }
}

/** Makes created, renamed and removed names in the folder durable. */
export async function syncFolderOf(file: string): Promise<void> {
  const fd = await open(dirname(file), "r");
  await sync(fd).finally(() => close(fd));
}

export function sizeOf(file: string): number | undefined {
  return fs.statSync(file, { throwIfNoEntry: false })?.size;
}

/** Resolves symbolic links, including a link to a file that does not exist yet. */
export function followLinks(path: string): string {
  sizeOf(path); // throws on circular links
  const file = join(fs.realpathSync(dirname(resolve(path))), basename(path));
  if (!fs.lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) return file;
  return followLinks(resolve(dirname(file), fs.readlinkSync(file)));
}

export const codeOf = (error: unknown): string | undefined =>
  isNodeError(error) ? error.code : undefined;
