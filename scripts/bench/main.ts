// `npm run bench [-- part…]`: builds the package and measures it against other servers, as ratios in one run. Exits
// with 1 if a goal is missed. Figures depend on the machine, so this is not a test. BENCH_SCALE=0.01 BENCH_ROUNDS=1
// tries everything out, with meaningless figures.
import { execFileSync } from "node:child_process";
import { cpus } from "node:os";
import { selectParts } from "../arguments.ts";
import { TABLE_HEAD } from "./compare.ts";
import { file, growth, http, neighbours } from "./http.ts";
import { delivery, start } from "./processes.ts";
import { pinLoad } from "./server.ts";

const DEFAULT_PARTS = { http, file, delivery, start };
const OTHER_PARTS = { growth, neighbours };

const names = process.argv.slice(2);
const parts =
  names.length === 0
    ? Object.values(DEFAULT_PARTS)
    : selectParts("part", { ...DEFAULT_PARTS, ...OTHER_PARTS }, names);
execFileSync(process.execPath, ["--import", "tsx", "scripts/build.ts"], { stdio: "inherit" });
pinLoad();
console.log(TABLE_HEAD);
for (const part of parts) await part();
console.log(`\n${cpus().length} cores (${cpus()[0]?.model}), Node ${process.versions.node}.`);
