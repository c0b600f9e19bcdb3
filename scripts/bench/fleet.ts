// One, two and four processes on one PostgreSQL: what a request costs the server and the database in CPU time, against the
// memory store in one process, and what is used up first. Nothing is bound to a core here, so all of them compete with the
// load: the requests a second are those of this machine, the CPU times of any.
import { readdirSync, readFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { type Database, missing, startDatabase } from "../../test/support/database.ts";
import { pool } from "../pool.ts";
import { compare, type Line, median, ratio, type Side } from "./figures.ts";
import { create, creates, get, type Load, load, run } from "./load.ts";
import { ANYWHERE, pin, type Server, startService } from "./machine.ts";

const PROCESSES = [1, 2, 4];
/** Of all requests at once, on all processes. */
const CONNECTIONS = 16;
const ROUNDS = 3;
/** Clock ticks of the kernel, in which it tells what a process has used. */
const TICK_US = 10_000;

/** What the database has used: the one that was started, and all that it has started and still has. */
function databaseCpu_us({ folder }: Database): number {
  const [pid = ""] = readFileSync(join(folder, "data/postmaster.pid"), "utf8").split("\n");
  let ticks = 0;
  for (const name of readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
    const [, stat = ""] = statOf(name).split(") ");
    const [, parent, ...rest] = stat.split(" ");
    // utime and stime, and for the parent those of its children that have ended.
    if (name === pid) for (const used of rest.slice(9, 13)) ticks += Number(used);
    else if (parent === pid) for (const used of rest.slice(9, 11)) ticks += Number(used);
  }
  return ticks * TICK_US;
}

/** A process may have ended since its name was read. */
function statOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return "";
  }
}

/** The same load spread over all servers. */
const onAll = (servers: readonly Server[], make: () => Load, database?: Database): Side => ({
  name: servers.length === 1 && database === undefined ? "memory" : `${servers.length} on PostgreSQL`,
  async measure() {
    const used = () => Promise.all(servers.map(async (server) => (await server.ask("usage")).cpu_us));
    const given = make();
    const share = (count: number) => Math.ceil(count / servers.length);
    const part = { ...given, requests: share(given.requests), connections: share(given.connections) };
    const [before, database_before] = [await used(), database ? databaseCpu_us(database) : 0];
    const began = performance.now();
    const ends = await Promise.all(servers.map(({ port }) => run(port, part)));
    const us = (performance.now() - began) * 1_000;
    const after = await used();
    const database_us = (database ? databaseCpu_us(database) : 0) - database_before;
    const cpu = after.map((cpu_us, n) => cpu_us - (before[n] ?? 0));
    const server_us = cpu.reduce((sum, each) => sum + each, 0);
    const latencies = ends.flatMap((end) => end.latencies);
    return {
      "µs of CPU": server_us / latencies.length,
      "µs of the database's": database_us / latencies.length,
      "a second": latencies.length / (us / 1e6),
      "ms at the median": median(latencies),
      "% of a core, the busiest process": (100 * Math.max(...cpu)) / us,
      [`% of ${cpus().length} cores, all`]: (100 * (server_us + database_us)) / us / cpus().length,
    };
  },
});

export async function fleet(): Promise<Line[]> {
  if (missing) throw new Error(missing);
  pin(ANYWHERE);
  const database = startDatabase(true);
  try {
    await using memory = await startService("memory", [], undefined, ANYWHERE);
    return (await pool(1, PROCESSES, (count) => ofProcesses(count, memory, database))).flat();
  } finally {
    database.end();
  }
}

async function ofProcesses(count: number, memory: Server, database: Database): Promise<Line[]> {
  const address = database.address();
  const flags = ["--data", address];
  const servers = await pool(1, Array.from({ length: count }), () => startService("own", flags, undefined, ANYWHERE));
  try {
    const cases = await pool(1, [[memory], servers], async (side) => {
      const [id] = await create(side[0]?.port ?? 0, 40);
      return { side, reads: () => load(() => get(`/v1/apps/${id}`), 200, { connections: CONNECTIONS }) };
    });
    const sides = (reads: boolean) =>
      cases.map((each, n) =>
        onAll(
          each.side,
          reads ? each.reads : () => creates({ connections: CONNECTIONS }),
          n === 1 ? database : undefined,
        ),
      );
    return await pool(1, [false, true], async (reads) => {
      const [base, own] = await compare(sides(reads), 1, ROUNDS);
      const what = `${reads ? "GET one" : "Create one"}, ${count} ${count === 1 ? "process" : "processes"}`;
      return ratio(what, own, base, "µs of CPU");
    });
  } finally {
    for (const server of servers) await server.stop();
  }
}
