// One to four processes on one PostgreSQL: what a request costs the server and the database in CPU time, against the
// memory store in one process, and what is used up first. Nothing is bound to a core here, so all of them compete with the
// load: the requests a second are those of this machine, the CPU times of any.
import { readdirSync, readFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { type Database, missing, startDatabase } from "../../test/support/database.ts";
import { pool } from "../pool.ts";
import { compare, type Line, ratio, type Side } from "./figures.ts";
import { create, creates, get, type Load, load, loadOn } from "./load.ts";
import { ANYWHERE, pin, type Server, startService } from "./machine.ts";

const PROCESSES = [1, 2, 3, 4];
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

/** With what the database has used, and how much of the cores that leaves. */
const beside = (database: Database, servers: readonly Server[], make: () => Load): Side => ({
  name: servers[0]?.name ?? "",
  async measure() {
    const before_us = databaseCpu_us(database);
    const began = performance.now();
    const figures = await loadOn(servers, make).measure();
    const [us, used_us] = [(performance.now() - began) * 1_000, databaseCpu_us(database) - before_us];
    const { "µs of CPU": each = 0, "a second": rate = 0 } = figures;
    return {
      ...figures,
      "µs of the database's": used_us / ((rate * us) / 1e6),
      "% of a core, each process": (each * rate) / 1e4 / servers.length,
      [`% of ${cpus().length} cores, all`]: (each * rate) / 1e4 / cpus().length + (100 * used_us) / us / cpus().length,
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
  const flags = ["--data", database.address()];
  const servers = await pool(1, Array.from({ length: count }), () => startService("own", flags, undefined, ANYWHERE));
  const making = () => creates({ connections: CONNECTIONS });
  const reading = async (side: readonly Server[]) => {
    const [id] = await create(side[0]?.port ?? 0, 40);
    return () => load(() => get(`/v1/apps/${id}`), 200, { connections: CONNECTIONS });
  };
  try {
    const [reads, others] = [await reading(servers), await reading([memory])];
    return await pool(1, [["Create", making, making] as const, ["GET", reads, others] as const], async (of) => {
      const [own, base] = await compare(
        [beside(database, servers, of[1]), beside(database, [memory], of[2])],
        1,
        ROUNDS,
      );
      return ratio(`${of[0]} one, ${count} ${count === 1 ? "process" : "processes"}`, own, base, "µs of CPU");
    });
  } finally {
    for (const server of servers) await server.stop();
  }
}
