// The REST API with everything on, against servers that do the least, as CPU time per request.
import { Client } from "../../test/support/client.ts";
import { person, register, tokensFor } from "../../test/support/oauth.ts";
import { compare, type Line, ratio, scaled } from "./figures.ts";
import { type Case, contest, create, draft, get, type Load, load, loadOn, patch, post } from "./load.ts";
import { KEY, Server, startService, withServers } from "./machine.ts";
import { bare, frameworks } from "./peers.ts";

const APPS = 100;
/** Rounds before the first that counts: what is compared is the steady state, when V8 has compiled what is used. */
const WARM = 5;

interface Filled {
  readonly server: Server;
  readonly ids: readonly string[];
  /** The first app's ETag; those that send none know `*`. */
  readonly tag: string;
}

const app = (ids: readonly string[], n: number): string => `/v1/apps/${ids[n % ids.length]}`;
const of = (request: Load["request"], status = 200): Load => load(request, status, { requests: scaled(6_000) });

/** The one with the tag goes before those that change apps. */
const CASES: Readonly<Record<string, Case<Filled>>> = {
  "GET not modified: 304": [
    "<= 1.50",
    ({ ids, tag }) => of(() => get(app(ids, 0), KEY, `If-None-Match: ${tag}\r\n`), 304),
  ],
  "GET one app": ["<= 1.20", ({ ids }) => of((n) => get(app(ids, n)))],
  "List of 20 apps": ["<= 1.00", () => of(() => get("/v1/apps"))],
  "Create an app, here with its event": ["<= 1.80", () => of((n) => post("/v1/apps", draft(n)), 201)],
  "Patch an app, here with its event": ["<= 2.00", ({ ids }) => of((n) => patch(app(ids, n), { title: `Sales ${n}` }))],
  "Create refused: 422": ["<= 1.60", () => of((n) => post("/v1/apps", { ...draft(n), title: "" }), 422)],
};

export const http = (): Promise<Line[]> =>
  withServers([startService(), ...[bare, ...frameworks()].map((program) => Server.start(program))], async (servers) => [
    ...(await cases(servers)),
    ...(await Promise.all(servers.slice(0, 1).map(withToken))),
  ]);

/** Without a `goal` each case has its own. */
export function cases(servers: readonly Server[], goal?: string): Promise<Line[]> {
  const all = Object.entries(CASES).map(([what, [usual, make]]) => [what, [goal ?? usual, make]] as const);
  return contest(servers, filled, Object.fromEntries(all), WARM);
}

async function filled(server: Server): Promise<Filled> {
  const ids = await create(server.port, APPS);
  const answer = await fetch(server.url + app(ids, 0), { headers: { authorization: `Bearer ${KEY}` } });
  return { server, ids, tag: answer.headers.get("etag") ?? "*" };
}

async function withToken(server: Server): Promise<Line> {
  const api = new Client({ baseUrl: `${server.url}/v1`, key: KEY });
  const { access } = await tokensFor(api, await person(api), await register(api));
  api.close();
  const ids = await create(server.port, APPS);
  const sides = [access, KEY].map((key) => loadOn(server, () => of((n) => get(app(ids, n), key))));
  const [token, key] = await compare(sides);
  return { ...ratio("GET one app with an access token", token, key, "µs of CPU", "<= 1.05"), against: "an API key" };
}
