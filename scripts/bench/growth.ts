// Growth: the same work with 100 apps and with 100,000, and the other lists with 100 and with thousands. A server whose
// cost follows the amount of data would show it here a hundredfold.
import { createServer } from "node:net";
import { compare, type Side } from "./compare.ts";
import { createApps, del, draft, get, idIn, type Load, post, run } from "./load.ts";
import { type Server, startService } from "./machine.ts";
import { cpuLine, type Line } from "./table.ts";

const FEW = 100;
const MANY = 100_000;
const MANY_OTHERS = 20_000;
const GOAL = "<= 1.15";
const REQUESTS = 3_000;
const CONNECTIONS = 16;

type Run = Omit<Load, "port">;
const load = (request: (n: number) => string, status = 200): Run => ({
  requests: REQUESTS,
  connections: CONNECTIONS,
  request,
  status,
});
const pageAt = (path: string, offset: number) => load(() => get(`${path}offset=${Math.max(offset, 0)}`));

export async function growth(): Promise<Line[]> {
  return [...(await apps()), ...(await others())];
}

/** Both servers are at the number of events that is kept, so that only the apps differ. */
async function apps(): Promise<Line[]> {
  const servers = [await startService([], "100 apps"), await startService([], "100,000 apps")] as const;
  const [small, large] = servers;
  try {
    const ids = [await createApps(small.port, FEW), await createApps(large.port, MANY)] as const;
    await removeAll(small.port, await createApps(small.port, 5_200));
    const lines: Line[] = [];
    const both = async (what: string, work: (at: 0 | 1) => Omit<Side, "name" | "server">) =>
      lines.push(await line(what, servers, work));
    await both("GET one app", (at) => ({ load: load((n) => get(`/v1/apps/${ids[at][n % FEW]}`)) }));
    const size = [FEW, MANY];
    await both("First page of apps", () => ({ load: pageAt("/v1/apps?", 0) }));
    await both("Last page of apps", (at) => ({ load: pageAt("/v1/apps?", (size[at] ?? 0) - 20) }));
    await both("Last page of public apps", (at) => ({
      load: pageAt("/v1/apps?public=true&", (size[at] ?? 0) / 2 - 20),
    }));
    await both("Create an app", () => ({ load: load((n) => post("/v1/apps", draft(n)), 201) }));
    await both("Delete an app", (at) => deletes(servers[at]));
    return lines;
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

function deletes(server: Server): Omit<Side, "name" | "server"> {
  let ids: string[] = [];
  return {
    load: load((n) => del(`/v1/apps/${ids[n]}`), 204),
    prepare: async () => {
      ids = await createApps(server.port, REQUESTS);
    },
  };
}

const removeAll = (port: number, ids: readonly string[]) =>
  run({
    port,
    requests: ids.length,
    connections: CONNECTIONS,
    status: 204,
    request: (n) => del(`/v1/apps/${ids[n]}`),
  });

/** Users, events and the delivery log. The receiver never answers, so that all deliveries stay and none disturbs. */
async function others(): Promise<Line[]> {
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  const servers = [await startService([], "100 of them"), await startService([], "20,000 of them")] as const;
  try {
    const webhooks = [await fill(servers[0], silent, FEW), await fill(servers[1], silent, MANY_OTHERS)];
    const size = [FEW, MANY_OTHERS];
    const lines: Line[] = [];
    const both = async (what: string, path: (at: 0 | 1) => string, kept = MANY_OTHERS) =>
      lines.push(await line(what, servers, (at) => ({ load: pageAt(path(at), Math.min(size[at] ?? 0, kept) - 20) })));
    await both("Last page of users", () => "/v1/users?");
    await both("Last page of events of one type", () => "/v1/events?type=app.created&", 10_000);
    await both("Last page of a delivery log", (at) => `/v1/webhooks/${webhooks[at]}/deliveries?`);
    await both("Last page of pending deliveries", (at) => `/v1/webhooks/${webhooks[at]}/deliveries?status=pending&`);
    return lines;
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    silent.close();
  }
}

/** Makes a webhook, and `count` users and apps, so that there are as many events and deliveries; answers the webhook. */
async function fill({ port }: Server, silent: ReturnType<typeof createServer>, count: number): Promise<string> {
  const address = silent.address();
  const receiver = typeof address === "object" && address !== null ? address.port : 0;
  const webhook = { url: `http://127.0.0.1:${receiver}/`, events: ["app.created"] };
  let id = "";
  const keep = (body: string) => {
    id = idIn(body);
  };
  const common = { port, status: 201, connections: CONNECTIONS };
  await run({ ...common, requests: 1, connections: 1, request: () => post("/v1/webhooks", webhook), onBody: keep });
  await run({ ...common, requests: count, request: (n) => post("/v1/users", { email: `user${n}@example.com` }) });
  await run({ ...common, requests: count, request: (n) => post("/v1/apps", draft(n)) });
  return id;
}

async function line(
  what: string,
  [small, large]: readonly [Server, Server],
  work: (at: 0 | 1) => Omit<Side, "name" | "server">,
): Promise<Line> {
  const [few, many] = await compare([
    { name: small.name, server: small, ...work(0) },
    { name: large.name, server: large, ...work(1) },
  ]);
  if (few === undefined || many === undefined) throw new Error("nothing was measured");
  return cpuLine(`${what}: ${large.name}`, many, few, GOAL);
}
