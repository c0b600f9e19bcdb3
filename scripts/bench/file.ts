// The whole service with --data (every create on the disk before it is answered) against the same in memory.
import { join } from "node:path";
import { compare, type Line, ratio, scaled } from "./figures.ts";
import { draft, load, loadOn, post } from "./load.ts";
import { startService, withFolder, withServers } from "./machine.ts";

export const flagsIn = (folder: string, name: string): readonly string[] => ["--data", join(folder, `${name}.json`)];

export const creates = () => load((n) => post("/v1/apps", draft(n)), 201, { requests: scaled(6_000), connections: 64 });

export const file = (): Promise<Line[]> =>
  withFolder((folder) =>
    withServers(
      [startService("--data", flagsIn(folder, "data")), startService("the memory store")],
      async (servers) => {
        const [data, memory] = await compare(servers.map((server) => loadOn(server, creates)));
        const what = "Create with --data, 64 connections";
        return [ratio(what, data, memory, "µs of CPU", "<= 1.45"), ratio(what, data, memory, "a second", ">= 0.60")];
      },
    ),
  );
