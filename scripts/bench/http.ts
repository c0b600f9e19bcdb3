// The REST API with everything on, against servers that do the least, as CPU time per request.
import { Client } from "../../test/support/client.ts";
import { person, register, tokensFor } from "../../test/support/oauth.ts";
import { compare, type Line, ratio, scaled } from "./figures.ts";
import { create, draft, get, type Load, load, loadOn, patch, post, race } from "./load.ts";
import { KEY, Server, startService, withServers } from "./machine.ts";
import { bare, frameworks } from "./peers.ts";

const APPS = 100;
/** Rounds before the first that counts: what is compared is the steady state, when V8 has compiled what is used. */
const WARM = 5;

interface Contestant {
  readonly server: Server;
  readonly ids: readonly string[];
  /** The first app's ETag; those that send none know `*`. */
  readonly tag: string;
}

type Case = readonly [what: string, goal: string, status: number, request: (n: number, of: Contestant) => string];

/** The one with the tag goes before those that change apps. */
const CASES: readonly Case[] = [
  ["GET not modified: 304", "<= 1.50", 304, (_, { ids, tag }) => get(app(ids, 0), KEY, `If-None-Match: ${tag}\r\n`)],
  ["GET one app", "<= 1.20", 200, (n, { ids }) => get(app(ids, n))],
  ["List of 20 apps", "<= 1.00", 200, () => get("/v1/apps")],
  ["Create an app, here with its event", "<= 1.80", 201, (n) => post("/v1/apps", draft(n))],
  ["Patch an app, here with its event", "<= 2.00", 200, (n, { ids }) => patch(app(ids, n), { title: `Sales ${n}` })],
  ["Create refused: 422", "<= 1.60", 422, (n) => post("/v1/apps", { ...draft(n), title: "" })],
];

const app = (ids: readonly string[], n: number): string => `/v1/apps/${ids[n % ids.length]}`;
const of = (request: Load["request"], status = 200): Load => load(request, status, { requests: scaled(6_000) });

export async function http(): Promise<Line[]> {
  const starting = [startService(), ...[bare, ...frameworks()].map((program) => Server.start(program))];
  return withServers(starting, async (servers) => [...(await cases(servers)), await withToken(servers)]);
}

/** The first server against each of the others; without a `goal` each case has its own, against the second. */
export async function cases(servers: readonly Server[], goal?: string): Promise<Line[]> {
  const contestants = await Promise.all(servers.map(contestant));
  const lines: Line[] = [];
  for (const [what, usual, status, request] of CASES) {
    const options = { goals: [goal ?? usual], warm: WARM };
    lines.push(...(await race(what, contestants, (one) => of((n) => request(n, one), status), options)));
  }
  return lines;
}

async function contestant(server: Server): Promise<Contestant> {
  const ids = await create(server.port, APPS);
  const answer = await fetch(server.url + app(ids, 0), { headers: { authorization: `Bearer ${KEY}` } });
  return { server, ids, tag: answer.headers.get("etag") ?? "*" };
}

async function withToken([server]: readonly Server[]): Promise<Line> {
  if (server === undefined) throw new Error("no server");
  const api = new Client({ baseUrl: `${server.url}/v1`, key: KEY });
  const { access } = await tokensFor(api, await person(api), await register(api));
  api.close();
  const ids = await create(server.port, APPS);
  const side = (key: string) => loadOn(server, () => of((n) => get(app(ids, n), key)));
  const [token, key] = await compare([side(access), side(KEY)]);
  return { ...ratio("GET one app with an access token", token, key, "µs of CPU", "<= 1.05"), against: "an API key" };
}
