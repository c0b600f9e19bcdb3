// Growth: the same work with 100 apps and with 100,000. A server whose cost follows the amount of data would show it here a
// hundredfold. And how much memory the 100,000 take.
import { type Line, plain, scaled, whole } from "./figures.ts";
import { type Case, contest, create, creates, del, get, type Load, load, run } from "./load.ts";
import { type Server, startService } from "./machine.ts";

const FEW = 100;
const APPS = scaled(100_000);
const MANY = `${whole(APPS)} apps`;
/** So many are kept. */
const EVENTS = 10_000;
const GOAL = "<= 1.15";

interface World {
  readonly server: Server;
  readonly ids: readonly string[];
}

const last = (query: string, size: number): Load =>
  load(() => get(`/v1/apps?${query}offset=${Math.max(size - 20, 0)}`));
const removal = (ids: readonly string[]): Load => load((n) => del(`/v1/apps/${ids[n]}`), 204, { requests: ids.length });

const CASES: Readonly<Record<string, Case<World>[1]>> = {
  "GET one app": ({ ids }) => load((n) => get(`/v1/apps/${ids[n % FEW]}`)),
  "First page of apps": () => last("", 0),
  "Last page of apps": ({ ids }) => last("", ids.length),
  "Last page of public apps": ({ ids }) => last("public=true&", ids.length / 2),
  "Create an app": () => creates(),
  "Delete an app": async ({ server }) => removal(await create(server.port, scaled(6_000))),
};

export async function growth(): Promise<Line[]> {
  await using many = await startService(MANY);
  await using few = await startService(`${FEW} apps`);
  const apps = [await create(many.port, APPS), await create(few.port, FEW)];
  const { rss } = await many.ask("usage");
  const { heap } = await many.ask("heap");
  const cases = Object.entries(CASES).map(([what, make]) => [`${what}: ${MANY}`, [GOAL, make] as const]);
  /** Both come to the number of events kept. */
  const fill = async (server: Server, at: number): Promise<World> => {
    await run(server.port, removal(await create(server.port, scaled(EVENTS / 2))));
    return { server, ids: apps[at] ?? [] };
  };
  return [
    plain(`Memory with ${MANY}`, "MB RSS", rss / 1e6, "<= 180", `${whole(heap / 1e6)} MB are in use`),
    ...(await contest([many, few], fill, Object.fromEntries(cases))),
  ];
}
