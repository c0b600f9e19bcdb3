// Damaged files: the last line of the journal cut off at every byte, and single bits turned over anywhere in FILE and
// FILE.journal. Each is refused by file and line, or has no effect, or - for the last line of the journal, which cannot
// be told from a torn one - is set aside with a warning. Never other data without a word.
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { StoreRefusal } from "../../src/domain/store.ts";
import type { Finding, Lab } from "./lab.ts";
import { advance, opened } from "./model.ts";

interface Files {
  readonly snapshot: Buffer;
  readonly journal: Buffer;
}

export async function damage(lab: Lab, flips: number): Promise<Finding> {
  const files = await sample(lab);
  const path = lab.file();
  const { snapshot, journal } = files;
  const last = journal.lastIndexOf("\n", journal.length - 2) + 1;
  const cut = (at: number): Files => ({ snapshot, journal: journal.subarray(0, at) });
  const whole = (await dataIn(path, files)).data;
  const short = (await dataIn(path, cut(last))).data;
  const told = new Map<string, number>();
  const wrong: string[] = [];
  const judge = async (what: string, damaged: Files) => {
    const end = await endOf(path, damaged, whole, short, damaged.journal.length === last);
    if (end.startsWith("WRONG")) wrong.push(`${what}: ${end}`);
    else told.set(end, (told.get(end) ?? 0) + 1);
  };
  for (let at = last; at < journal.length; at += 1) await judge(`cut at ${at}`, cut(at));
  const bits = 8 * (snapshot.length + journal.length);
  for (let flip = 0; flip < flips; flip += 1) {
    const bit = Math.floor(Math.random() * bits);
    await judge(`bit ${bit}`, turned(files, bit));
  }
  const ends = [...told].map(([what, count]) => `${count} ${what}`).join(", ");
  const cuts = journal.length - last;
  return { tried: `damage: ${cuts} cuts of the last line, ${flips} of ${bits} bits turned: ${ends}`, wrong };
}

/** A FILE with some records and a journal of some lines, as a crash leaves them. */
async function sample(lab: Lab): Promise<Files> {
  const file = lab.file();
  for (const commits of [30, 12]) {
    const store = await opened(file);
    for (let commit = 0; commit < commits; commit += 1) await advance(store);
    for (const end of ["", ".journal"]) copyFileSync(`${file}${end}`, `${file}-copy${end}`);
    await store.close();
  }
  return { snapshot: readFileSync(`${file}-copy`), journal: readFileSync(`${file}-copy.journal`) };
}

/** What a start makes of the files. */
async function dataIn(path: string, { snapshot, journal }: Files) {
  const warnings: string[] = [];
  writeFileSync(path, snapshot);
  writeFileSync(`${path}.journal`, journal);
  const store = await opened(path, { warn: (line) => warnings.push(line) });
  const data = JSON.stringify(await store.snapshot());
  await store.close();
  for (const warning of warnings) rmSync(warning.split(" ").at(-1) ?? "");
  return { data, warnings };
}

/** `isCutAtLine`: the last line is missing as a whole, which nobody can tell from one that never came. */
async function endOf(path: string, files: Files, whole: string, short: string, isCutAtLine: boolean): Promise<string> {
  try {
    const { data, warnings } = await dataIn(path, files);
    if (data === whole && warnings.length === 0) return "without effect";
    if (data === short && warnings.length === 1) return "set aside with a warning";
    return data === short && isCutAtLine ? "as if never written" : "WRONG: other data without a word";
  } catch (error) {
    if (!(error instanceof StoreRefusal)) return `WRONG: ${error}`;
    const namesPlace = error.message.includes(path) && /lines? \d+/.test(error.message);
    return namesPlace ? "refused by file and line" : `WRONG: no place in "${error.message}"`;
  }
}

function turned({ snapshot, journal }: Files, bit: number): Files {
  const bytes = Buffer.concat([snapshot, journal]);
  const at = bit >> 3;
  bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7));
  return { snapshot: bytes.subarray(0, snapshot.length), journal: bytes.subarray(snapshot.length) };
}
