// The JSON-file store against better-sqlite3 (WAL, synchronous=FULL), and against JSON.parse.
import { join } from "node:path";
import { installed } from "../installed.ts";
import { compare, scaled, whole } from "./figures.ts";
import { inSide, newFolder, side } from "./machine.ts";

const SQLITE = "12.4.1";
const MANY = scaled(1_000_000);
/** By how many write at once. */
const GOALS = { 1: ">= 0.6", 16: ">= 4", 128: ">= 8" };

export async function writes(): Promise<void> {
  const module = join(installed(`better-sqlite3@${SQLITE}`), "node_modules/better-sqlite3/lib/index.js");
  const sqlite = side(`better-sqlite3 ${SQLITE}, WAL, FULL`, "write", module, "1");
  for (const [writers, goal] of Object.entries(GOALS)) {
    const sides = [side("own", "write", "own", writers), sqlite] as const;
    await compare(`Create with fsync, ${writers} at once`, sides, { "a second": goal }, 0);
  }
}

export async function loads(): Promise<void> {
  using folder = newFolder();
  for (const count of [MANY / 10, MANY]) {
    const file = join(folder.path, `${count}.json`);
    await inSide("make", String(count), file);
    const sides = [side("own", "load", file), side("JSON.parse of the file", "parse", file)] as const;
    await compare(`Open with ${whole(count)} records`, sides, { ms: "<= 1.60" }, 0);
  }
}
