// kill -9 at random moments of processes that write, fold, stop and start, many stores in each: every store is left at
// another point. Afterwards each must open, hold every acknowledged commit and no half one, and go on.
import { setTimeout as sleep } from "node:timers/promises";
import { Child, type Finding, type Lab } from "./lab.ts";
import { examine } from "./model.ts";

const STORES = 25;
const KILL_WITHIN_MS = 120;

export async function kill(lab: Lab, runs: number): Promise<Finding> {
  const wrong: string[] = [];
  let torn = 0;
  let acknowledged = 0;
  let files: string[] = [];
  let reached: number[] = [];
  for (let run = 0; run < runs; run += STORES) {
    // Most kills hit stores that were killed before; now and then it starts afresh.
    if (run % (STORES * 8) === 0) {
      files = Array.from({ length: STORES }, () => lab.file());
      reached = files.map(() => 0);
    }
    const child = new Child(lab.command("write", files));
    await child.firstLine();
    await sleep(Math.random() * KILL_WITHIN_MS);
    await child.kill();
    const before = reached.reduce((sum, n) => sum + n, 0);
    for (const line of child.lines) {
      const [name, n] = line.split(" ").map(Number);
      if (name !== undefined && n !== undefined) reached[name] = Math.max(reached[name] ?? 0, n);
    }
    acknowledged += reached.reduce((sum, n) => sum + n, 0) - before;
    const findings = await Promise.all(files.map(examine));
    for (const [at, found] of findings.entries()) {
      const file = files[at];
      if (typeof found === "string") wrong.push(`${file}: ${found}`);
      else if (found.total < (reached[at] ?? 0))
        wrong.push(`${file}: ${reached[at]} acknowledged, ${found.total} kept`);
      else {
        torn += found.warnings.length;
        reached[at] = found.total;
      }
    }
  }
  return {
    tried: `kill -9: ${runs} stores killed, ${acknowledged} commits acknowledged, ${torn} torn lines set aside`,
    wrong,
  };
}
