// The machine and its processes: the servers run on one core, this process with the load on another, so that neither
// takes the other's time. What a server has used is asked of it over IPC (servers/meter.cjs) and is exact to the
// microsecond, where a file under /proc counts in hundredths of a second.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect, createServer } from "node:net";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SERVER_CORE = "0";
const LOAD_CORE = "1";
const START_MS = 30_000;
const METER = fileURLToPath(new URL("servers/meter.cjs", import.meta.url));

export const KEY = "ahs_bench-0123456789abcdefghijklmnopqrstuvwxyz";
/** Counted and reported like any other limit, and never reached. */
const RATE_LIMIT = "999999999";

const canPin = cpus().length > 1 && spawnSync("taskset", ["--version"]).status === 0;

/** Leaves the servers' core to them. */
export function pinLoad(): void {
  if (canPin) spawnSync("taskset", ["-a", "-c", "-p", LOAD_CORE, String(process.pid)]);
}

export const describeMachine = (): string => {
  const [cpu] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  const pinned = canPin ? "server and load on a core each" : "not pinned";
  return `${cpus().length} cores (${cpu?.model ?? "unknown"}), ${memory} GB, Node ${process.versions.node}, ${pinned}`;
};

export interface Usage {
  readonly cpu_us: number;
  readonly rss: number;
  readonly heap: number;
}

export interface Program {
  readonly name: string;
  /** What follows `node` on the command line. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export class Server {
  readonly name: string;
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(name: string, port: number, child: ChildProcess) {
    this.name = name;
    this.port = port;
    this.#child = child;
  }

  /** Starts the program with BENCH_PORT and BENCH_KEY, and waits until it listens. */
  static async start({ name, args, env = {} }: Program, given?: number): Promise<Server> {
    const port = given ?? (await freePort());
    const child = spawnPinned(["--require", METER, ...args], {
      ...env,
      BENCH_PORT: String(port),
      BENCH_KEY: KEY,
    });
    const server = new Server(name, port, child);
    await server.#listening();
    return server;
  }

  async usage(): Promise<Usage> {
    const usage: Usage = await this.#ask("usage");
    return usage;
  }

  /** The bytes that are still needed, after a collection of the rest. */
  async heap(): Promise<number> {
    const { heap }: Usage = await this.#ask("heap");
    return heap;
  }

  /** An access token, where the server is `servers/embedded.mjs`. */
  async token(): Promise<string> {
    const token: string = await this.#ask("token");
    return token;
  }

  async #ask(question: string) {
    this.#child.send(question);
    const [answer] = await once(this.#child, "message");
    return answer;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }

  async #listening(): Promise<void> {
    const until = performance.now() + START_MS;
    while (!(await accepts(this.port))) {
      if (this.#child.exitCode !== null) throw new Error(`${this.name} ended with ${this.#child.exitCode}`);
      if (performance.now() > until) throw new Error(`${this.name} does not listen`);
      await pause(5);
    }
  }
}

export function spawnPinned(args: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
  const [command, ...before] = canPin ? ["taskset", "-c", SERVER_CORE, process.execPath] : [process.execPath];
  return spawn(command ?? process.execPath, [...before, ...args], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    env: { ...process.env, NODE_ENV: "production", ...env },
  });
}

/** This service, with everything on. */
export async function startService(
  flags: readonly string[] = [],
  name = "this server",
  program = ours("bin"),
): Promise<Server> {
  const port = await freePort();
  const common = ["--port", String(port), "--api-key", KEY, "--log", "off", "--rate-limit", RATE_LIMIT];
  return Server.start({ name, args: [...program, ...common, ...flags] }, port);
}

/** What `npm run build` makes, as a user runs it; without it the sources, through tsx. */
const DIST = process.env.BENCH_DIST ?? fileURLToPath(new URL("../../dist", import.meta.url));
export const isBuilt = existsSync(join(DIST, "bin.js"));

/** The arguments of node that run a module of this package. */
export const ours = (module: "bin" | "index", dist = DIST): readonly string[] =>
  isBuilt ? [join(dist, `${module}.js`)] : sources(module);

/** The same as `npm start` does it. */
export const sources = (module: "bin" | "index"): readonly string[] => [
  "--import",
  "tsx",
  fileURLToPath(new URL(`../../src/${module}.ts`, import.meta.url)),
];

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (typeof address !== "object" || address === null) throw new Error("no free port");
  return address.port;
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
