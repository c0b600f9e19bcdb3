// kill -9 at random moments of processes that write, fold, stop and start, many stores in each: every store is left at
// another point. Afterwards each must open, hold every acknowledged commit and no half one, and go on.
import { setTimeout as sleep } from "node:timers/promises";
import type { Finding } from "../findings.ts";
import { type Lab, linesOf } from "./lab.ts";
import { examine } from "./model.ts";

const STORES = 25;
const KILL_WITHIN_MS = 120;

export async function kill(lab: Lab, runs: number): Promise<Finding> {
  const wrong: string[] = [];
  let torn = 0;
  let acknowledged = 0;
  let stores: { readonly file: string; reached: number }[] = [];
  for (let run = 0; run < runs; run += STORES) {
    // Most kills hit stores that were killed before; now and then it starts afresh.
    if (run % (STORES * 8) === 0) stores = Array.from({ length: STORES }, () => ({ file: lab.file(), reached: 0 }));
    const files = stores.map(({ file }) => file);
    const child = lab.child("write", files);
    await child.prints("\n");
    await sleep(Math.random() * KILL_WITHIN_MS);
    const lines = linesOf(await child.kill());
    acknowledged += lines.length;
    for (const line of lines) {
      const [name = 0, n = 0] = line.split(" ").map(Number);
      const store = stores[name];
      if (store !== undefined) store.reached = Math.max(store.reached, n);
    }
    for (const store of stores) {
      const found = await examine(store.file, store.reached);
      wrong.push(...found.wrong);
      torn += found.torn.length;
      store.reached = found.total;
    }
  }
  const tried = `${runs} stores killed, ${acknowledged} commits acknowledged, ${torn} torn lines set aside`;
  return { what: "kill -9", tried, wrong };
}
