// npm run bench, bench:store, bench:delivery and bench:fleet [-- part …]: measures this server against one that does the least, against
// SQLite and against itself, and prints one table. Ends with status 1 where a goal was missed. Not a test: figures depend on
// the machine, which the table names. BENCH_SCALE=0.01 BENCH_ROUNDS=1 tries everything out; then the figures mean nothing.
import { chosen } from "../arguments.ts";
import { throughput } from "./deliveries.ts";
import { isMissed, type Line, markdown } from "./figures.ts";
import { fleet } from "./fleet.ts";
import { growth } from "./growth.ts";
import { holds } from "./holds.ts";
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
const lines: Line[] = [];
for (const [name, part] of parts) {
  process.stderr.write(`${name} …\n`);
  const found = await part();
  process.stderr.write(`${markdown(found)}\n`);
  lines.push(...found);
}
const command = [`npm run ${group}`, ...(asked.length > 0 ? ["--", ...asked] : [])].join(" ");
const date = new Date().toISOString().slice(0, 10);
process.stdout.write(`${markdown(lines)}\n\n\`${command}\` on ${describeMachine()}, ${date}.\n`);
process.exitCode = lines.some(isMissed) ? 1 : 0;
