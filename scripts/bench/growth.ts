// Growth: the same work with 100 apps and with 100,000, and the other lists with 100 and with thousands. A server whose
// cost follows the amount of data would show it here a hundredfold.
import { type Line, scaled, whole } from "./figures.ts";
import { type Case, contest, create, del, draft, get, type Load, load, post, run } from "./load.ts";
import { type Server, startReceiver, startService, withServers } from "./machine.ts";

const FEW = 100;
const APPS = [scaled(100_000), FEW];
/** Users, and deliveries that wait. */
const OTHERS = [scaled(20_000), FEW];
const MANY = `${whole(APPS[0] ?? 0)} apps, ${whole(OTHERS[0] ?? 0)} users and deliveries`;
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
  "Create an app": () => load((n) => post("/v1/apps", draft(n)), 201),
  "Delete an app": async ({ server }) => {
    const ids = await create(server.port, scaled(6_000));
    return load((n) => del(`/v1/apps/${ids[n]}`), 204);
  },
  "Last page of users": ({ others }) => last("/v1/users?", others),
  "Last page of events of one type": ({ others }) =>
    last("/v1/events?type=user.interaction&", Math.min(others, EVENTS)),
  "Last page of a delivery log": (world) => log(world, ""),
  "Last page of pending deliveries": (world) => log(world, "status=pending&"),
};

export const growth = (): Promise<Line[]> =>
  withServers([startReceiver("silent"), startService(MANY), startService(`${FEW} of each`)], ([silent, ...servers]) =>
    contest(
      servers,
      (server, at) => filled(server, silent.url, APPS[at] ?? 0, OTHERS[at] ?? 0),
      Object.fromEntries(Object.entries(CASES).map(([what, make]) => [`${what}: ${MANY}`, [GOAL, make] as const])),
    ),
  );

/** The receiver never answers, so that all deliveries stay and none disturbs; both come to the number of events kept. */
async function filled(server: Server, url: string, apps: number, others: number): Promise<World> {
  const ids = await create(server.port, apps);
  const passing = await create(server.port, scaled(EVENTS / 2));
  const removal = load((n) => del(`/v1/apps/${passing[n]}`), 204, { requests: passing.length });
  await run(server.port, removal);
  const { id: webhook } = await server.call("POST", "/v1/webhooks", { url, events: ["user.interaction"] });
  const visit = { user_id: "visitor", interaction_type: "click" };
  await create(server.port, others, (n) => post(`/v1/apps/${ids[n % FEW]}/interactions`, visit), 202);
  await create(server.port, others, (n) => post("/v1/users", { email: `user${n}@example.com` }));
  return { server, ids, others, webhook };
}
