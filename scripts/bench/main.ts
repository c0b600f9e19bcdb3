// npm run bench, bench:store, bench:delivery and bench:fleet [-- part …]: measures this server against one that does the least, against
// SQLite and against itself, and prints one table. Ends with status 1 where a goal was missed. Not a test: figures depend on
// the machine, which the table names. BENCH_SCALE=0.01 BENCH_ROUNDS=1 tries everything out; then the figures mean nothing.
import { chosen } from "../arguments.ts";
import { holds, throughput } from "./delivery.ts";
import { HEAD, isMissed, type Line, row } from "./figures.ts";
import { fleet } from "./fleet.ts";
import { growth } from "./growth.ts";
import { before, file, http } from "./http.ts";
import { describeMachine, pin } from "./machine.ts";
import { start } from "./start.ts";
import { loads, writes } from "./store.ts";

type Parts = Readonly<Record<string, () => Promise<Line[]>>>;

const GROUPS: Readonly<Record<string, Parts>> = {
  bench: { http, growth, start, file, before },
  "bench:store": { writes, loads },
  "bench:delivery": { throughput, holds },
  "bench:fleet": { fleet },
};
/** Only when asked for. */
const SPECIAL = ["before"];

const [group = "", ...asked] = process.argv.slice(2);
const parts = chosen("part", GROUPS[group] ?? {}, asked, SPECIAL);
pin();
console.log(HEAD);
for (const [name, part] of parts) {
  process.stderr.write(`${name} …\n`);
  for (const line of await part()) {
    console.log(row(line));
    if (isMissed(line)) process.exitCode = 1;
  }
}
const command = [`npm run ${group}`, ...(asked.length > 0 ? ["--", ...asked] : [])].join(" ");
const date = new Date().toISOString().slice(0, 10);
console.log(`\n\`${command}\` on ${describeMachine()}, ${date}.`);
