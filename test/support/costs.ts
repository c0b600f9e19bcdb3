// Measures the costs of work: time, and memory after a garbage collection, because garbage is no leak.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Measures the duration, in milliseconds. */
export async function took(work: () => Promise<unknown>) {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Bytes in use after a garbage collection. */
export async function heapInUse() {
  await new Promise(setImmediate); // objects of the current turn are not garbage yet
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return process.memoryUsage().heapUsed;
}
