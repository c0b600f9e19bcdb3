// The machine and the processes on it: what is measured runs on one core, the load and the receivers on another, so that
// neither takes the other's time. What a process has used is asked of it over IPC (servers/meter.cjs) and is exact to the
// microsecond, where a file under /proc counts in hundredths of a second.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { get } from "node:http";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client } from "../../test/support/client.ts";
import { closedPort } from "../../test/support/receivers.ts";
import type { Figures, Side } from "./figures.ts";

type Core = "0" | "1" | typeof ANYWHERE;
/** For many processes that are measured together. */
export const ANYWHERE = "0,1";
const MEASURED = "0";
const LOAD = "1";
const START_MS = 30_000;
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export const KEY = "ahs_bench-0123456789abcdefghijklmnopqrstuvwxyz";
/** Counted and reported like any other limit, and never reached. */
const RATE_LIMIT = "999999999";

const canPin = cpus().length > 1 && spawnSync("taskset", ["--version"]).status === 0;

/** Leaves the core of what is measured to it. */
export function pin(core: Core = LOAD): void {
  if (canPin) spawnSync("taskset", ["-a", "-c", "-p", core, String(process.pid)]);
}

export function describeMachine(): string {
  const [cpu] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  const pinned = canPin ? "server and load on a core each, a fleet on all" : "not pinned";
  return `${cpus().length} cores (${cpu?.model ?? "unknown"}), ${memory} GB, Node ${process.versions.node}, ${pinned}, ${isBuilt ? "as built" : "from the sources, which tsx makes slower"}`;
}

/** Runs node; the other processes of a bench all come from here. */
export function spawnNode(args: readonly string[], env: NodeJS.ProcessEnv = {}, core: Core = MEASURED): ChildProcess {
  const [command = "", ...rest] = [...(canPin ? ["taskset", "-c", core] : []), process.execPath, ...args];
  const all = { ...process.env, NODE_ENV: "production", ...env };
  return spawn(command, rest, { stdio: ["ignore", "ignore", "inherit", "ipc"], env: all });
}

interface Program {
  readonly name: string;
  /** What follows `node` on the command line. */
  readonly args: readonly string[];
  readonly core?: Core;
}

/** Ours, the bare one or a receiver. */
export type Server = Awaited<ReturnType<typeof startServer>>;

/** Starts the program with BENCH_PORT and BENCH_KEY, and waits until it answers. */
export async function startServer({ name, args, core }: Program, given?: number) {
  const port = given ?? (await closedPort());
  const url = `http://127.0.0.1:${port}`;
  const meter = ["--expose-gc", "--require", here("servers/meter.cjs")];
  const child = spawnNode([...meter, ...args], { BENCH_PORT: String(port), BENCH_KEY: KEY }, core);
  const until = performance.now() + START_MS;
  while (!(await answers(port))) {
    if (child.exitCode !== null || performance.now() > until) throw new Error(`${name} does not start`);
    await pause(1);
  }
  return {
    ...{ name, port, url },
    /** What the process answers over IPC: its "usage", or its "heap" without what nobody needs. */
    async ask(question: "usage" | "heap") {
      child.send(question);
      const [answer] = await once(child, "message");
      return answer;
    },
    /** For what is not measured. */
    api: new Client({ baseUrl: `${url}/v1`, key: KEY }),
    signal: (name: NodeJS.Signals) => child.kill(name),
    /** As a crash would. */
    stop: () => killed(child),
    [Symbol.asyncDispose]: () => killed(child),
  };
}

export async function killed(child: ChildProcess): Promise<void> {
  const gone = once(child, "exit");
  if (child.kill("SIGKILL")) await gone;
}

/** Gone when its time is over. It lies beside the sources and not in the temporary one, which is often no disk at all. */
export function newFolder() {
  const path = mkdtempSync(join(process.cwd(), "bench-data-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

/** The server compared with. */
export const bare: Program = { name: "bare node:http", args: [here("servers/bare.mjs")] };

/** This service, with everything on. */
export async function startService(
  name = "this server",
  flags: readonly string[] = [],
  program = ours("bin"),
  core: Core = MEASURED,
) {
  const port = await closedPort();
  const common = ["--port", String(port), "--api-key", KEY, "--log", "off", "--rate-limit", RATE_LIMIT];
  return startServer({ name, core, args: [...program, ...common, ...flags] }, port);
}

/** A receiver of deliveries. */
export const startReceiver = (kind: "quick" | "silent"): Promise<Server> =>
  startServer({ name: kind, args: [here("servers/receiver.mjs"), kind], core: LOAD });

/** One measurement in a process of its own, so that none finds the heap of another warm (side.ts). */
export const side = (name: string, ...args: string[]): Side => ({ name, measure: () => inSide(...args) });

export async function inSide(...args: string[]): Promise<Figures> {
  const flags = ["--max-old-space-size=8192", "--expose-gc", "--import", "tsx"];
  const child = spawnNode([...flags, here("side.ts"), ...args]);
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`${args.join(" ")} ended with ${code}`);
  });
  const [figures] = await Promise.race([once(child, "message"), ended]);
  return figures;
}

/** What `npm run build` makes, as a user runs it; without it the sources, through tsx. */
const DIST = here("../../dist");
export const isBuilt = existsSync(join(DIST, "bin.js"));

/** The arguments of node that run a module of this package. */
export const ours = (module: "bin" | "index"): readonly string[] =>
  isBuilt ? [join(DIST, `${module}.js`)] : sources(module);

/** The same from its sources. */
export const sources = (module: "bin" | "index") => ["--import", "tsx", here(`../../src/${module}.ts`)];

/** Whether somebody answers there, on a connection of its own. */
export const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const headers = { authorization: `Bearer ${KEY}` };
    get({ port, host: "127.0.0.1", path: "/v1/apps", agent: false, headers }, (response) => {
      response.resume().on("end", () => resolve(Number(response.statusCode) < 500));
    }).on("error", () => resolve(false));
  });
