// From the start of the process to its first answer, against a bare server of one file; and a whole life embedded in a
// test: start, first request, close.
import { once } from "node:events";
import { createServer, get as httpGet } from "node:http";
import { startService as embed } from "../../src/index.ts";
import { median, type Spread, spread } from "./compare.ts";
import { freePort, isBuilt, KEY, ours, pause, spawnPinned } from "./machine.ts";
import { bare } from "./peers.ts";
import type { Line } from "./table.ts";

const ROUNDS = 15;
const LIVES = 60;

export async function start(): Promise<Line[]> {
  const flags = (port: number) => ["--port", String(port), "--api-key", KEY, "--log", "off"];
  const bin = await starts((port) => [...ours("bin"), ...flags(port)]);
  const what = `First answer after the start of ${isBuilt ? "the bin" : "the sources through tsx"}`;
  return [line(what, "bare node:http, one file", bin, isBuilt ? "<= 1.25" : "<= 3.50"), await lives()];
}

interface Times {
  readonly own: readonly number[];
  readonly base: readonly number[];
}

async function starts(args: (port: number) => readonly string[]): Promise<Times> {
  const own: number[] = [];
  const base: number[] = [];
  for (let round = -2; round < ROUNDS; round += 1) {
    const bareMs = await firstAnswer(() => bare.args);
    const ownMs = await firstAnswer(args);
    if (round < 0) continue;
    base.push(bareMs);
    own.push(ownMs);
  }
  return { own, base };
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

async function lives(): Promise<Line> {
  const own: number[] = [];
  const base: number[] = [];
  for (let round = -20; round < LIVES; round += 1) {
    const bareMs = await timed(bareLife);
    const ownMs = await timed(ownLife);
    if (round < 0) continue;
    base.push(bareMs);
    own.push(ownMs);
  }
  return line("Embedded: start, first request, close", "bare node:http", { own, base }, "<= 2.00");
}

async function timed(life: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await life();
  return performance.now() - started;
}

async function ownLife(): Promise<void> {
  const service = await embed({ apiKey: KEY });
  if (!(await answers(Number(new URL(service.baseUrl).port)))) throw new Error("no answer");
  await service.close();
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
