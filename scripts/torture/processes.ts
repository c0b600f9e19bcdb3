// Kills processes (SIGKILL) at random moments while they write, fold, stop and start many stores. Each store must then
// open, hold every acknowledged commit and no partial one, and accept writes. A second process on the same file must
// fail within a second and write nothing. A lock left by a killed process is taken over; if several processes find it
// at once, one gets it.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StoreOpenError } from "../../src/domain/store.ts";
import type { Finding } from "../findings.ts";
import { type Lab, linesOf } from "./lab.ts";
import { examine, opened } from "./model.ts";

const STORES = 25;
const KILL_WITHIN_MS = 120;

export async function kill(lab: Lab, runs: number): Promise<Finding> {
  const wrong: string[] = [];
  let [torn, acknowledged] = [0, 0];
  let stores: { readonly file: string; reached: number }[] = [];
  for (let run = 0; run < runs; run += STORES) {
    // Most kills hit stores that survived earlier kills; every few runs the stores are new.
    if (run % (STORES * 8) === 0)
      stores = Array.from({ length: STORES }, () => ({ file: lab.file(), reached: 0 }));
    const files = stores.map(({ file }) => file);
    const child = lab.child("write", files);
    await child.prints("\n");
    await sleep(Math.random() * KILL_WITHIN_MS);
    const lines = linesOf(await child.kill());
    acknowledged += lines.length;
    const check = async (store: { readonly file: string; reached: number }, at: number) => {
      const numbers = lines.map((line) => line.split(" ")).filter(([name]) => Number(name) === at);
      const least = Math.max(store.reached, ...numbers.map(([, n]) => Number(n)));
      const found = await examine(store.file, least);
      wrong.push(...found.wrong);
      torn += found.torn.length;
      store.reached = found.total;
    };
    await Promise.all(stores.map(check));
  }
  const tried = `${runs} stores killed, ${acknowledged} commits acknowledged, ${torn} torn lines set aside`;
  return { what: "kill -9", tried, wrong };
}

const REJECTED_WITHIN_MS = 1000;
const CONTENDERS = 5;

export async function twoProcesses(lab: Lab, times: number, races: number): Promise<Finding> {
  const wrong: string[] = [];
  const files = Array.from({ length: times }, () => lab.file());
  const holder = lab.child("hold", files);
  await holder.prints("\n");
  const before = contents(lab);
  let slowest_ms = 0;
  for (const file of files) {
    const start = performance.now();
    const error = await opened(file).catch((error) => error);
    slowest_ms = Math.max(slowest_ms, performance.now() - start);
    const isRejected = error instanceof StoreOpenError;
    if (!isRejected || !error.message.includes(`in use by process ${holder.child.pid}`))
      wrong.push(`${file}: ${isRejected ? error.message : "not rejected"}`);
  }
  if (slowest_ms > REJECTED_WITHIN_MS) wrong.push(`a rejection took ${slowest_ms} ms`);
  if (contents(lab) !== before) wrong.push("a second process has written");
  await holder.kill();
  const checks = files.map((file) => examine(file, 1, 1));
  for (const check of await Promise.all(checks))
    wrong.push(...check.wrong.map((what) => `stale lock: ${what}`));
  for (let race = 0; race < races; race += 1) wrong.push(...(await contend(lab)));
  const slowest = `${times} rejected in ${slowest_ms.toFixed(1)} ms at most`;
  return {
    what: "two processes",
    tried: `${slowest}, ${times} stale locks, ${races} races`,
    wrong,
  };
}

async function contend(lab: Lab): Promise<string[]> {
  const files = [lab.file()];
  const first = lab.child("hold", files);
  await first.prints("\n");
  await first.kill();
  const contenders = Array.from({ length: CONTENDERS }, () => lab.child("hold", files));
  await Promise.all(contenders.map((child) => child.prints("\n")));
  const lines = (await Promise.all(contenders.map((child) => child.kill()))).flatMap(linesOf);
  const winners = lines.filter((line) => line === "open").length;
  const rejected = lines.filter((line) => line.startsWith("refused: ")).length;
  return winners === 1 && rejected === CONTENDERS - 1
    ? []
    : [`race for a stale lock: ${lines.join(", ")}`];
}

/** The names and contents of all files in the lab. */
function contents({ folder }: Lab): string {
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  return names
    .map(({ name }) => `${name} ${readFileSync(join(folder, name), "latin1")}`)
    .join("\n");
}
