// How much memory 100,000 apps take, and whether a mixed load makes it grow. The short form of the load takes half a
// minute; BENCH_MINUTES=10 is the long one.
import { spread } from "./compare.ts";
import { createApps, del, draft, get, post, run } from "./load.ts";
import { type Server, startService } from "./machine.ts";
import type { Line } from "./table.ts";

const APPS = 100_000;
const SLICE = 2_000;
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
    return line("Memory with 100,000 apps", "150 MB", [rss / 150], "<= 1.00", `${rss.toFixed(0)} MB RSS`);
  } finally {
    await server.stop();
  }
}

/** The greatest size of each tenth of the time, against that of the second tenth: by then everything is warm. */
async function overTime(): Promise<Line> {
  const server = await startService();
  try {
    const sizes: number[] = [];
    for (let tenth = 0; tenth < 10; tenth += 1) sizes.push(await greatest(server, MINUTES * 6_000));
    const [, second = Number.NaN, ...later] = sizes;
    const ratios = later.map((size) => size / second);
    const beside = `${sizes.map((size) => size.toFixed(0)).join(", ")} MB, ${MINUTES} min`;
    return line("Memory under a mixed load", "its second tenth", ratios, "<= 1.05", beside);
  } finally {
    await server.stop();
  }
}

async function greatest(server: Server, ms: number): Promise<number> {
  const until = performance.now() + ms;
  let most = 0;
  while (performance.now() < until) {
    await mixed(server.port);
    most = Math.max(most, mb((await server.usage()).rss));
  }
  return most;
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
  return { what, against, figure: "RSS", spread: spread(ratios), goal, beside };
}
