// The whole service with --data (every create on the disk before it is answered) against the same in memory.
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { compare } from "./compare.ts";
import { draft, post } from "./load.ts";
import { startService } from "./machine.ts";
import { cpuLine, type Line } from "./table.ts";

const load = {
  requests: 6_000,
  connections: 64,
  request: (n: number) => post("/v1/apps", draft(n)),
  status: 201,
};

/** The folder lies beside the sources and not in the temporary one, which is often no disk at all. */
export async function file(): Promise<Line[]> {
  const folder = mkdtempSync(join(process.cwd(), "bench-data-"));
  const servers = [
    await startService([], "the memory store"),
    await startService(["--data", join(folder, "data.json")], "--data"),
  ];
  try {
    const sides = servers.map((server) => ({ name: server.name, server, load }));
    const [memory, data] = await compare(sides);
    if (memory === undefined || data === undefined) throw new Error("nothing was measured");
    const what = "Create with --data, 64 connections";
    const perSecond = `${data.figures.per_second.toFixed(0)}/s against ${memory.figures.per_second.toFixed(0)}/s`;
    return [
      cpuLine(what, data, memory, "<= 1.45"),
      { what, against: memory.name, figure: "throughput", spread: data.throughput, goal: ">= 0.60", beside: perSecond },
    ];
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    rmSync(folder, { recursive: true });
  }
}
