// A disk that really fills up: a small tmpfs. While it is full each write is refused and nothing of it can be seen,
// reads go on; when there is room again writing goes on by itself, and a start finds exactly what was acknowledged.
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StorageUnavailable, type Store } from "../../src/domain/store.ts";
import { codeOf } from "../../src/store/json-file/disk.ts";
import { jsonFileStore } from "../../src/store/json-file.ts";
import type { Finding, Lab } from "./lab.ts";
import { advance, collections, examine, total } from "./model.ts";

const SIZE = "256k";

export async function fullDisk(lab: Lab, rounds: number): Promise<Finding> {
  const folder = join(lab.folder, "small");
  mkdirSync(folder);
  if (spawnSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE}`, "tmpfs", folder]).status !== 0)
    return { tried: "full disk: SKIPPED, this user may not mount a tmpfs", wrong: [] };
  try {
    return await fill(folder, rounds);
  } finally {
    spawnSync("umount", ["-l", folder]);
  }
}

async function fill(folder: string, rounds: number): Promise<Finding> {
  const file = join(folder, "data.json");
  const ballast = join(folder, "ballast");
  const wrong: string[] = [];
  let acknowledged = 0;
  let refused = 0;
  const store = jsonFileStore(file, { journal_bytes_max: 20_000 });
  await store.open(collections);
  for (let round = 0; round < rounds; round += 1) {
    fillUp(ballast);
    // What is left of the last page may still take some commits.
    for (let tries = 0; tries < 40; tries += 1) {
      const kept = await attempt(store);
      acknowledged += kept ? 1 : 0;
      refused += kept ? 0 : 1;
      const seen = await total(store);
      if (seen !== acknowledged) wrong.push(`round ${round}: ${acknowledged} acknowledged, ${seen} seen`);
    }
    rmSync(ballast);
    if (await attempt(store)) acknowledged += 1;
    else wrong.push(`round ${round}: still refused although there is room`);
  }
  await store.close();
  const found = await examine(file);
  if (typeof found === "string") wrong.push(found);
  else if (found.total !== acknowledged) wrong.push(`${acknowledged} acknowledged, ${found.total} kept`);
  if (refused === 0) wrong.push("the disk was never full");
  return { tried: `full disk: ${rounds} times, ${acknowledged} commits kept, ${refused} refused`, wrong };
}

async function attempt(store: Store): Promise<boolean> {
  try {
    await advance(store);
    return true;
  } catch (error) {
    if (error instanceof StorageUnavailable) return false;
    throw error;
  }
}

/** Takes all the room there is, in pieces of a page. */
function fillUp(file: string): void {
  try {
    for (;;) writeFileSync(file, Buffer.alloc(4096), { flag: "a" });
  } catch (error) {
    if (codeOf(error) !== "ENOSPC") throw error;
  }
}
