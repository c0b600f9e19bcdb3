// Growth: the same work with 100 apps and with 100,000, and the other lists with 100 and with thousands. A server whose
// cost follows the amount of data would show it here a hundredfold.
import { type Line, scaled, whole } from "./figures.ts";
import { create, del, draft, get, type Load, load, post, race, run } from "./load.ts";
import { type Server, startReceiver, startService, withServers } from "./machine.ts";

const FEW = 100;
const MANY = scaled(100_000);
const MANY_OTHERS = scaled(20_000);
/** Of each kind of event so many are kept; what is over it takes the same in both. */
const EVENTS = scaled(10_000);
const GOAL = "<= 1.15";

interface World {
  readonly server: Server;
  /** Of the apps. */
  readonly ids: readonly string[];
  readonly apps: number;
  /** Users, and deliveries that wait. */
  readonly others: number;
  readonly webhook: string;
}

const some = (request: Load["request"], status?: number): Load => load(request, status, { requests: scaled(3_000) });
const last = (path: string, size: number): Load => some(() => get(`${path}offset=${Math.max(size - 20, 0)}`));
const log = ({ webhook }: World, query: string): string => `/v1/webhooks/${webhook}/deliveries?${query}`;

const CASES: Readonly<Record<string, (world: World) => Load | Promise<Load>>> = {
  "GET one app": ({ ids }) => some((n) => get(`/v1/apps/${ids[n % FEW]}`)),
  "First page of apps": () => last("/v1/apps?", 0),
  "Last page of apps": ({ apps }) => last("/v1/apps?", apps),
  "Last page of public apps": ({ apps }) => last("/v1/apps?public=true&", apps / 2),
  "Create an app": () => some((n) => post("/v1/apps", draft(n)), 201),
  "Delete an app": async ({ server }) => {
    const ids = await create(server.port, scaled(3_000));
    return some((n) => del(`/v1/apps/${ids[n]}`), 204);
  },
  "Last page of users": ({ others }) => last("/v1/users?", others),
  "Last page of events of one type": ({ others }) =>
    last("/v1/events?type=user.interaction&", Math.min(others, EVENTS)),
  "Last page of a delivery log": (world) => last(log(world, ""), world.others),
  "Last page of pending deliveries": (world) => last(log(world, "status=pending&"), world.others),
};

export const growth = (): Promise<Line[]> =>
  withServers([startReceiver("silent")], ([silent]) =>
    withServers([startService(`${whole(MANY)} apps`), startService(`${FEW} apps`)], async ([large, small]) => {
      if (silent === undefined || large === undefined || small === undefined) throw new Error("no server");
      const worlds = [await filled(large, silent, MANY, MANY_OTHERS), await filled(small, silent, FEW, FEW)];
      const lines: Line[] = [];
      for (const [what, work] of Object.entries(CASES))
        lines.push(...(await race(`${what}: ${large.name}`, worlds, work, { goals: [GOAL] })));
      return lines;
    }),
  );

/** The receiver never answers, so that all deliveries stay and none disturbs. */
async function filled(server: Server, silent: Server, apps: number, others: number): Promise<World> {
  const ids = await create(server.port, apps);
  const passing = await create(server.port, EVENTS / 2);
  await run(
    server.port,
    load((n) => del(`/v1/apps/${passing[n]}`), 204, { requests: passing.length }),
  );
  const { id: webhook } = await server.call("POST", "/v1/webhooks", { url: silent.url, events: ["user.interaction"] });
  const visit = { user_id: "visitor", interaction_type: "click" };
  await create(server.port, others, (n) => post(`/v1/apps/${ids[n % FEW]}/interactions`, visit), 202);
  await create(server.port, others, (n) => post("/v1/users", { email: `user${n}@example.com` }));
  return { server, ids, apps, others, webhook };
}
