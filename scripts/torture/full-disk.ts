// A disk that really fills up: a small tmpfs. While it is full each write is refused and nothing of it can be seen,
// reads go on; when there is room again writing goes on by itself, and a start finds exactly what was acknowledged.
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { StorageUnavailable } from "../../src/domain/store.ts";
import type { Finding } from "../findings.ts";
import type { Lab } from "./lab.ts";
import { advance, examine, opened, total } from "./model.ts";

const WHAT = "full disk";
const SIZE = "256k";
/** What is left of the last page may still take some commits. */
const TRIES = 40;

export async function fullDisk(lab: Lab, rounds: number): Promise<Finding> {
  const folder = join(lab.folder, "small");
  mkdirSync(folder);
  if (spawnSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE}`, "tmpfs", folder]).status !== 0)
    return { what: WHAT, tried: "SKIPPED, this user may not mount a tmpfs", wrong: [] };
  try {
    return await fill(join(folder, "data.json"), join(folder, "ballast"), rounds);
  } finally {
    spawnSync("umount", ["-l", folder]);
  }
}

async function fill(file: string, ballast: string, rounds: number): Promise<Finding> {
  const wrong: string[] = [];
  let acknowledged = 0;
  let refused = 0;
  const store = await opened(file, { journal_bytes_max: 20_000 });
  const attempt = async (): Promise<boolean> => {
    try {
      acknowledged = await advance(store);
      return true;
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      refused += 1;
      return false;
    }
  };
  for (let round = 0; round < rounds; round += 1) {
    // It ends when there is no room left.
    spawnSync("dd", ["if=/dev/zero", `of=${ballast}`, "bs=4096"]);
    for (let tries = 0; tries < TRIES; tries += 1) {
      await attempt();
      const seen = await total(store);
      if (seen !== acknowledged) wrong.push(`round ${round}: ${acknowledged} acknowledged, ${seen} seen`);
    }
    rmSync(ballast);
    if (!(await attempt())) wrong.push(`round ${round}: still refused although there is room`);
  }
  await store.close();
  wrong.push(...(await examine(file, acknowledged, acknowledged)).wrong);
  if (refused === 0) wrong.push("the disk was never full");
  return { what: WHAT, tried: `${rounds} times, ${acknowledged} commits kept, ${refused} refused`, wrong };
}
