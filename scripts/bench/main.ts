// `npm run bench`, `bench:store` and `bench:delivery` [-- part …]: builds this server and measures it
// against a minimal one, against SQLite and against itself. Prints one table and exits with 1 if a goal is missed. This
// is not a test: figures depend on the machine, which the table names. BENCH_SCALE=0.01 BENCH_ROUNDS=1 tries everything
// out, with meaningless figures.
import { execFileSync } from "node:child_process";
import { selectParts } from "../arguments.ts";
import { throughput } from "./delivery.ts";
import { HEAD } from "./figures.ts";
import { file, growth, http } from "./http.ts";
import { describeMachine, pin } from "./machine.ts";
import { start } from "./start.ts";
import { loads, writes } from "./store.ts";

const GROUPS: Readonly<Record<string, Readonly<Record<string, () => Promise<void>>>>> = {
  bench: { http, growth, start, file },
  "bench:store": { writes, loads },
  "bench:delivery": { throughput },
};

const [group = "", ...asked] = process.argv.slice(2);
const parts = selectParts("part", GROUPS[group] ?? {}, asked);
execFileSync(process.execPath, ["--import", "tsx", "scripts/build.ts"], { stdio: "inherit" });
pin();
console.log(HEAD);
for (const part of parts) await part();
const date = new Date().toISOString().slice(0, 10);
console.log(`\n\`npm run ${[group, ...asked].join(" ")}\` on ${describeMachine()}, ${date}.`);
