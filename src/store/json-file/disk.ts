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

/** A line with its line feed (the last one may lack it), as a part of what was read; valid until the next is asked for. */
export class Line {
  buffer: Buffer = Buffer.alloc(0);
  from = 0;
  to = 0;
  /** From 1. */
  number = 0;
  /** Where it begins in the file. */
  start = 0;
  isAscii = false;

  get bytes(): Buffer {
    return this.buffer.subarray(this.from, this.to);
  }

  /** The text of the line, without its last `less` bytes. */
  text(less = 0): string {
    return this.buffer.toString(this.isAscii ? "latin1" : "utf8", this.from, this.to - less);
  }

  byteFromEnd(distance: number): number | undefined {
    return this.buffer[this.to - distance];
  }
}

/** The lines of a file, which may be larger than memory. One object stands for all of them, since there are millions. */
export function* readLines(file: string): Generator<Line> {
  const fd = fs.openSync(file, "r");
  const line = new Line();
  let parts: Buffer[] = [];
  try {
    for (let chunk = readChunk(fd); chunk.length > 0; chunk = readChunk(fd)) {
      const chunkIsAscii = isAscii(chunk);
      let from = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
        if (parts.length === 0) next(line, chunk, from, end + 1, chunkIsAscii);
        else whole(line, [...parts, chunk.subarray(from, end + 1)]);
        yield line;
        parts = [];
        from = end + 1;
      }
      if (from < chunk.length) parts.push(chunk.subarray(from));
    }
    if (parts.length > 0) yield whole(line, parts);
  } finally {
    fs.closeSync(fd);
  }
}

function next(line: Line, buffer: Buffer, from: number, to: number, ascii: boolean): Line {
  line.start += line.to - line.from;
  line.number += 1;
  line.buffer = buffer;
  line.from = from;
  line.to = to;
  line.isAscii = ascii;
  return line;
}

function whole(line: Line, parts: readonly Buffer[]): Line {
  const bytes = Buffer.concat(parts);
  return next(line, bytes, 0, bytes.length, false);
}

function readChunk(fd: number): Buffer {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  return chunk.subarray(0, fs.readSync(fd, chunk, 0, CHUNK_BYTES, null));
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
