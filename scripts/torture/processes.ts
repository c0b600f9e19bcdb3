// Kills processes (SIGKILL) at random moments while they write, fold, stop and start many stores. Each store must then
// open, hold every acknowledged commit and no partial one, and accept writes. A second process on the same file must
// fail within a second. A lock left by a killed process is taken over; if several processes find it at once, one gets
// it.
import { setTimeout as sleep } from "node:timers/promises";
import type { Finding } from "../findings.ts";
import { type Lab, linesOf } from "./lab.ts";
import { examine, opened } from "./model.ts";

const STORES = 25;
const KILL_WITHIN_MS = 120;

export async function kill(lab: Lab, runs: number): Promise<Finding> {
  const wrong: string[] = [];
  let [torn, acknowledged] = [0, 0];
  const files = Array.from({ length: STORES }, lab.file);
  /** The number that each store has reached. */
  const reached = files.map(() => 0);
  for (let run = 0; run < runs; run += STORES) {
    const child = lab.child("write", files);
    await child.prints("\n");
    await sleep(Math.random() * KILL_WITHIN_MS);
    for (const line of linesOf(await child.kill())) {
      const [at = 0, number = 0] = line.split(" ").map(Number);
      reached[at] = Math.max(reached[at] ?? 0, number);
      acknowledged += 1;
    }
    for (const [at, file] of files.entries()) {
      const found = await examine(file, reached[at] ?? 0);
      wrong.push(...found.wrong);
      torn += found.torn.length;
      reached[at] = found.total;
    }
  }
  const tried = `${runs} stores killed, ${acknowledged} commits acknowledged, ${torn} torn lines set aside`;
  return { what: "kill -9", tried, wrong };
}

const REJECTED_WITHIN_MS = 1000;
const CONTENDERS = 5;

export async function twoProcesses(lab: Lab, times: number, races: number) {
  const wrong: string[] = [];
  const files = Array.from({ length: times }, lab.file);
  /** Starts a process that opens the files, and waits until it has them or is rejected. */
  const hold = async (held: readonly string[]) => {
    const child = lab.child("hold", held);
    await child.prints("\n");
    return child;
  };
  const holder = await hold(files);
  let slowest_ms = 0;
  for (const file of files) {
    const start = performance.now();
    const outcome = await opened(file).catch(String);
    slowest_ms = Math.max(slowest_ms, performance.now() - start);
    if (!String(outcome).includes(`in use by process ${holder.child.pid}`))
      wrong.push(`${file}: ${outcome}`);
  }
  if (slowest_ms > REJECTED_WITHIN_MS) wrong.push(`a rejection took ${slowest_ms} ms`);
  await holder.kill();
  for (const file of files) wrong.push(...(await examine(file, 1, 1)).wrong);
  for (let race = 0; race < races; race += 1) {
    const contested = [lab.file()];
    await (await hold(contested)).kill();
    const contenders = await Promise.all(Array.from({ length: CONTENDERS }, () => hold(contested)));
    const ended = await Promise.all(contenders.map((child) => child.kill()));
    const [open = "", ...rejected] = ended.flatMap(linesOf).sort();
    if (open !== "open" || rejected.some((line) => !line.startsWith("rejected: ")))
      wrong.push(`race for a stale lock: ${[open, ...rejected].join(", ")}`);
  }
  const slowest = `${times} rejected in ${slowest_ms.toFixed(1)} ms at most`;
  const tried = `${slowest}, ${times} stale locks, ${races} races`;
  return { what: "two processes", tried, wrong };
}
