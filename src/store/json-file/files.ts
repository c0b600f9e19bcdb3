// FILE and FILE.journal together: a batch goes to the journal; when that has grown, FILE is written anew beside the
// running service and the journal is cut. At every moment the two hold the same data: the old FILE with the journal, or
// the new one with what came after. What touches the journal happens one after the other, in the lane.
import { Turns } from "../../kit/background.ts";
import type { Rules } from "../rules.ts";
import type { Tables } from "../tables.ts";
import type { Commits } from "./commits.ts";
import * as disk from "./disk.ts";
import { type InTurn, Journal, unavailable } from "./journal.ts";
import { recover, type Warn } from "./recover.ts";
import { encode } from "./snapshot.ts";

/** So much is handed to the disk before the rest of a snapshot follows: commits must not wait for all of it at once. */
const UNSYNCED_BYTES_MAX = 1024 * 1024;

/**
 * How many times as long as FILE the journal grows before it is folded. Folding is a tenth of what a create costs where
 * it comes at once FILE's length; a start after a crash, which reads both, takes the longer.
 */
const LONGEST = 2;

export class Files {
  readonly #file: string;
  readonly #journal: Journal;
  readonly #journal_bytes_max: number;
  readonly #warn: Warn;
  #lane: Promise<unknown> = Promise.resolve();
  /** Who takes the place of everything, or ends it. */
  readonly #whole = new Turns();
  #folding: Promise<void> | undefined;
  /** The journal is folded at this length. */
  #foldAt: number;

  private constructor(file: string, journal: Journal, journal_bytes_max: number, warn: Warn) {
    this.#file = file;
    this.#journal = journal;
    this.#journal_bytes_max = journal_bytes_max;
    this.#warn = warn;
    this.#foldAt = Math.max(journal_bytes_max, LONGEST * (disk.sizeOf(file) ?? 0));
  }

  static async open(
    file: string,
    rules: Rules,
    journal_bytes_max: number,
    warn: Warn,
  ): Promise<{ files: Files; tables: Tables }> {
    const { tables, seq, journalLength, rewrite } = recover(file, rules, warn);
    if (rewrite) {
      await write(`${file}.new`, tables, seq);
      await disk.rename(`${file}.new`, file);
      await disk.syncFolderOf(file);
    }
    const journal = await Journal.open(`${file}.journal`, rewrite ? 0 : journalLength, seq);
    return { files: new Files(file, journal, journal_bytes_max, warn), tables };
  }

  /** Writes what has gathered, and tells `commits` what came of it. */
  write(commits: Commits): Promise<void> {
    return this.#inTurn(async () => {
      const batch = commits.take();
      if (batch === undefined) return;
      try {
        await this.#journal.append(batch.commits);
        commits.kept();
      } catch (error) {
        commits.lost(error);
      }
      if (this.#journal.length > this.#foldAt)
        this.#folding ??= this.#fold(commits.tables, (task) => this.#inTurn(task));
    });
  }

  /** Writes `tables` in the place of everything; `then` is called when they are durable, before anything else is. */
  replace(tables: Tables, then: () => void): Promise<void> {
    return this.#alone(() => this.#replaceNow(tables, then));
  }

  /** Folds the journal into FILE, so that a clean stop leaves one file. What was to be replaced before that, is. */
  close(commits: Commits): Promise<void> {
    return this.#alone(async () => {
      if (!this.#journal.isBroken && this.#journal.length > 0) await this.#fold(commits.tables, (task) => task());
      await this.#journal.close();
      // One that cannot be removed is empty, and as good as none.
      if (this.#journal.length === 0) await disk.remove(`${this.#file}.journal`).catch(() => undefined);
    });
  }

  /** Runs one task after the other, each while nothing else is written: two that wrote FILE at once would destroy it. */
  #alone(task: () => Promise<void>): Promise<void> {
    return this.#whole.run(async () => {
      let isDone = false;
      while (!isDone) {
        await this.#folding;
        isDone = await this.#inTurn(async () => {
          // A batch that went before may have started to fold its tables into FILE.
          if (this.#folding !== undefined) return false;
          await task();
          return true;
        });
      }
    });
  }

  async #replaceNow(tables: Tables, then: () => void): Promise<void> {
    this.#journal.assertUsable();
    const { seq, length } = this.#journal;
    const file = `${this.#file}.new`;
    try {
      await write(file, tables, seq);
      await disk.rename(file, this.#file);
    } catch (error) {
      await disk.remove(file).catch(() => undefined);
      throw unavailable(error);
    }
    await this.#journal.afterwards(() => disk.syncFolderOf(this.#file));
    then();
    // From here FILE is what counts: lines of the journal that stay are known to be contained in it.
    await this.#journal.dropBefore(length, (task) => task()).catch((error) => this.#tell(error));
    this.#foldLater();
  }

  /** Writes FILE anew from the tables as they are now, and cuts the journal, while both are in use. */
  async #fold(tables: Tables, inTurn: InTurn): Promise<void> {
    const { seq, length } = this.#journal;
    const file = `${this.#file}.new`;
    try {
      await write(file, tables, seq);
      await disk.rename(file, this.#file);
      await disk.syncFolderOf(this.#file);
      await this.#journal.dropBefore(length, inTurn);
    } catch (error) {
      // Nothing is lost: the journal still has it all. It is tried again when that has grown as much once more.
      this.#tell(error);
      await disk.remove(file).catch(() => undefined);
    }
    this.#foldLater();
    this.#folding = undefined;
  }

  /** FILE has just been written, or could not be: the journal has to grow by as much before that is worth its cost. */
  #foldLater(): void {
    this.#foldAt = this.#journal.length + Math.max(this.#journal_bytes_max, LONGEST * (disk.sizeOf(this.#file) ?? 0));
  }

  #tell(error: unknown): void {
    this.#warn(`${this.#file} could not be written (${disk.messageOf(error)}); changes stay in ${this.#file}.journal`);
  }

  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#lane.then(task);
    // The next in turn does not care how this one ended; its caller does.
    this.#lane = done.catch(() => undefined);
    return done;
  }
}

/** Writes the tables as they are at the call to a file of its own, part by part, and waits until the disk has it. */
async function write(file: string, tables: Tables, seq: number): Promise<void> {
  const { lists } = tables.freeze();
  try {
    await writeParts(file, encode(seq, lists));
  } finally {
    tables.thaw();
  }
}

async function writeParts(file: string, parts: Iterable<Buffer>): Promise<void> {
  const fd = await disk.open(file, "w", disk.PRIVATE);
  try {
    let length = 0;
    let synced = 0;
    for (const part of parts) {
      await disk.writeAll(fd, part, length);
      length += part.length;
      if (length - synced < UNSYNCED_BYTES_MAX) continue;
      await disk.datasync(fd);
      synced = length;
    }
    await disk.sync(fd);
  } finally {
    await disk.close(fd);
  }
}
