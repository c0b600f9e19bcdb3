// Growth: the same work with 100 apps and with 100,000, and the other lists with 100 and with thousands. A server whose
// cost follows the amount of data would show it here a hundredfold. And how much memory the 100,000 take.
import { type Line, plain, scaled, whole } from "./figures.ts";
import { type Case, contest, create, creates, del, get, type Load, load, post, run } from "./load.ts";
import { type Server, startReceiver, startService } from "./machine.ts";

const FEW = 100;
const APPS = scaled(100_000);
/** Users, and deliveries that wait. */
const OTHERS = scaled(20_000);
const MANY = `${whole(APPS)} apps, ${whole(OTHERS)} users and deliveries`;
/** So many of each kind of event are kept. */
const EVENTS = 10_000;
const GOAL = "<= 1.15";

interface World {
  readonly server: Server;
  /** Of the apps. */
  readonly ids: readonly string[];
  readonly others: number;
  readonly webhook: string;
}

const last = (path: string, size: number): Load => load(() => get(`${path}offset=${Math.max(size - 20, 0)}`));
const log = ({ webhook, others }: World, query: string): Load =>
  last(`/v1/webhooks/${webhook}/deliveries?${query}`, others);

const CASES: Readonly<Record<string, Case<World>[1]>> = {
  "GET one app": ({ ids }) => load((n) => get(`/v1/apps/${ids[n % FEW]}`)),
  "First page of apps": () => last("/v1/apps?", 0),
  "Last page of apps": ({ ids }) => last("/v1/apps?", ids.length),
  "Last page of public apps": ({ ids }) => last("/v1/apps?public=true&", ids.length / 2),
  "Create an app": () => creates(),
  "Delete an app": async ({ server }) => removal(await create(server.port, scaled(6_000))),
  "Last page of users": ({ others }) => last("/v1/users?", others),
  "Last page of events of one type": ({ others }) =>
    last("/v1/events?type=user.interaction&", Math.min(others, EVENTS)),
  "Last page of a delivery log": (world) => log(world, ""),
  "Last page of pending deliveries": (world) => log(world, "status=pending&"),
};

const removal = (ids: readonly string[]): Load => load((n) => del(`/v1/apps/${ids[n]}`), 204, { requests: ids.length });

export async function growth(): Promise<Line[]> {
  await using silent = await startReceiver("silent");
  await using many = await startService(MANY);
  await using few = await startService("100 of each");
  const apps = [await create(many.port, APPS), await create(few.port, FEW)];
  const { rss } = await many.ask("usage");
  const { heap } = await many.ask("heap");
  const cases = Object.entries(CASES).map(([what, make]) => [`${what}: ${MANY}`, [GOAL, make] as const]);
  const fill = (server: Server, at: number) => filled(server, silent.url, apps[at] ?? [], [OTHERS, FEW][at] ?? 0);
  return [
    plain(`Memory with ${whole(APPS)} apps`, "MB RSS", rss / 1e6, "<= 180", `${whole(heap / 1e6)} MB are in use`),
    ...(await contest([many, few], fill, Object.fromEntries(cases))),
  ];
}

/** The receiver never answers, so that all deliveries stay and none disturbs; both come to the number of events kept. */
async function filled(server: Server, url: string, ids: readonly string[], others: number): Promise<World> {
  await run(server.port, removal(await create(server.port, scaled(EVENTS / 2))));
  const { id: webhook } = await server.api.create("/webhooks", { url, events: ["user.interaction"] });
  const visit = { user_id: "visitor", interaction_type: "click" };
  await create(server.port, others, (n) => post(`/v1/apps/${ids[n % FEW]}/interactions`, visit), 202);
  await create(server.port, others, (n) => post("/v1/users", { email: `user${n}@example.com` }));
  return { server, ids, others, webhook };
}
