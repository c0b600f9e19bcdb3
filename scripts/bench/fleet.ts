// Fleet benchmark: one to four processes on one PostgreSQL, compared with the memory store in one process. It reports
// the CPU time per request of server and database, and the resource that runs out first. Nothing is pinned to a core,
// so all processes compete with the load. The request rates are specific to this machine, the CPU times are not.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { type Database, missing, startDatabase } from "../../test/support/database.ts";
import { pool } from "../pool.ts";
import { compare, type Side } from "./figures.ts";
import { asking, CPU, create, creates, type Load, load, loadOn } from "./load.ts";
import { ANYWHERE, built, pin, type Server, startServer } from "./machine.ts";

const PROCESSES = [1, 2, 3, 4];
/** Concurrent requests over all processes. */
const CONNECTIONS = 16;
/** Kernel clock tick, the unit of CPU times in /proc. */
const TICK_US = 10_000;

/** CPU time used by the postmaster and all its child processes, including those that have ended. */
function databaseCpu_us({ folder }: Database): number {
  const [postmaster = ""] = readFileSync(join(folder, "data/postmaster.pid"), "utf8").split("\n");
  // Ignores errors of processes that end meanwhile.
  const { stdout } = spawnSync("sh", ["-c", "cat /proc/[0-9]*/stat 2>&-"], { encoding: "utf8" });
  let ticks = 0;
  for (const stat of stdout.split("\n")) {
    const [pid, parent, ...rest] = stat.replace(/\(.*\) \w /, "").split(" ");
    // utime and stime; for the postmaster also those of its ended children.
    const end = pid === postmaster ? 13 : parent === postmaster ? 11 : 9;
    for (const used of rest.slice(9, end)) ticks += Number(used);
  }
  return ticks * TICK_US;
}

type Make = (servers: readonly Server[]) => Load | Promise<Load>;
const LOADS: Readonly<Record<string, Make>> = {
  Create: () => creates({ connections: CONNECTIONS }),
  // All requests read the same app.
  GET: async ([server]) => {
    const [id] = (server && (await create(server, 1))) ?? [];
    return load(() => asking("GET", `/v1/apps/${id}`), 200, { connections: CONNECTIONS });
  },
};

/** Adds the database's CPU time and the resulting share of the cores. */
const beside = (database: Database, servers: readonly Server[], make: Make): Side => ({
  name: servers[0]?.name ?? "",
  async measure() {
    const before_us = databaseCpu_us(database);
    const began = performance.now();
    const figures = await loadOn(servers, () => make(servers)).measure();
    const { [CPU]: each = 0, "a second": rate = 0 } = figures;
    const requests = (rate * (performance.now() - began)) / 1_000;
    const other = (databaseCpu_us(database) - before_us) / requests;
    return {
      ...figures,
      "µs of the database's": other,
      "% of a core, each process": (each * rate) / 1e4 / servers.length,
      [`% of ${cpus().length} cores, all`]: ((each + other) * rate) / 1e4 / cpus().length,
    };
  },
});

export async function fleet(): Promise<void> {
  if (missing) throw new Error(missing);
  pin(ANYWHERE);
  using database = startDatabase(true);
  await using memory = await startServer("memory", [built("bin")], ANYWHERE);
  for (const count of PROCESSES) {
    const args = [built("bin"), "--data", database.address()];
    const servers = await pool(1, Array(count), () => startServer("own", args, ANYWHERE));
    for (const [what, make] of Object.entries(LOADS)) {
      const [own, base] = [beside(database, servers, make), beside(database, [memory], make)];
      const on = `${what} one, ${count} ${count === 1 ? "process" : "processes"}`;
      await compare(on, [own, base], { [CPU]: "" }, 1);
    }
    for (const server of servers) await server.stop();
  }
}
