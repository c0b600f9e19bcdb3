// FILE and FILE.journal in use. A batch of commits is appended to the journal and is durable once fdatasync has
// returned. When the journal has grown, FILE is rewritten in the background. Before the next append, the lines that
// FILE contains are cut off the journal. At every moment the two hold all data: the old FILE with the journal, or the
// new FILE with the later lines.
import type { DurableWriter } from "../group-commit.ts";
import { type Batch, dump, type TableDump, type Tables } from "../tables.ts";
import { encode, lineOf } from "./format.ts";
import * as disk from "./fs.ts";
import type { Lock, Waiting } from "./lock.ts";

/** The journal is folded at this multiple of FILE's size. A start reads both; a fold rewrites FILE. */
const LONGEST = 2;

export interface Settings extends Waiting {
  /** The journal is folded into FILE when it is longer than this and than FILE twice. */
  readonly journal_bytes_max: number;
}

export type Parts = Settings & { file: string; tables: Tables; lock: Lock };

/** The valid part of the journal: its length in bytes, and the number of its last line. */
type Good = { readonly length: number; readonly seq: number };

export class Files implements DurableWriter {
  /**
   * The error that stopped all writing. After a failed fsync the disk's content is unknown, because the kernel does not
   * keep it.
   */
  #broken: unknown;
  #folding: Promise<void> | undefined;
  /** Length in bytes of the part of the journal that FILE contains as well. */
  #contained = 0;
  /** FILE is rewritten when the journal has this many bytes that FILE does not contain. */
  #foldAt: number;
  readonly #break = (error: unknown): never => {
    this.#broken = error;
    throw error;
  };
  /** A suspended process may have lost its lock to another process, which owns the files now. */
  readonly #assertLocked = (): void => {
    if (!this.deps.lock.isHeld())
      this.#break(
        new Error(`${this.deps.file} was taken over by another process; restart this one`),
      );
  };
  /** Warns only: if FILE could not be written, the journal still has everything. */
  readonly #tell = (error: unknown): void => {
    const { file, warn } = this.deps;
    warn(`${file} could not be written (${error}); changes stay in ${file}.journal`);
  };

  private constructor(
    private readonly deps: Parts,
    private journal: number,
    private good: Good,
  ) {
    this.#foldAt = this.#enough();
  }

  /**
   * Writes FILE from the tables, which hold everything up to line `seq`, and starts a journal. This proves that FILE
   * can be replaced before anything is acknowledged. The journal is a new file, because a suspended process that has
   * lost its lock may still have the old one open.
   */
  static async open(parts: Parts, seq: number): Promise<Files> {
    const files = new Files(parts, -1, { length: 0, seq });
    await files.replace(dump(parts.tables));
    files.journal = await disk.createFile(`${parts.file}.journal`);
    try {
      await disk.syncFolderOf(parts.file);
    } catch (error) {
      await disk.close(files.journal);
      throw error;
    }
    return files;
  }

  async append(commits: Batch["commits"]): Promise<void> {
    if (this.#broken !== undefined) throw this.#broken;
    this.#assertLocked();
    const line = lineOf(this.good.seq + 1, commits);
    const isDue = this.#folding === undefined && this.#grown + line.length > this.#foldAt;
    // Dump before appending the line, because other commits will follow during the append.
    const folded = isDue ? dump(this.deps.tables) : undefined;
    if (this.#contained > 0) await this.#cut();
    await this.#add(line);
    if (folded === undefined) return;
    const over = () => {
      this.#folding = undefined;
    };
    this.#folding = this.replace(folded).catch(this.#tell).then(over);
  }

  /** Rewrites FILE from these records, which replace everything up to the journal's last line. */
  async replace(records: TableDump): Promise<void> {
    await this.#folding;
    const { length, seq } = this.good;
    const { file } = this.deps;
    try {
      if (this.#broken !== undefined) throw this.#broken;
      await disk.close(await disk.replaceFile(file, encode(seq, records), this.#assertLocked));
      await disk.syncFolderOf(file).catch(this.#break);
      this.#contained = length;
    } finally {
      // After a failure, too: the next try is due when the journal has grown by as much again.
      this.#foldAt = this.#grown + this.#enough();
    }
  }

  /** Folds the journal into FILE, so that a clean stop leaves one file. */
  async close(): Promise<void> {
    await this.#folding;
    try {
      if (this.#grown > 0) await this.replace(dump(this.deps.tables)).catch(this.#tell);
      await disk.close(this.journal);
      // Ignored, because an empty journal is as good as none.
      if (this.#grown === 0 && this.deps.lock.isHeld())
        await disk.remove(`${this.deps.file}.journal`).catch(() => undefined);
    } finally {
      this.deps.lock.release();
    }
  }

  /** On failure the journal is truncated to its former length. If that or the sync fails, nothing more is written. */
  async #add(line: Buffer): Promise<void> {
    const { length, seq } = this.good;
    try {
      await disk.writeAll(this.journal, line, length);
      await disk.datasync(this.journal).catch(this.#break);
      // A process that takes the lock over from now on finds this line. Only then may it be acknowledged.
      this.#assertLocked();
    } catch (error) {
      await disk.truncate(this.journal, length).catch(this.#break);
      throw error;
    }
    this.good = { length: length + line.length, seq: seq + 1 };
  }

  /** Drops the part that FILE contains: the rest goes to a new file, renamed to the journal's name. */
  async #cut(): Promise<void> {
    const [old, start, file] = [this.journal, this.#contained, `${this.deps.file}.journal`];
    const { length, seq } = this.good;
    this.#contained = 0;
    try {
      this.journal = await disk.replaceFile(
        file,
        [await disk.readPart(old, start, length)],
        this.#assertLocked,
      );
    } catch (error) {
      return this.#tell(error);
    }
    this.good = { length: length - start, seq };
    // Otherwise a power cut could restore the old file, without the lines that follow.
    const named = disk.syncFolderOf(file).catch(this.#break);
    await named.finally(() => disk.close(old));
  }

  /** Bytes of the journal that FILE does not contain. */
  get #grown(): number {
    return this.good.length - this.#contained;
  }

  /** The journal length that justifies a fold. */
  #enough(): number {
    return Math.max(this.deps.journal_bytes_max, LONGEST * (disk.sizeOf(this.deps.file) ?? 0));
  }
}
