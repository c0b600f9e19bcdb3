// The commits that are not durable yet. They lie over the durable tables in at most two layers: the batch that is being
// written and the one that gathers meanwhile. Transactions build on the newest layer, so that those that follow each
// other need not wait for the disk in between; but what one of them answers is held back until everything it has seen
// is durable. When a batch cannot be written, it and what was built on it fall away, and nobody has seen them.
import { Overlay } from "../overlay.ts";
import type { Head, ReadSet } from "../read-set.ts";
import type { Rules } from "../rules.ts";
import type { Tables } from "../tables.ts";
import type { Change, View } from "../view.ts";
import type { Write } from "./journal.ts";

/** What a transaction waits for: true = durable, false = to be run again. Rejects where it could not be kept. */
type End = Promise<boolean>;

export class Layer {
  readonly writes: Overlay;
  /** The writes of each commit as JSON, for the journal. */
  readonly commits: string[] = [];
  readonly end: End;
  resolve: (kept: boolean) => void = () => {};
  reject: (error: unknown) => void = () => {};

  constructor(base: View, firstSeq: number) {
    this.writes = new Overlay(base, firstSeq);
    this.end = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // Whoever waits is told; where nobody waits there is nobody to tell.
    this.end.catch(() => {});
  }
}

export class Commits implements Head {
  readonly rules: Rules;
  #tables: Tables;
  #writing: Layer | undefined;
  #gathering: Layer | undefined;
  #version = 0;

  constructor(rules: Rules, tables: Tables) {
    this.rules = rules;
    this.#tables = tables;
  }

  /** The durable state. */
  get tables(): Tables {
    return this.#tables;
  }

  get view(): View {
    return (this.#gathering ?? this.#writing)?.writes ?? this.#tables;
  }

  get version(): number {
    return this.#version;
  }

  get isWaiting(): boolean {
    return this.#gathering !== undefined;
  }

  /** Adds the writes of a transaction whose reads hold in `view`. */
  add(changes: readonly Change[]): End {
    const commit = JSON.stringify(changes.map(writeOf));
    const below = this.#writing?.writes ?? this.#tables;
    this.#gathering ??= new Layer(below, below.nextSeq);
    this.#gathering.writes.replay(changes);
    this.#gathering.commits.push(commit);
    this.#version += 1;
    return this.#gathering.end;
  }

  /** For a transaction that has written nothing: whether what it has read is durable. */
  async confirm(reads: ReadSet): End {
    const newest = this.#gathering ?? this.#writing;
    if (newest === undefined || reads.holdsIn(this.#tables)) return true;
    // It has seen what is still being written. If that is lost, it has seen nothing and runs again.
    return newest.end.catch(() => false);
  }

  /** The batch to be written now. */
  take(): Layer | undefined {
    this.#writing = this.#gathering;
    this.#gathering = undefined;
    return this.#writing;
  }

  /** The batch that was taken is durable. */
  kept(): void {
    const done = this.#writing;
    if (done === undefined) return;
    this.#tables.apply(done.writes.changes);
    this.#writing = undefined;
    if (this.#gathering !== undefined) this.#gathering.writes.base = this.#tables;
    done.resolve(true);
  }

  /** The batch that was taken could not be written. */
  lost(error: unknown): void {
    const lost = [this.#writing, this.#gathering];
    this.#clear();
    for (const layer of lost) layer?.reject(error);
  }

  /** Other data take the place of all data; what was gathered on the old ones is run again. */
  replace(tables: Tables): void {
    const outdated = this.#gathering;
    this.#tables = tables;
    this.#clear();
    outdated?.resolve(false);
  }

  #clear(): void {
    this.#writing = undefined;
    this.#gathering = undefined;
    this.#version += 1;
  }
}

const writeOf = ({ table, id, after }: Change): Write =>
  after === undefined ? ["remove", table.name, id] : ["put", table.name, after];
