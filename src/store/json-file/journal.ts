// FILE.journal: what was committed since FILE was written, as JSON Lines. A line is one batch of commits: the CRC of
// the rest of the line, its number, and the writes of each commit. Lines are numbered without a gap over the whole life
// of the data, so that a missing one is noticed. Nothing counts before fdatasync has returned.
import { crc32 } from "node:zlib";
import { StorageUnavailable } from "../../domain/store.ts";
import * as disk from "./disk.ts";
import { hex } from "./snapshot.ts";

/** `{"crc":"0123abcd",` - of fixed length, so that the rest can be checked before anything is parsed. */
const HEAD_BYTES = 18;
const START = '{"crc":"';
const HEAD = /^\{"crc":"([0-9a-f]{8})",$/;

export type Write = readonly ["put", collection: string, record: object] | readonly ["remove", string, id: string];

/** Runs a task when no other uses the journal. */
export type InTurn = <T>(task: () => Promise<T>) => Promise<T>;

export interface Batch {
  readonly seq: number;
  readonly commits: readonly (readonly Write[])[];
}

/** The line of a batch; `commits` are JSON texts. */
export function lineOf(seq: number, commits: readonly string[]): Buffer {
  const body = Buffer.from(`"seq":${seq},"commits":[${commits.join(",")}]}\n`);
  return Buffer.concat([Buffer.from(`{"crc":"${hex(crc32(body.subarray(0, -1)))}",`), body]);
}

/** The batch of a line, or undefined where the line is not whole or not what was written. */
export function batchOf(line: Buffer): Batch | undefined {
  if (line.at(-1) !== 10) return undefined;
  const [, crc] = HEAD.exec(line.toString("latin1", 0, HEAD_BYTES)) ?? [];
  const body = line.subarray(HEAD_BYTES, -1);
  if (crc !== hex(crc32(body))) return undefined;
  // The CRC holds, so this is what `lineOf` wrote.
  return JSON.parse(`{${body.toString("utf8")}`);
}

/**
 * Whether a bad line is two that have run together because the line feed between them is damaged. A write that was torn
 * never looks so: it is one line, and nothing was written after it.
 */
export function isTwoLines(line: Buffer): boolean {
  for (let at = line.indexOf(START, 1); at > 0; at = line.indexOf(START, at + 1)) {
    const first = Buffer.concat([line.subarray(0, at - 1), Buffer.from("\n")]);
    if (batchOf(first) !== undefined || batchOf(line.subarray(at)) !== undefined) return true;
  }
  return false;
}

export class Journal {
  readonly #file: string;
  #fd: number;
  #length: number;
  #seq: number;
  /** Something may stand behind the last good line: a failed write that could not be cut off yet. */
  #ragged = false;
  /** After a failed fsync nobody knows what the disk holds (the kernel forgets): nothing more is written. */
  #broken: unknown;

  private constructor(file: string, fd: number, length: number, seq: number) {
    this.#file = file;
    this.#fd = fd;
    this.#length = length;
    this.#seq = seq;
  }

  /** `length` bytes of the file are good, the last line is number `seq`; anything behind is cut off. */
  static async open(file: string, length: number, seq: number): Promise<Journal> {
    const isNew = disk.sizeOf(file) === undefined;
    const fd = await disk.open(file, isNew ? "wx+" : "r+", disk.PRIVATE);
    if (isNew) await disk.syncFolderOf(file);
    else if ((disk.sizeOf(file) ?? 0) > length) {
      await disk.truncate(fd, length);
      await disk.sync(fd);
    }
    return new Journal(file, fd, length, seq);
  }

  /** The number of the last line. */
  get seq(): number {
    return this.#seq;
  }

  get length(): number {
    return this.#length;
  }

  get isBroken(): boolean {
    return this.#broken !== undefined;
  }

  /** Adds a line and waits until the disk has it. Where that fails the file is as before. */
  async append(commits: readonly string[]): Promise<void> {
    this.assertUsable();
    const line = lineOf(this.#seq + 1, commits);
    try {
      if (this.#ragged) await this.#cutOff();
      this.#ragged = true;
      await disk.writeAll(this.#fd, line, this.#length);
    } catch (error) {
      await this.#cutOff().catch(() => this.#ragged);
      throw unavailable(error);
    }
    await this.afterwards(() => disk.datasync(this.#fd));
    this.#ragged = false;
    this.#length += line.length;
    this.#seq += 1;
  }

  /**
   * Drops the first `upTo` bytes, which FILE contains by now: the rest goes to a new file that takes the name. Lines may
   * be added meanwhile; only the last step, for what came in between, is done `inTurn` with them.
   */
  async dropBefore(upTo: number, inTurn: InTurn): Promise<void> {
    this.assertUsable();
    const file = `${this.#file}.new`;
    const old = this.#fd;
    const fd = await disk.open(file, "w+", disk.PRIVATE);
    try {
      const copied = this.#length;
      await disk.copyRange(this.#fd, fd, upTo, copied, 0);
      await disk.datasync(fd);
      await inTurn(async () => {
        await disk.copyRange(this.#fd, fd, copied, this.#length, copied - upTo);
        if (copied < this.#length) await disk.datasync(fd);
        await disk.rename(file, this.#file);
        await this.#changeTo(fd, this.#length - upTo);
      });
    } catch (error) {
      if (fd !== this.#fd) {
        await disk.close(fd);
        await disk.remove(file);
      }
      throw error;
    } finally {
      // With this the system frees the old file, which takes 15 ms for 100 MB: no line should wait for it.
      if (fd === this.#fd) await disk.close(old);
    }
  }

  async #changeTo(fd: number, length: number): Promise<void> {
    this.#fd = fd;
    this.#length = length;
    this.#ragged = false;
    // Else a power cut could bring the old file back, without the lines that follow from here on.
    await this.afterwards(() => disk.syncFolderOf(this.#file));
  }

  /** Does what makes a write durable. If that fails nobody knows what the disk holds, and nothing more is written. */
  async afterwards(sync: () => Promise<void>): Promise<void> {
    try {
      await sync();
    } catch (error) {
      this.#broken = error;
      await this.#cutOff().catch(() => this.#ragged);
      throw unavailable(error);
    }
  }

  assertUsable(): void {
    if (this.#broken !== undefined) throw unavailable(this.#broken);
  }

  async close(): Promise<void> {
    await disk.close(this.#fd);
  }

  async #cutOff(): Promise<void> {
    await disk.truncate(this.#fd, this.#length);
    this.#ragged = false;
  }
}

export function unavailable(cause: unknown): StorageUnavailable {
  return new StorageUnavailable(`The data could not be written: ${disk.messageOf(cause)}`, { cause });
}
