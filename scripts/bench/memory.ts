// How much memory 100,000 apps take, and whether a mixed load makes it grow. The short form of the load takes half a
// minute; BENCH_MINUTES=10 is the long one.
import { type Line, plain, scaled, whole } from "./figures.ts";
import { create, del, draft, get, load, post, run } from "./load.ts";
import { type Server, startService, withServers } from "./machine.ts";

const APPS = scaled(100_000);
const SLICE = scaled(1_000);
/** Two events an app: enough for the 10,000 that are kept. */
const FILLING_SLICES = 6;
const MINUTES = Number(process.env.BENCH_MINUTES ?? 0.5);

const mb = (bytes: number): number => bytes / 1e6;

export const memory = (): Promise<Line[]> =>
  withServers([startService(), startService()], async ([many, mixed]) => {
    await create(many.port, APPS);
    const { rss } = await many.ask("usage");
    const { heap } = await many.ask("heap");
    const used = `${mb(heap).toFixed(0)} MB are in use`;
    return [plain(`Memory with ${whole(APPS)} apps`, "MB RSS", mb(rss), "<= 180", used), await overTime(mixed)];
  });

/** What is in use after each tenth of the time, against the first; the lists that have a bound are full before it. */
async function overTime(server: Server): Promise<Line> {
  for (let slice = 0; slice < FILLING_SLICES; slice += 1) await mix(server.port);
  const sizes: number[] = [];
  while (sizes.length < 10) {
    const until = performance.now() + MINUTES * 6_000;
    do await mix(server.port);
    while (performance.now() < until);
    sizes.push(mb((await server.ask("heap")).heap));
  }
  const [first = Number.NaN, ...later] = sizes;
  const [what, against] = ["Memory in use under a mixed load", "its first tenth"];
  const beside = `${sizes.map((size) => size.toFixed(0)).join(", ")} MB, ${MINUTES} min`;
  return { what, against, figure: "ratio, MB", values: later.map((size) => size / first), goal: "<= 1.05", beside };
}

/** Apps made, read, listed, refused and removed again. */
async function mix(port: number): Promise<void> {
  const ids = await create(port, SLICE);
  const all = { requests: SLICE };
  await run(
    port,
    load((n) => get(`/v1/apps/${ids[n]}`), 200, all),
  );
  await run(
    port,
    load((n) => get(`/v1/apps?offset=${n % 100}`), 200, all),
  );
  await run(
    port,
    load((n) => post("/v1/apps", { ...draft(n), title: "" }), 422, all),
  );
  await run(
    port,
    load((n) => del(`/v1/apps/${ids[n]}`), 204, all),
  );
}
