// What work costs: time, and of others turns of the event loop, and memory, judged after a collection, since garbage is no
// leak.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** How long it takes, in milliseconds. */
export async function took(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** What it comes to, and how many turns of the event loop others had meanwhile. */
export async function withTurns<T>(work: () => Promise<T>): Promise<{ value: T; turns: number }> {
  let turns = 0;
  const count = () => {
    turns += 1;
    turn = setImmediate(count);
  };
  let turn = setImmediate(count);
  const value = await work().finally(() => clearImmediate(turn));
  return { value, turns };
}

/** Bytes, after all garbage is gone. */
export async function heapInUse(): Promise<number> {
  await new Promise(setImmediate); // what this turn still holds is none yet
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return process.memoryUsage().heapUsed;
}
