// From the start of the process to its first answer, against a bare server of one file: the packed command, and the
// sources as `npm start` runs them. And a whole life embedded in a test: start, first request, close.
import { once } from "node:events";
import { createServer, get as httpGet } from "node:http";
import { median, type Spread, spread } from "./compare.ts";
import { freePort, isBuilt, KEY, ours, pause, sources, spawnPinned } from "./machine.ts";
import { bare } from "./peers.ts";
import type { Line } from "./table.ts";

const ROUNDS = 15;
const LIVES = 200;

interface Kind {
  readonly what: string;
  readonly goal: string;
  readonly args: readonly string[];
}

const BIN: Kind = { what: "the bin", goal: "<= 1.25", args: ours("bin") };
const NPM_START: Kind = { what: "npm start, without npm", goal: "<= 3.50", args: sources("bin") };

export async function start(): Promise<Line[]> {
  return [...(await starts(isBuilt ? [BIN, NPM_START] : [NPM_START])), await lives()];
}

interface Times {
  readonly own: readonly number[];
  readonly base: readonly number[];
}

/** Every round starts each of them once, in an order that turns with the round. */
async function starts(kinds: readonly Kind[]): Promise<Line[]> {
  const flags = (port: number) => ["--port", String(port), "--api-key", KEY, "--log", "off"];
  const sides = [
    () => bare.args,
    ...kinds.map(({ args }) => (port: number) => [...args, ...flags(port)]),
  ];
  const times = sides.map((): number[] => []);
  for (let round = -2; round < ROUNDS; round += 1)
    for (let turn = 0; turn < sides.length; turn += 1) {
      const at = (turn + Math.max(round, 0)) % sides.length;
      const args = sides[at];
      if (args === undefined) continue;
      const ms = await firstAnswer(args);
      if (round >= 0) times[at]?.push(ms);
    }
  const [base = [], ...owns] = times;
  return kinds.map(({ what, goal }, at) =>
    line(`First answer after the start of ${what}`, "bare node:http, one file", { own: owns[at] ?? [], base }, goal),
  );
}

async function firstAnswer(args: (port: number) => readonly string[]): Promise<number> {
  const port = await freePort();
  const started = performance.now();
  const child = spawnPinned(args(port), { BENCH_PORT: String(port), BENCH_KEY: KEY });
  while (!(await answers(port))) await pause(1);
  const ms = performance.now() - started;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
  return ms;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${KEY}` };
    const request = httpGet({ port, host: "127.0.0.1", path: "/v1/apps", agent: false, headers }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode === 200));
    });
    request.on("error", () => resolve(false));
  });
}

/** All in this process, as a test has it. The wall clock scatters with each collection of garbage, so CPU stands beside. */
async function lives(): Promise<Line> {
  const { startService: embed }: typeof import("../../src/index.ts") = await import(ours("index").at(-1) ?? "");
  const ownLife = async () => {
    const service = await embed({ apiKey: KEY });
    if (!(await answers(Number(new URL(service.baseUrl).port)))) throw new Error("no answer");
    await service.close();
  };
  const own: Cost[] = [];
  const base: Cost[] = [];
  for (let round = -20; round < LIVES; round += 1) {
    const ownFirst = round % 2 === 0;
    const early = ownFirst ? await costOf(ownLife) : undefined;
    const bareCost = await costOf(bareLife);
    const ownCost = early ?? (await costOf(ownLife));
    if (round < 0) continue;
    base.push(bareCost);
    own.push(ownCost);
  }
  const times = { own: own.map(({ ms }) => ms), base: base.map(({ ms }) => ms) };
  const found = line("Embedded: start, first request, close", "bare node:http", times, "<= 2.00");
  const cpu = median(own.map(({ cpu_us }) => cpu_us)) / median(base.map(({ cpu_us }) => cpu_us));
  return { ...found, beside: `${found.beside}, CPU ${cpu.toFixed(2)}` };
}

interface Cost {
  readonly ms: number;
  readonly cpu_us: number;
}

async function costOf(life: () => Promise<void>): Promise<Cost> {
  const before = process.cpuUsage();
  const started = performance.now();
  await life();
  const ms = performance.now() - started;
  const { user, system } = process.cpuUsage(before);
  return { ms, cpu_us: user + system };
}

async function bareLife(): Promise<void> {
  const server = createServer((_, response) => response.end("[]")).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null || !(await answers(address.port))) throw new Error("no answer");
  await new Promise((resolve) => server.close(resolve));
}

function line(what: string, against: string, { own, base }: Times, goal: string): Line {
  const ratios: Spread = spread(own.map((ms, round) => ms / (base[round] ?? Number.NaN)));
  const least = [own, base].map((times) => Math.min(...times).toFixed(1));
  const beside = `${median(own).toFixed(1)} ms against ${median(base).toFixed(1)} ms, the fastest ${least.join(" ms against ")} ms`;
  return { what, against, figure: "time", spread: ratios, goal, beside };
}
