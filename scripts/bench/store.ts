// The JSON-file store against better-sqlite3 (WAL, synchronous=FULL), and against JSON.parse.
import { join } from "node:path";
import { installed } from "../installed.ts";
import { pool } from "../pool.ts";
import { compare, type Line, ratio, type Side, scaled, whole } from "./figures.ts";
import { inSide, newFolder, side } from "./machine.ts";

const SQLITE = "12.4.1";
const ROUNDS = 5;
const MANY = scaled(1_000_000);

/** Each measurement in a process of its own and a folder of its own. */
const inNewFolder = (name: string, ...args: string[]): Side => ({
  name,
  measure: async () => {
    using folder = newFolder();
    return await inSide(...args, folder.path);
  },
});

const GOALS = { 1: ">= 0.6", 16: ">= 4", 128: ">= 8" };

export function writes(): Promise<Line[]> {
  const folder = installed({ "better-sqlite3": SQLITE });
  process.env.BENCH_SQLITE = join(folder, "node_modules/better-sqlite3/lib/index.js");
  const sqlite = inNewFolder(`better-sqlite3 ${SQLITE}, WAL, FULL`, "write", "sqlite", "1");
  return pool(1, Object.entries(GOALS), async ([writers, goal]) => {
    const [own, base] = await compare([inNewFolder("own", "write", "own", writers), sqlite], 0, ROUNDS);
    return ratio(`Create with fsync, ${writers} at once`, own, base, "a second", goal);
  });
}

export async function loads(): Promise<Line[]> {
  using folder = newFolder();
  return await pool(1, [MANY / 10, MANY], async (count) => {
    const file = join(folder.path, `${count}.json`);
    await inSide("make", String(count), file);
    const sides = [side("own", "load", file), side("JSON.parse of the file", "parse", file)];
    const [own, base] = await compare(sides, 0, ROUNDS);
    return ratio(`Open with ${whole(count)} records`, own, base, "ms", "<= 1.60");
  });
}
