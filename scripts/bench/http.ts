// The REST API with everything on, against servers that do the least, as CPU time per request.
import { Client } from "../../test/support/client.ts";
import { person, register, tokensFor } from "../../test/support/oauth.ts";
import { compare, type Line, ratio } from "./figures.ts";
import { type Case, contest, create, draft, get, load, loadOn, patch, post } from "./load.ts";
import { KEY, type Server, startServer, startService, withServers } from "./machine.ts";
import { bare, frameworks } from "./peers.ts";

/** How many are there before a measurement; those are read, listed and changed. */
const STORED = 100;
/** Rounds before the first that counts: what is compared is the steady state, when V8 has compiled what is used. */
const WARM = 5;

/** Apps, or what is most like them elsewhere. */
export interface Resource {
  readonly path: string;
  /** The query of a page of 20. */
  readonly page: string;
  readonly draft: (n: number) => object;
  /** The status of a create. */
  readonly created: number;
  readonly key: (n: number) => string;
}

interface Filled extends Resource {
  readonly server: Server;
  /** The path of the n-th. */
  readonly nth: (n: number) => string;
  /** The first one's ETag; those that send none know `*`. */
  readonly tag: string;
}

export const apps: Resource = { path: "/v1/apps", page: "", draft, created: 201, key: () => KEY };

export const COMMON: Readonly<Record<string, Case<Filled>>> = {
  "GET one": ["<= 1.20", ({ nth, key }) => load((n) => get(nth(n), key(n)))],
  "List of 20": ["<= 1.00", ({ path, page, key }) => load((n) => get(path + page, key(n)))],
  "Create one, here with its event": ["<= 1.80", (resource) => load(making(resource), resource.created)],
};

/** The one with the tag goes before those that change apps. */
const CASES: typeof COMMON = {
  "GET not modified: 304": [
    "<= 1.50",
    ({ nth, tag }) => load(() => get(nth(0), KEY, `If-None-Match: ${tag}\r\n\r\n`), 304),
  ],
  ...COMMON,
  "Patch one, here with its event": ["<= 2.00", ({ nth }) => load((n) => patch(nth(n), { title: `Sales ${n}` }))],
  "Create refused: 422": ["<= 1.60", () => load((n) => post("/v1/apps", { ...draft(n), title: "" }), 422)],
};

const making =
  ({ path, draft, key }: Resource) =>
  (n: number): string =>
    post(path, draft(n), key(n));

export const http = (): Promise<Line[]> =>
  withServers([startService(), ...[bare, ...frameworks()].map((program) => startServer(program))], async (servers) => [
    ...(await cases(servers)),
    ...(await Promise.all(servers.slice(0, 1).map(withToken))),
  ]);

/** Without a `goal` each case has its own. */
export function cases(servers: readonly Server[], goal?: string): Promise<Line[]> {
  const all = Object.entries(CASES).map(([what, [usual, make]]) => [what, [goal ?? usual, make]] as const);
  return contest(servers, (server) => filled(server), Object.fromEntries(all), WARM);
}

export async function filled(server: Server, resource = apps): Promise<Filled> {
  const ids = await create(server.port, STORED, making(resource), resource.created);
  const nth = (n: number) => `${resource.path}/${ids[n % STORED]}`;
  const answer = await fetch(server.url + nth(0), { headers: { authorization: `Bearer ${resource.key(0)}` } });
  return { ...resource, server, nth, tag: answer.headers.get("etag") ?? "*" };
}

async function withToken(server: Server): Promise<Line> {
  const api = new Client({ baseUrl: `http://localhost:${server.port}/v1`, key: KEY });
  const { access } = await tokensFor(api, await person(api), await register(api));
  api.close();
  const { nth } = await filled(server);
  const [token, key] = await compare([access, KEY].map((key) => loadOn(server, () => load((n) => get(nth(n), key)))));
  return { ...ratio("GET one with an access token", token, key, "µs of CPU", "<= 1.05"), against: "an API key" };
}
