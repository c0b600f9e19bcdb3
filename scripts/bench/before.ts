// This server against another version of itself in one run: what a change has cost or gained. BENCH_BEFORE names a folder
// in which the other version was built (npm run build); without it there is nothing to compare with.
import { join } from "node:path";
import type { Line } from "./figures.ts";
import { creates, flagsIn } from "./file.ts";
import { cases } from "./http.ts";
import { race } from "./load.ts";
import { ours, startService, withFolder, withServers } from "./machine.ts";

const GOAL = "<= 1.10";

export function before(): Promise<Line[]> {
  const other = process.env.BENCH_BEFORE;
  if (other === undefined) throw new Error("BENCH_BEFORE must name the folder of the version to compare with");
  const was = ours("bin", join(other, "dist"));
  return withFolder(async (folder) => {
    const memory = await withServers([startService("now"), startService("before", [], was)], (servers) =>
      cases(servers, GOAL),
    );
    const onFile = [startService("now", flagsIn(folder, "now")), startService("before", flagsIn(folder, "was"), was)];
    const data = await withServers(onFile, (servers) =>
      race(
        "Create with --data, 64 connections",
        servers.map((server) => ({ server })),
        creates,
        { goals: [GOAL] },
      ),
    );
    return [...memory, ...data];
  });
}
