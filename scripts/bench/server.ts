// Server processes of the benchmarks. The measured process runs on one core, the load on another. A process reports
// its CPU time over IPC (servers/meter.cjs), because /proc counts in hundredths of a second.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { get } from "node:http";
import { cpus } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client } from "../../test/support/client.ts";
import { closedPort } from "../../test/support/ports.ts";

const MEASURED_CORE = "0";
const LOAD_CORE = "1";
const START_TIMEOUT_MS = 30_000;

export const KEY = "ahs_bench-0123456789abcdefghijklmnopqrstuvwxyz";

/** The rate limit is counted and reported as usual, but never reached. */
const ENV = {
  ...process.env,
  NODE_ENV: "production",
  APPHOST_API_KEY: KEY,
  APPHOST_LOG: "off",
  APPHOST_RATE_LIMIT: "999999999",
};

const canPin = cpus().length > 1 && spawnSync("taskset", ["--version"]).status === 0;

/** Moves this process off the measured core. */
export function pinLoad() {
  if (canPin) spawnSync("taskset", ["-a", "-c", "-p", LOAD_CORE, String(process.pid)]);
}

const toPath = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** A program of this folder, and the built package as a user runs it. */
export const program = (name: string): string => toPath(`servers/${name}`);
export const BUILT_BIN = toPath("../../dist/bin.js");
export const BUILT_INDEX = toPath("../../dist/index.js");
/** The node arguments that run the command from its sources. */
export const SOURCES = ["--import", "tsx", toPath("../../src/bin.ts")];

/** Starts node on the measured core with these arguments and an IPC channel. */
export function startNode(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const [command, ...before] = canPin
    ? ["taskset", "-c", MEASURED_CORE, process.execPath]
    : [process.execPath];
  return spawn(command ?? "", [...before, ...args], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    env: { ...ENV, ...env },
  });
}

export interface Usage {
  readonly cpu_us: number;
}

export type Server = Awaited<ReturnType<typeof startServer>>;

/** Starts a server and waits for its first response. */
export async function startServer(name: string, args: readonly string[]) {
  const port = await closedPort();
  const startedAt = performance.now();
  const child = startNode(["--require", program("meter.cjs"), ...args], {
    APPHOST_PORT: String(port),
  });
  while (!(await responds(port))) {
    const isLate = performance.now() - startedAt > START_TIMEOUT_MS;
    if (child.exitCode !== null || isLate) throw new Error(`${name} does not start`);
    await sleep(1);
  }
  /** Kills the process, as a crash would. */
  const stop = async () => {
    const exit = once(child, "exit");
    if (child.kill("SIGKILL")) await exit;
  };
  return {
    name,
    port,
    start_ms: performance.now() - startedAt,
    stop,
    /** The CPU time that the process has used. */
    async usage() {
      child.send("usage");
      const [usage] = await once(child, "message");
      return usage;
    },
    /** A client for requests that are not measured. */
    api: new Client({ baseUrl: `http://127.0.0.1:${port}/v1`, key: KEY }),
    [Symbol.asyncDispose]: stop,
  };
}

/** Returns whether a server responds on this port, over a new connection. */
export const responds = (port: number) =>
  new Promise((resolve) => {
    const headers = { authorization: `Bearer ${KEY}` };
    get({ port, host: "127.0.0.1", path: "/v1/apps", agent: false, headers }, (response) => {
      response.resume().on("end", () => resolve(Number(response.statusCode) < 500));
    }).on("error", () => resolve(false));
  });

/** A temporary folder beside the sources, because the system's is often not on a disk. Deleted on dispose. */
export function createFolder() {
  const path = mkdtempSync(join(process.cwd(), "bench-data-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}
