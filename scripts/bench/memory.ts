// How much memory 100,000 apps take, and whether a mixed load makes it grow. The short form of the load takes half a
// minute; BENCH_MINUTES=10 is the long one.
import { spread } from "./compare.ts";
import { createApps, del, draft, get, post, run } from "./load.ts";
import { type Server, startService } from "./machine.ts";
import type { Line } from "./table.ts";

const APPS = 100_000;
const SLICE = 1_000;
/** Two events an app: enough for the 10,000 that are kept. */
const FILLING_SLICES = 6;
const MINUTES = Number(process.env.BENCH_MINUTES ?? 0.5);

const mb = (bytes: number): number => bytes / 1e6;

export async function memory(): Promise<Line[]> {
  return [await withMany(), await overTime()];
}

async function withMany(): Promise<Line> {
  const server = await startService();
  try {
    await createApps(server.port, APPS);
    const rss = mb((await server.usage()).rss);
    const beside = `${rss.toFixed(0)} MB RSS, of which ${mb(await server.heap()).toFixed(0)} MB are in use`;
    return line("Memory with 100,000 apps", "150 MB", [rss / 150], "<= 1.00", beside);
  } finally {
    await server.stop();
  }
}

/** What is in use after each tenth of the time, against the first; the lists that have a bound are full before it. */
async function overTime(): Promise<Line> {
  const server = await startService();
  try {
    for (let slice = 0; slice < FILLING_SLICES; slice += 1) await mixed(server.port);
    const sizes: number[] = [];
    for (let tenth = 0; tenth < 10; tenth += 1) sizes.push(await after(server, MINUTES * 6_000));
    const [first = Number.NaN, ...later] = sizes;
    const ratios = later.map((size) => size / first);
    const beside = `${sizes.map((size) => size.toFixed(0)).join(", ")} MB, ${MINUTES} min`;
    return line("Memory in use under a mixed load", "its first tenth", ratios, "<= 1.05", beside);
  } finally {
    await server.stop();
  }
}

async function after(server: Server, ms: number): Promise<number> {
  const until = performance.now() + ms;
  do await mixed(server.port);
  while (performance.now() < until);
  return mb(await server.heap());
}

/** Apps made, read, listed and removed again. */
async function mixed(port: number): Promise<void> {
  const ids = await createApps(port, SLICE);
  const common = { port, requests: SLICE, connections: 16, status: 200 };
  await run({ ...common, request: (n) => get(`/v1/apps/${ids[n]}`) });
  await run({ ...common, request: (n) => get(`/v1/apps?offset=${n % 100}`) });
  await run({ ...common, status: 422, request: (n) => post("/v1/apps", { ...draft(n), title: "" }) });
  await run({ ...common, status: 204, request: (n) => del(`/v1/apps/${ids[n]}`) });
}

function line(what: string, against: string, ratios: readonly number[], goal: string, beside: string): Line {
  return { what, against, figure: "memory", spread: spread(ratios), goal, beside };
}
