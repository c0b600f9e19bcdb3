// The store behind `--data FILE`: records in memory, every commit in FILE.journal before it is acknowledged, and FILE
// itself a snapshot that a person can read (design: the numbered promises in test/stores/json-file.test.ts). Commits
// that come while the disk is busy go out together in the next line. It serves one process, and knows nothing of apps.
import { type AnyCollection, type Lease, type Store, type StoreData, StoreRefusal, type Tx } from "../domain/store.ts";
import { dataOf, tablesOf } from "./data.ts";
import { Ears } from "./ears.ts";
import { Commits } from "./json-file/commits.ts";
import { errorCode, followLinks, messageOf } from "./json-file/disk.ts";
import { Files } from "./json-file/files.ts";
import { Lock } from "./json-file/lock.ts";
import type { Warn } from "./json-file/recover.ts";
import { Leases } from "./leases.ts";
import { rulesOf } from "./rules.ts";
import { Reading, runWork, Transaction } from "./transaction.ts";

export interface JsonFileOptions {
  /** Told of what a start had to set aside, and of a snapshot that could not be written. */
  readonly warn?: Warn;
  /** The journal is folded into FILE when it is larger than this and than FILE twice. */
  readonly journal_bytes_max?: number;
}

const JOURNAL_BYTES_MAX = 8 * 1024 * 1024;

export const jsonFileStore = (file: string, options: JsonFileOptions = {}): Store => new JsonFileStore(file, options);

interface Parts {
  readonly commits: Commits;
  readonly files: Files;
  readonly lock: Lock;
}

class JsonFileStore extends Reading implements Store {
  readonly #path: string;
  readonly #warn: Warn;
  readonly #journal_bytes_max: number;
  readonly #leases = new Leases();
  readonly #ears = new Ears();
  #parts: Parts | "new" | "closed" = "new";
  /** Ends when all that was gathered is written. */
  #writing: Promise<void> | undefined;

  constructor(path: string, { warn = () => {}, journal_bytes_max = JOURNAL_BYTES_MAX }: JsonFileOptions) {
    super(() => ({ rules: this.#open().commits.rules, view: this.#open().commits.tables }));
    this.#path = path;
    this.#warn = warn;
    this.#journal_bytes_max = journal_bytes_max;
  }

  async open(collections: readonly AnyCollection[]): Promise<void> {
    if (this.#parts !== "new") throw new Error("A store is opened once");
    this.#parts = "closed";
    const rules = rulesOf(collections);
    const { file, lock } = asRefusal(this.#path, () => {
      const file = followLinks(this.#path);
      return { file, lock: Lock.take(file) };
    });
    try {
      const { files, tables } = await Files.open(file, rules, this.#journal_bytes_max, this.#warn);
      this.#parts = { commits: new Commits(rules, tables), files, lock };
    } catch (error) {
      lock.release();
      throw refusalOf(file, error);
    }
  }

  transact<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return runWork(
      this.#ears,
      work,
      () => new Transaction(this.#open().commits),
      (tx, changes) => {
        const { commits } = this.#open();
        if (changes.length === 0) return commits.confirm(tx.reads);
        const end = commits.add(changes);
        this.#writing ??= this.#writeAll();
        return end;
      },
    );
  }

  async lease(name: string, for_ms: number): Promise<Lease | undefined> {
    this.#open();
    return this.#leases.take(name, for_ms);
  }

  hear(topic: string, heard: (subject: string) => void): () => void {
    return this.#ears.hear(topic, heard);
  }

  async snapshot(): Promise<StoreData> {
    const { rules, tables } = this.#open().commits;
    return dataOf(rules, tables);
  }

  async restore(data: StoreData): Promise<void> {
    const { commits, files } = this.#open();
    const tables = tablesOf(commits.rules, data);
    await files.replace(tables, () => commits.replace(tables));
  }

  async close(): Promise<void> {
    if (typeof this.#parts === "string") {
      this.#parts = "closed";
      return;
    }
    const { commits, files, lock } = this.#parts;
    this.#parts = "closed";
    await this.#writing;
    try {
      await files.close(commits);
    } finally {
      lock.release();
    }
  }

  /** Writes batch after batch as long as commits gather. */
  async #writeAll(): Promise<void> {
    const { commits, files } = this.#open();
    while (commits.isWaiting) {
      // The commits of one turn of the event loop go together: so do all that waited for the batch before.
      await new Promise(setImmediate);
      await files.write(commits);
    }
    this.#writing = undefined;
  }

  #open(): Parts {
    if (typeof this.#parts === "string") throw new Error(`The store is ${this.#parts}, not open`);
    return this.#parts;
  }
}

function asRefusal<T>(file: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw refusalOf(file, error);
  }
}

/** A start that fails on the disk is refused like one that fails on the data: with one line that says what to do. */
function refusalOf(file: string, error: unknown): unknown {
  const code = errorCode(error);
  if (error instanceof StoreRefusal || code === undefined) return error;
  const remedies = new Map([
    ["ENOENT", "Its folder does not exist; create it first."],
    ["EACCES", "This user may not read and write it and its folder; change their permissions."],
    ["EISDIR", "It is a folder; name a file."],
    ["ENOTDIR", "Part of its path is not a folder."],
    ["EROFS", "It lies on a read-only file system; choose another place."],
    ["ENOSPC", "The disk is full; make room."],
  ]);
  const remedy = remedies.get(code) ?? "Look into the disk.";
  return new StoreRefusal(`${file} cannot be used (${messageOf(error)}). ${remedy}`, { cause: error });
}
