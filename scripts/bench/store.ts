// The stores against better-sqlite3 (WAL, synchronous=FULL), against JSON.parse, and with very many records.
import { join } from "node:path";
import { installed } from "../installed.ts";
import { compare, type Line, ratio, type Side, scaled, whole } from "./figures.ts";
import { inSide, withFolder } from "./machine.ts";

const SQLITE = "12.4.1";
const ROUNDS = 5;
const MANY = scaled(1_000_000);

/** Each measurement in a process of its own and a folder of its own. */
const inNewFolder = (name: string, ...args: string[]): Side => ({
  name,
  measure: () => withFolder((folder) => inSide(...args, folder)),
});

export async function writes(): Promise<Line[]> {
  const folder = installed({ "better-sqlite3": SQLITE });
  process.env.BENCH_SQLITE = join(folder, "node_modules/better-sqlite3/lib/index.js");
  const lines: Line[] = [];
  for (const [writers, goal] of [
    ["1", ">= 0.6"],
    ["16", ">= 4"],
    ["128", ">= 8"],
  ] as const) {
    const sqlite = inNewFolder(`better-sqlite3 ${SQLITE}, WAL, FULL`, "write", "sqlite", "1");
    const [own, base] = await compare([inNewFolder("own", "write", "own", writers), sqlite], 0, ROUNDS);
    lines.push(ratio(`Create with fsync, ${writers} at once`, own, base, "a second", goal));
  }
  return lines;
}

export async function records(): Promise<Line[]> {
  const lines: Line[] = [];
  for (const kind of ["memory", "file"]) {
    const side = (count: number) => inNewFolder(`the same with ${whole(count)}`, "grow", kind, String(count));
    const [many, few] = await compare([side(MANY), side(1_000)], 0, ROUNDS);
    lines.push(ratio(`Create with ${whole(MANY)} records there, ${kind}`, many, few, "µs of CPU", "<= 1.25"));
  }
  return lines;
}

export const loads = (): Promise<Line[]> =>
  withFolder(async (folder) => {
    const lines: Line[] = [];
    for (const count of [MANY / 10, MANY]) {
      const file = join(folder, `${count}.json`);
      await inSide("make", String(count), file);
      const of = (name: string, mode: string): Side => ({ name, measure: () => inSide(mode, file) });
      const [own, base] = await compare([of("own", "load"), of("JSON.parse of the file", "parse")], 0, ROUNDS);
      lines.push(ratio(`Open with ${whole(count)} records`, own, base, "ms", "<= 1.60"));
    }
    return lines;
  });
