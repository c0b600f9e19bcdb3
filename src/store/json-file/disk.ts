// The few file operations that the store is built from. Each is whole or fails: a write that comes back short goes on
// until all is written or an error says why not. Nothing here decides what an error means.
import { isAscii } from "node:buffer";
import * as fs from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

/** Readable for the owner only: the data holds hashes, secrets of webhooks and the signing key. */
export const PRIVATE = 0o600;

const LINKS_MAX = 40;
const CHUNK_BYTES = 4 * 1024 * 1024;

// The callback functions cost less than FileHandles, and a commit waits for them.
export const open = promisify(fs.open);
export const close = promisify(fs.close);
export const truncate = promisify(fs.ftruncate);
export const datasync = promisify(fs.fdatasync);
export const sync = promisify(fs.fsync);
export const rename = promisify(fs.rename);
/** Removes a file that need not be there. */
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

/** Copies what `from` holds between the two offsets to `to`, at `position`. */
export async function copyRange(from: number, to: number, start: number, end: number, position: number): Promise<void> {
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, end - start));
  for (let at = start; at < end; ) {
    const { bytesRead } = await read(from, buffer, 0, Math.min(buffer.length, end - at), at);
    if (bytesRead === 0) throw new Error("The file is shorter than what was written to it");
    await writeAll(to, buffer.subarray(0, bytesRead), position + at - start);
    at += bytesRead;
  }
}

/** Makes names in the folder durable: files made, renamed or removed. */
export async function syncFolderOf(file: string): Promise<void> {
  const fd = await open(dirname(file), "r");
  try {
    await sync(fd);
  } finally {
    await close(fd);
  }
}

/** A line with its line feed (the last one of a file may lack it), as a part of what was read. */
export class Line {
  buffer: Buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  /** Where the buffer begins in the file. */
  bufferStart = 0;
  from = 0;
  to = 0;
  /** From 1. */
  number = 0;
  isAscii = false;
  /** The last of those that lie in the buffer: when the next line is asked for, they are gone. */
  isLastInBuffer = false;

  get bytes(): Buffer {
    return this.buffer.subarray(this.from, this.to);
  }

  /** The text of the bytes from one place in the buffer up to another. */
  text(from: number, to: number): string {
    return this.buffer.toString(this.isAscii ? "latin1" : "utf8", from, to);
  }

  /** Where it begins in the file. */
  get start(): number {
    return this.bufferStart + this.from;
  }

  next(from: number, to: number, isLastInBuffer: boolean): this {
    this.number += 1;
    this.from = from;
    this.to = to;
    this.isLastInBuffer = isLastInBuffer;
    return this;
  }
}

/**
 * The lines of a file, which may be larger than memory. One object stands for all of them, since there are millions, and
 * one buffer for all that is read: with 70 buffers for 300 MB the garbage collector went over the whole heap again and
 * again, for a quarter of the time of loading.
 */
export function* readLines(file: string): Generator<Line> {
  const fd = fs.openSync(file, "r");
  const line = new Line();
  let rest = 0;
  try {
    for (let length = readOn(fd, line, rest); length > rest; length = readOn(fd, line, rest)) {
      const { buffer } = line;
      line.isAscii = isAscii(buffer.subarray(0, length));
      let at = 0;
      for (const end = buffer.lastIndexOf(10, length - 1) + 1; at < end; at = line.to) {
        const to = buffer.indexOf(10, at) + 1;
        yield line.next(at, to, to === end);
      }
      rest = length - at;
      buffer.copyWithin(0, at, length);
      line.bufferStart += at;
    }
    if (rest > 0) yield line.next(0, rest, true);
  } finally {
    fs.closeSync(fd);
  }
}

/** Reads what follows behind the first `rest` bytes of the buffer; answers how much it holds then. */
function readOn(fd: number, line: Line, rest: number): number {
  // A line that is longer than the buffer needs a longer one.
  if (rest === line.buffer.length) line.buffer = Buffer.concat([line.buffer], 2 * rest);
  return rest + fs.readSync(fd, line.buffer, rest, line.buffer.length - rest, null);
}

/** The size of a file; undefined where there is none. */
export function sizeOf(file: string): number | undefined {
  return fs.statSync(file, { throwIfNoEntry: false })?.size;
}

/** The file that a path leads to, also when a link points at one that is not there yet. */
export function followLinks(path: string): string {
  let file = resolve(path);
  for (let links = 0; links < LINKS_MAX; links += 1) {
    file = join(fs.realpathSync(dirname(file)), basename(file));
    if (!fs.lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) return file;
    file = resolve(dirname(file), fs.readlinkSync(file));
  }
  throw new Error(`${path} leads through too many symbolic links`);
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
