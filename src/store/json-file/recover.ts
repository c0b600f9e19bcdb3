// What a start makes of FILE and FILE.journal. It changes nothing until all is known to be good, with one exception:
// a last line that is cut short or damaged, which a crash leaves behind, is set aside and told. Anything else that does
// not fit is refused, with file, line and remedy: never silently less data.
import { rmSync, writeFileSync } from "node:fs";
import { StoreRefusal } from "../../domain/store.ts";
import { trusted } from "../../kit/schema.ts";
import type { Fields, Rules } from "../rules.ts";
import { Tables } from "../tables.ts";
import * as disk from "./disk.ts";
import { type Batch, batchOf, isTwoLines } from "./journal.ts";
import { loadSnapshot } from "./load.ts";

export interface Recovered {
  readonly tables: Tables;
  /** The number of the last line that is contained in the tables. */
  readonly seq: number;
  /** How much of the journal is good and needed. */
  readonly journalLength: number;
  /** Whether FILE has to be written before anything is added to the journal. */
  readonly rewrite: boolean;
}

export type Warn = (line: string) => void;

export function recover(file: string, rules: Rules, warn: Warn): Recovered {
  const journal = `${file}.journal`;
  const size = disk.sizeOf(file);
  const journalSize = disk.sizeOf(journal) ?? 0;
  if (size === 0)
    throw new StoreRefusal(`${file} is empty. Put a good copy in its place, or delete it for a fresh start.`);
  if (size === undefined && journalSize > 0)
    throw new StoreRefusal(
      `${file} is missing but ${journal} is there. Put ${file} back, or delete both to start afresh.`,
    );
  for (const left of [`${file}.new`, `${journal}.new`]) rmSync(left, { force: true });
  if (size === undefined) return { tables: new Tables(rules), seq: 0, journalLength: 0, rewrite: true };
  const snapshot = loadSnapshot(file, rules);
  if (snapshot.journal === undefined && journalSize > 0)
    throw new StoreRefusal(
      `${journal} does not belong to ${file}, which was written by hand. Delete or move ${journal} to start from ${file}.`,
    );
  if (journalSize === 0)
    return { tables: snapshot.tables, seq: snapshot.journal ?? 0, journalLength: 0, rewrite: !snapshot.asWritten };
  const replay = new Replay(journal, rules, snapshot.tables, snapshot.journal ?? 0);
  for (const line of disk.readLines(journal)) replay.take(line);
  const { seq, length, torn } = replay.finish();
  if (torn !== undefined) setAside(file, journal, torn, seq + 1, warn);
  return { tables: snapshot.tables, seq, journalLength: length, rewrite: !snapshot.asWritten };
}

interface Torn {
  readonly number: number;
  readonly bytes: Buffer;
}

/** Takes the lines of the journal in turn and makes their writes. */
class Replay {
  readonly #file: string;
  readonly #rules: Rules;
  readonly #tables: Tables;
  #seq: number;
  #last: number | undefined;
  #length = 0;
  #bad: Torn | undefined;

  constructor(file: string, rules: Rules, tables: Tables, seq: number) {
    this.#file = file;
    this.#rules = rules;
    this.#tables = tables;
    this.#seq = seq;
  }

  take(line: disk.Line): void {
    if (this.#bad !== undefined) throw this.#refusal(this.#bad.number, "is not what was written there (CRC)");
    const batch = batchOf(line.bytes);
    if (batch === undefined) {
      this.#bad = { number: line.number, bytes: Buffer.from(line.bytes) };
      return;
    }
    const expected = (this.#last ?? Math.min(batch.seq - 1, this.#seq)) + 1;
    if (batch.seq !== expected)
      throw this.#refusal(line.number, `has the number ${batch.seq} where ${expected} should follow`);
    this.#last = batch.seq;
    this.#length = line.start + line.to - line.from;
    if (batch.seq > this.#seq) this.#apply(batch, line.number);
  }

  /** A journal that ends before FILE was written has nothing that FILE does not have: all of it can go. */
  finish(): { readonly seq: number; readonly length: number; readonly torn: Torn | undefined } {
    if (this.#bad !== undefined && isTwoLines(this.#bad.bytes))
      throw this.#refusal(this.#bad.number, "has run together with the next one (its line feed is damaged)");
    const isContained = (this.#last ?? 0) < this.#seq;
    return { seq: this.#seq, length: isContained ? 0 : this.#length, torn: this.#bad };
  }

  #apply({ seq, commits }: Batch, line: number): void {
    for (const [kind, collection, what] of commits.flat()) {
      const rule = this.#rules.get(collection);
      if (rule === undefined)
        throw this.#refusal(line, `writes to a collection "${collection}" that this version does not know`);
      // The line's CRC holds: `what` is the record or the id that a commit wrote.
      if (kind === "put") this.#tables.put(rule, trusted<Fields>(what));
      else this.#tables.remove(rule, trusted<string>(what));
    }
    this.#seq = seq;
  }

  #refusal(line: number, what: string): StoreRefusal {
    return new StoreRefusal(
      `${this.#file} line ${line} ${what}. Restore both files from a copy, or cut the journal before line ${line} to lose what follows.`,
    );
  }
}

/** Keeps a line that was never acknowledged where a person can look at it, before the journal is cut there. */
function setAside(file: string, journal: string, torn: Torn, seq: number, warn: Warn): void {
  let name = `${file}.torn-${seq}`;
  for (let n = 2; disk.sizeOf(name) !== undefined; n += 1) name = `${file}.torn-${seq}-${n}`;
  writeFileSync(name, torn.bytes, { flag: "wx", mode: disk.PRIVATE, flush: true });
  warn(`${journal} line ${torn.number} was cut short by a crash and never acknowledged; it was moved to ${name}`);
}
