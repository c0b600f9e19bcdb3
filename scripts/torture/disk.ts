// Damaged files: the journal's last line truncated at every byte, and single bits flipped anywhere in FILE and
// FILE.journal. Each damage must cause an error with file and line, or have no effect. Damage to the journal's last
// line looks like a torn write, so that line may be set aside with a warning. Data must never change silently. A second
// test fills a real disk, a small tmpfs: each write fails without a visible effect, and reads continue. Once there is
// space, writes recover by themselves, and a start finds exactly the acknowledged commits.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StorageUnavailable } from "../../src/domain/store.ts";
import type { Finding } from "../findings.ts";
import { copy, type Lab } from "./lab.ts";
import { advance, examine, opened, total } from "./model.ts";

const COMMITS = [30, 12];
const ALL = 42;

export async function damage(lab: Lab, flips: number): Promise<Finding> {
  const file = lab.file();
  const { snapshot, journal } = await createSample(file);
  const whole = Buffer.concat([snapshot, journal]);
  const last = whole.lastIndexOf("\n", whole.length - 2) + 1;
  const counts: Record<string, number> = {};
  const wrong: string[] = [];
  const judge = async (what: string, damaged: Buffer) => {
    writeFileSync(file, damaged.subarray(0, snapshot.length));
    writeFileSync(`${file}.journal`, damaged.subarray(snapshot.length));
    // A missing complete last line looks the same as one that was never written.
    const end = await findOutcome(file, damaged.length === last);
    if (end.startsWith("WRONG")) wrong.push(`${what}: ${end}`);
    counts[end] = (counts[end] ?? 0) + 1;
  };
  for (let at = last; at < whole.length; at += 1)
    await judge(`cut at ${at}`, whole.subarray(0, at));
  for (let flip = 0; flip < flips; flip += 1) {
    const bit = Math.floor(Math.random() * 8 * whole.length);
    const turned = Buffer.from(whole);
    turned.writeUInt8(turned.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
    await judge(`bit ${bit}`, turned);
  }
  const ends = Object.entries(counts).map(([what, count]) => `${count} ${what}`);
  const tried = `${whole.length - last} cuts of the last line, ${flips} of ${8 * whole.length} bits turned`;
  return { what: "damage", tried: `${tried}: ${ends.join(", ")}`, wrong };
}

/** Creates a FILE with some records and a journal with some lines, as a crash would leave them. */
async function createSample(file: string) {
  for (const commits of COMMITS) {
    const store = await opened(file);
    for (let commit = 0; commit < commits; commit += 1) await advance(store);
    copy(file, `${file}-copy`);
    await store.close();
  }
  return { snapshot: readFileSync(`${file}-copy`), journal: readFileSync(`${file}-copy.journal`) };
}

/** The outcome of a start on these files. */
async function findOutcome(file: string, isCutAtLine: boolean) {
  const { total, torn, wrong } = await examine(file, 0);
  rmSync(`${file}.torn`, { force: true });
  if (wrong.length > 0)
    return /does not open: StoreOpenError: \S* line \d+:/.test(wrong.join())
      ? "refused by file and line"
      : `WRONG: ${wrong}`;
  if (total === ALL && torn.length === 0) return "without effect";
  if (total === ALL - 1 && torn.length === 1) return "set aside with a warning";
  return total === ALL - 1 && isCutAtLine
    ? "as if never written"
    : "WRONG: other data without a word";
}

const SIZE = "256k";
/** The rest of the last page may still hold some commits. */
const TRIES = 40;

export async function fullDisk(lab: Lab, rounds: number) {
  const what = "full disk";
  const folder = join(lab.folder, "small");
  mkdirSync(folder);
  const mount = ["-t", "tmpfs", "-o", `size=${SIZE}`, "tmpfs", folder];
  if (spawnSync("mount", mount).status !== 0)
    return { what, tried: "SKIPPED, this user may not mount a tmpfs", wrong: [] };
  try {
    return { what, ...(await fill(join(folder, "data.json"), join(folder, "ballast"), rounds)) };
  } finally {
    spawnSync("umount", ["-l", folder]);
  }
}

async function fill(file: string, ballast: string, rounds: number) {
  const wrong: string[] = [];
  let [acknowledged, rejected] = [0, 0];
  const store = await opened(file, { journal_bytes_max: 20_000 });
  const attempt = async () => {
    try {
      acknowledged = await advance(store);
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      rejected += 1;
    }
  };
  for (let round = 0; round < rounds; round += 1) {
    // dd stops when the disk is full.
    spawnSync("dd", ["if=/dev/zero", `of=${ballast}`, "bs=4096"]);
    for (let tries = 0; tries < TRIES; tries += 1) {
      await attempt();
      const seen = await total(store);
      if (seen !== acknowledged) wrong.push(`${acknowledged} acknowledged, ${seen} seen`);
    }
    rmSync(ballast);
    const before = rejected;
    await attempt();
    if (rejected > before) wrong.push(`round ${round}: still rejected although there is room`);
  }
  await store.close();
  wrong.push(...(await examine(file, acknowledged, acknowledged)).wrong);
  if (rejected === 0) wrong.push("the disk was never full");
  return { tried: `${rounds} times, ${acknowledged} commits kept, ${rejected} rejected`, wrong };
}
