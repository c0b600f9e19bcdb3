// The REST API with everything on, against servers that do the least (issue figures: CPU per request).
import { fileURLToPath } from "node:url";
import { compare, type Result, type Side } from "./compare.ts";
import { createApps, draft, get, type Load, post } from "./load.ts";
import { ours, Server, startService } from "./machine.ts";
import { bare, installedPeers } from "./peers.ts";
import { cpuLine, type Line } from "./table.ts";

const CONNECTIONS = 16;
const REQUESTS = 6_000;
const APPS = 100;
/** Runs before the first that counts: what is compared is the steady state, when V8 has compiled what is used. */
const WARM_UP = 5;

interface Case {
  readonly what: string;
  readonly goal: string;
  readonly load: (ids: readonly string[]) => Omit<Load, "port">;
}

const cases: readonly Case[] = [
  {
    what: "GET one app",
    goal: "<= 1.20",
    load: (ids) => load((n) => get(`/v1/apps/${ids[n % ids.length]}`)),
  },
  { what: "List of 20 apps", goal: "<= 0.80", load: () => load(() => get("/v1/apps")) },
  {
    what: "Create an app, here with its event",
    goal: "<= 1.35",
    load: () => load((n) => post("/v1/apps", draft(n)), 201),
  },
];

const load = (request: (n: number) => string, status = 200): Omit<Load, "port"> => ({
  requests: REQUESTS,
  connections: CONNECTIONS,
  request,
  status,
});

export async function http(): Promise<Line[]> {
  const peers = process.env.BENCH_PEERS === "0" ? [] : installedPeers();
  const servers = [await startService(), await Server.start(bare)];
  for (const peer of peers) servers.push(await Server.start(peer));
  try {
    const ids = new Map<Server, string[]>();
    for (const server of servers) ids.set(server, await createApps(server.port, APPS));
    const lines: Line[] = [];
    for (const { what, goal, load } of cases) {
      const sides = servers.map((server): Side => ({ name: server.name, server, load: load(ids.get(server) ?? []) }));
      lines.push(...against(what, goal, await compare(sides, WARM_UP)));
    }
    return [...lines, await withToken()];
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

/** The same server with an access token and with a key. */
async function withToken(): Promise<Line> {
  const [module = "", ...loader] = ours("index").toReversed();
  const embedded = fileURLToPath(new URL("servers/embedded.mjs", import.meta.url));
  const server = await Server.start({ name: "an API key", args: [...loader.toReversed(), embedded, module] });
  try {
    const ids = await createApps(server.port, APPS);
    const token = await server.token();
    const [key, jwt] = await compare([
      { name: "an API key", server, load: load((n) => get(`/v1/apps/${ids[n % APPS]}`)) },
      { name: "a token", server, load: load((n) => get(`/v1/apps/${ids[n % APPS]}`, token)) },
    ]);
    if (key === undefined || jwt === undefined) throw new Error("nothing was measured");
    return cpuLine("GET one app with an access token (ES256)", jwt, key, "<= 1.05");
  } finally {
    await server.stop();
  }
}

/** This server is the first side; a line for bare, Fastify and Express each, with the ratio turned round. */
function against(what: string, goal: string, [own, ...others]: readonly Result[]): Line[] {
  if (own === undefined) return [];
  return others.map((other, at) => cpuLine(what, inverted(own, other), other, [goal, "<= 1.00", "<= 0.20"][at] ?? ""));
}

const inverted = (own: Result, other: Result): Result => ({
  ...own,
  cpu: inverse(other.cpu),
  throughput: inverse(other.throughput),
  p99: inverse(other.p99),
});

const inverse = ({ median, min, max }: Result["cpu"]): Result["cpu"] => ({
  median: 1 / median,
  min: 1 / max,
  max: 1 / min,
});
