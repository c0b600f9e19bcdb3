// What is kept in memory: judged after a collection, since garbage is no leak.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes, after all garbage is gone. */
export function heapInUse(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return process.memoryUsage().heapUsed;
}
