// The machine and the processes on it: what is measured runs on one core, the load and the receivers on another, so that
// neither takes the other's time. What a process has used is asked of it over IPC (servers/meter.cjs) and is exact to the
// microsecond, where a file under /proc counts in hundredths of a second.
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
/** For many processes that are measured together. */
export const ANYWHERE = "0,1";
const START_MS = 30_000;
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export const KEY = "ahs_bench-0123456789abcdefghijklmnopqrstuvwxyz";
/** What our own server and the bare one are told. The limit is counted and reported like any other, and never reached. */
const ENV = {
  ...process.env,
  ...{
    NODE_ENV: "production",
    APPHOST_API_KEY: KEY,
    APPHOST_LOG: "off",
    APPHOST_RATE_LIMIT: "999999999",
  },
};

const canPin = cpus().length > 1 && spawnSync("taskset", ["--version"]).status === 0;

/** Leaves the core of what is measured to it. */
export function pin(cores = LOAD): void {
  if (canPin) spawnSync("taskset", ["-a", "-c", "-p", cores, String(process.pid)]);
}

export function describeMachine(): string {
  const [cpu] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  const pinned = canPin ? "server and load on a core each, a fleet on all" : "not pinned";
  return `${cpus().length} cores (${cpu?.model}), ${memory} GB, Node ${process.versions.node}, ${pinned}, as built`;
}

/** What runs node on these cores: a program and its arguments. */
const pinned = (cores: string, args: readonly string[]): readonly [string, readonly string[]] =>
  canPin ? ["taskset", ["-c", cores, process.execPath, ...args]] : [process.execPath, args];

export type Server = Awaited<ReturnType<typeof startServer>>;

/** Starts what node runs with these arguments, and waits until it answers at APPHOST_PORT. */
export async function startServer(name: string, args: readonly string[], cores = MEASURED) {
  const port = await closedPort();
  const began = performance.now();
  const meter = ["--expose-gc", "--require", here("servers/meter.cjs")];
  const child = spawn(...pinned(cores, [...meter, ...args]), {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    env: { ...ENV, APPHOST_PORT: String(port) },
  });
  const took_ms = () => performance.now() - began;
  while (!(await answers(port))) {
    if (child.exitCode !== null || took_ms() > START_MS) throw new Error(`${name} does not start`);
    await pause(1);
  }
  const start_ms = took_ms();
  /** As a crash would. */
  const stop = async () => {
    const gone = once(child, "exit");
    if (child.kill("SIGKILL")) await gone;
  };
  return {
    ...{ name, port, start_ms, stop },
    /** What the process answers over IPC: its "usage", or its "heap" without what nobody needs. */
    async ask(question: "usage" | "heap") {
      child.send(question);
      const [answer] = await once(child, "message");
      return answer;
    },
    /** For what is not measured. */
    api: new Client({ baseUrl: `http://127.0.0.1:${port}/v1`, key: KEY }),
    signal: (name: NodeJS.Signals) => child.kill(name),
    [Symbol.asyncDispose]: stop,
  };
}

/** A module of this package as a user runs it. */
export const built = (module: "bin" | "index"): string => here(`../../dist/${module}.js`);
export const index = (): Promise<typeof import("../../src/index.ts")> => import(built("index"));

/** The arguments of node that run the command from its sources. */
export const SOURCES = ["--import", "tsx", here("../../src/bin.ts")];

/** The server compared with. */
export const BARE = ["bare node:http", [here("servers/bare.mjs")]] as const;

/** Gone when its time is over. It lies beside the sources and not in the temporary one, which is often no disk at all. */
export function newFolder() {
  const path = mkdtempSync(join(process.cwd(), "bench-data-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

/** One measurement in a process of its own, so that none finds the heap of another warm (side.ts). */
export const side = (name: string, ...args: string[]): Side => ({
  name,
  measure: () => inSide(...args),
});

export async function inSide(...args: string[]): Promise<Figures> {
  const all = ["--max-old-space-size=8192", "--import", "tsx", here("side.ts"), ...args];
  const { stdout } = await promisify(execFile)(...pinned(MEASURED, all), { env: ENV });
  return JSON.parse(stdout);
}

/** Whether somebody answers there, on a connection of its own. */
export const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const headers = { authorization: `Bearer ${KEY}` };
    get({ port, host: "127.0.0.1", path: "/v1/apps", agent: false, headers }, (response) => {
      response.resume().on("end", () => resolve(Number(response.statusCode) < 500));
    }).on("error", () => resolve(false));
  });
