// Measures the costs of work: time, event loop turns left to others, and memory after a garbage collection, because
// garbage is no leak.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Measures the duration, in milliseconds. */
export async function took(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Returns the result, and the number of event loop turns that other work had meanwhile. */
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

/** Bytes in use after a garbage collection. */
export async function heapInUse(): Promise<number> {
  await new Promise(setImmediate); // objects of the current turn are not garbage yet
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return process.memoryUsage().heapUsed;
}
