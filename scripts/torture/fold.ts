// A process that dies before each of its disk operations in turn: as it opens a file, appends, writes FILE anew, renames it,
// cuts the journal, and stops. Afterwards the file must open and hold every acknowledged commit and no half one.
import { Child, type Finding, type Lab } from "./lab.ts";
import { examine } from "./model.ts";

/** Loaded before the program: counts what it asks of the disk, and kills it where the count has come. */
const DIE = `
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
let left = Number(process.env.DIE_AT);
for (const name of ["open", "write", "fdatasync", "fsync", "rename", "ftruncate", "read", "close"]) {
  const real = fs[name];
  fs[name] = (...args) => {
    left -= 1;
    if (left === 0) process.kill(process.pid, "SIGKILL");
    return real(...args);
  };
  for (const key of Object.getOwnPropertySymbols(real)) fs[name][key] = real[key];
}
syncBuiltinESMExports();
`;
const PRELOAD = `data:text/javascript,${encodeURIComponent(DIE)}`;
const STEPS_MAX = 1_000;

/** Every so many steps; 1 is all of them. */
export async function fold(lab: Lab, every: number): Promise<Finding> {
  const wrong: string[] = [];
  let died = 0;
  for (let step = every; step < STEPS_MAX; step += every) {
    const file = lab.file();
    const [node = "", ...args] = lab.command("fold", [file]);
    const child = new Child([node, "--import", PRELOAD, ...args], { DIE_AT: String(step) });
    const end = await child.ended;
    const acknowledged = Number(child.lines.at(-1) ?? 0);
    const found = await examine(file);
    if (typeof found === "string") wrong.push(`step ${step}: ${found}`);
    else if (found.total < acknowledged) wrong.push(`step ${step}: ${acknowledged} acknowledged, ${found.total} kept`);
    if (end === 0) return { tried: `fold: killed before ${died} of its disk operations, then it went through`, wrong };
    died += 1;
  }
  return { tried: "fold", wrong: [...wrong, "it never went through"] };
}
