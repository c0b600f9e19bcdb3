// FILE and FILE.journal in use: a batch of commits goes to the journal and counts once fdatasync has returned; when the
// journal has grown, FILE is written anew beside the running service, and what it contains is cut off the journal before
// the next line. At every moment the two hold the same data: the old FILE with the journal, or the new one with what came
// after.
import type { DurableWriter } from "../group-commit.ts";
import { type Batch, dump, type TableDump, type Tables } from "../tables.ts";
import { encode, lineOf } from "./format.ts";
import * as disk from "./fs.ts";
import type { Lock, Waiting } from "./lock.ts";

/** So many times as long as FILE the journal grows before it is folded: a start reads both, a folding costs the creates. */
const LONGEST = 2;

export interface Settings extends Waiting {
  /** The journal is folded into FILE when it is longer than this and than FILE twice. */
  readonly journal_bytes_max: number;
}

export type Parts = Settings & { file: string; tables: Tables; lock: Lock };

/** The lines of the journal that count: so many bytes, the last one with this number. */
type Good = { readonly length: number; readonly seq: number };

export class Files implements DurableWriter {
  /** Why nothing more is written: nobody knows what the disk holds after a failed fsync (the kernel forgets). */
  #broken: unknown;
  #folding: Promise<void> | undefined;
  /** So many bytes of the journal FILE contains, too. */
  #contained = 0;
  /** FILE is written anew when so many bytes have come that it does not contain. */
  #foldAt: number;
  readonly #break = (error: unknown): never => {
    this.#broken = error;
    throw error;
  };
  /** A process that was stopped may have lost its lock to another, which has the files since then. */
  readonly #assertLocked = (): void => {
    if (!this.deps.lock.isHeld())
      this.#break(
        new Error(`${this.deps.file} was taken over by another process; restart this one`),
      );
  };
  /** Nothing is lost where FILE could not be written: the journal still has it all. */
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
   * Writes FILE from the tables, which hold all up to the line `seq`, and begins a journal. This shows that FILE can be
   * replaced before anything is acknowledged. The journal is a new file, since a process that was stopped and has lost its
   * lock may still have the old one open.
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
    // Now, and not when the line has been appended: by then there will be others.
    const folded = isDue ? dump(this.deps.tables) : undefined;
    if (this.#contained > 0) await this.#cut();
    await this.#add(line);
    if (folded === undefined) return;
    const over = () => {
      this.#folding = undefined;
    };
    this.#folding = this.replace(folded).catch(this.#tell).then(over);
  }

  /** Writes FILE anew from these records, in the place of all up to the last line of the journal. */
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
      // Where it failed, too: it is tried again when the journal has grown as much once more.
      this.#foldAt = this.#grown + this.#enough();
    }
  }

  /** Folds the journal into FILE, so that a clean stop leaves one file. */
  async close(): Promise<void> {
    await this.#folding;
    try {
      if (this.#grown > 0) await this.replace(dump(this.deps.tables)).catch(this.#tell);
      await disk.close(this.journal);
      // One that cannot be removed is as good as none.
      if (this.#grown === 0 && this.deps.lock.isHeld())
        await disk.remove(`${this.deps.file}.journal`).catch(() => undefined);
    } finally {
      this.deps.lock.release();
    }
  }

  /** What fails leaves the journal as before. If it was a sync, or that is out of reach, nothing more is written. */
  async #add(line: Buffer): Promise<void> {
    const { length, seq } = this.good;
    try {
      await disk.writeAll(this.journal, line, length);
      await disk.datasync(this.journal).catch(this.#break);
      // Whoever takes over from now on finds this line, and only what is found may be acknowledged.
      this.#assertLocked();
    } catch (error) {
      await disk.truncate(this.journal, length).catch(this.#break);
      throw error;
    }
    this.good = { length: length + line.length, seq: seq + 1 };
  }

  /** Drops what FILE contains: the rest of the journal goes to a new file that takes the name. */
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
    // Else a power cut could bring the old file back, without the lines that follow from here on.
    const named = disk.syncFolderOf(file).catch(this.#break);
    await named.finally(() => disk.close(old));
  }

  /** So many bytes of the journal FILE does not contain. */
  get #grown(): number {
    return this.good.length - this.#contained;
  }

  /** How long a journal is worth the cost of folding it. */
  #enough(): number {
    return Math.max(this.deps.journal_bytes_max, LONGEST * (disk.sizeOf(this.deps.file) ?? 0));
  }
}
