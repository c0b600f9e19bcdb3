// The whole service with --data (every create on the disk before it is answered) against the same in memory. And this
// server against another version of itself in one run, what a change has cost or gained: BENCH_BEFORE names a folder in
// which the other version was built (npm run build).
import { join } from "node:path";
import { compare, type Line, ratio } from "./figures.ts";
import { cases } from "./http.ts";
import { contest, draft, load, loadOn, post } from "./load.ts";
import { ours, startService, withFolder, withServers } from "./machine.ts";

const WHAT = "Create with --data, 64 connections";
const GOAL = "<= 1.10";

const creates = () => load((n) => post("/v1/apps", draft(n)), 201, { connections: 64 });
const onFile = (folder: string, name: string, program = ours("bin")) =>
  startService(name, ["--data", join(folder, `${name}.json`)], program);

export const file = (): Promise<Line[]> =>
  withFolder((folder) =>
    withServers([onFile(folder, "data"), startService("the memory store")], async (servers) => {
      const [data, memory] = await compare(servers.map((server) => loadOn(server, creates)));
      const throughput = ratio(WHAT, data, memory, "a second", ">= 0.60");
      return [ratio(WHAT, data, memory, "µs of CPU", "<= 1.45"), throughput];
    }),
  );

export function before(): Promise<Line[]> {
  const other = process.env.BENCH_BEFORE;
  if (other === undefined) throw new Error("BENCH_BEFORE must name the folder of the version to compare with");
  const was = ours("bin", join(other, "dist"));
  return withFolder(async (folder) => [
    ...(await withServers([startService("now"), startService("before", [], was)], (servers) => cases(servers, GOAL))),
    ...(await withServers([onFile(folder, "now"), onFile(folder, "before", was)], (servers) =>
      contest(servers, async (server) => ({ server }), { [WHAT]: [GOAL, creates] }),
    )),
  ]);
}
