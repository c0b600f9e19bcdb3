// Processes and cores of the benchmarks. The measured process runs on one core, the load and the receivers on another,
// so that neither slows the other down. Processes report their CPU time over IPC (servers/meter.cjs), exact to the
// microsecond; /proc counts in hundredths of a second.
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { get } from "node:http";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client } from "../../test/support/client.ts";
import { closedPort } from "../../test/support/ports.ts";
import type { Figures, Side } from "./figures.ts";

const MEASURED = "0";
const LOAD = "1";
const START_MS = 30_000;
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export const KEY = "ahs_bench-0123456789abcdefghijklmnopqrstuvwxyz";
/** Environment of our server and the bare one. The rate limit is counted and reported as usual, and never reached. */
const ENV = {
  ...process.env,
  NODE_ENV: "production",
  APPHOST_API_KEY: KEY,
  APPHOST_LOG: "off",
  APPHOST_RATE_LIMIT: "999999999",
};

const canPin = cpus().length > 1 && spawnSync("taskset", ["--version"]).status === 0;

/** Moves this process off the measured core. */
export function pin(): void {
  if (canPin) spawnSync("taskset", ["-a", "-c", "-p", LOAD, String(process.pid)]);
}

export function describeMachine(): string {
  const [cpu] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  const pinned = canPin ? "server and load on a core each" : "not pinned";
  return `${cpus().length} cores (${cpu?.model}), ${memory} GB, Node ${process.versions.node}, ${pinned}, as built`;
}

/** The program and arguments that run node on the measured core. */
const pinned = (args: readonly string[]): readonly [string, readonly string[]] =>
  canPin ? ["taskset", ["-c", MEASURED, process.execPath, ...args]] : [process.execPath, args];

export type Server = Awaited<ReturnType<typeof startServer>>;

/** Starts node with these arguments and waits until the server responds at APPHOST_PORT. */
export async function startServer(name: string, args: readonly string[]) {
  const port = await closedPort();
  const began = performance.now();
  const meter = ["--expose-gc", "--require", here("servers/meter.cjs")];
  const child = spawn(...pinned([...meter, ...args]), {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    env: { ...ENV, APPHOST_PORT: String(port) },
  });
  const took_ms = () => performance.now() - began;
  while (!(await answers(port))) {
    if (child.exitCode !== null || took_ms() > START_MS) throw new Error(`${name} does not start`);
    await pause(1);
  }
  const start_ms = took_ms();
  /** Kills the process, as a crash would. */
  const stop = async () => {
    const gone = once(child, "exit");
    if (child.kill("SIGKILL")) await gone;
  };
  return {
    name,
    port,
    start_ms,
    stop,
    /** Requests the process's "usage", or its "heap" after garbage collection, over IPC. */
    async ask(question: "usage" | "heap") {
      child.send(question);
      const [answer] = await once(child, "message");
      return answer;
    },
    /** A client for requests that are not measured. */
    api: new Client({ baseUrl: `http://127.0.0.1:${port}/v1`, key: KEY }),
    [Symbol.asyncDispose]: stop,
  };
}

/** The path of a module of the built package, as a user runs it. */
export const built = (module: "bin" | "index"): string => here(`../../dist/${module}.js`);
export const index = (): Promise<typeof import("../../src/index.ts")> => import(built("index"));

/** The node arguments that run the command from its sources. */
export const SOURCES = ["--import", "tsx", here("../../src/bin.ts")];

/** The baseline server. */
export const BARE = ["bare node:http", [here("servers/bare.mjs")]] as const;

/**
 * A temporary folder, deleted on dispose. It lies beside the sources, because the system's temporary folder is often
 * not on a disk.
 */
export function newFolder() {
  const path = mkdtempSync(join(process.cwd(), "bench-data-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

/** Runs one measurement in its own process, so that it does not start with a heap warmed by another (side.ts). */
export const side = (name: string, ...args: string[]): Side => ({
  name,
  measure: () => inSide(...args),
});

export async function inSide(...args: string[]): Promise<Figures> {
  const all = ["--max-old-space-size=8192", "--import", "tsx", here("side.ts"), ...args];
  const { stdout } = await promisify(execFile)(...pinned(all), { env: ENV });
  return JSON.parse(stdout);
}

/** Checks whether a server responds on this port, over a new connection. */
export const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const headers = { authorization: `Bearer ${KEY}` };
    get({ port, host: "127.0.0.1", path: "/v1/apps", agent: false, headers }, (response) => {
      response.resume().on("end", () => resolve(Number(response.statusCode) < 500));
    }).on("error", () => resolve(false));
  });
