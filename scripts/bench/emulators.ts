// This server against the emulators that people test with today, each asked for what is most like ours: one resource, a
// page of 20, a create. Each meets a server of ours that is given the same requests, so that both have stored as much at
// any time; the creates come last, because the others' lists cost more the more is stored.
import { type Line, scaled } from "./figures.ts";
import { type Case, contest, create, draft, get, type Load, load, post } from "./load.ts";
import { KEY, Server, startService, withServers } from "./machine.ts";
import { emulators as installed } from "./peers.ts";

const STORED = 100;

/** Two of them limit each key (to 999 requests a minute, to 4,999 an hour) and cannot be told otherwise. */
const KEYS = Array.from({ length: 200 }, (_, n) => `sk_bench_${n}`);

interface Resource {
  readonly path: string;
  readonly page: string;
  readonly draft: (n: number) => object;
  /** The status of a create. */
  readonly created: number;
  readonly key: (n: number) => string;
}

interface Filled extends Resource {
  readonly server: Server;
  readonly ids: readonly string[];
}

const own: Resource = { path: "/v1/apps", page: "limit=20", draft, created: 201, key: () => KEY };
const key = (n: number): string => KEYS[n % KEYS.length] ?? KEY;

/** The fields of an app, as far as the resource has a place for them. */
const customer = (n: number) => {
  const { title, description, theme, public: shared } = draft(n);
  return { name: title, description, metadata: { theme, public: String(shared) } };
};
const organization = (n: number) => {
  const { name, description, metadata } = customer(n);
  return { name, metadata: { description, ...metadata } };
};

/** In the order of peers.ts. */
const RESOURCES: readonly Resource[] = [
  { path: "/v1/customers", page: "limit=20", draft: customer, created: 200, key },
  { path: "/organizations", page: "limit=20", draft: organization, created: 201, key },
  { ...own, path: "/apps", page: "_limit=20" },
];

const some = (request: Load["request"], status?: number): Load => load(request, status, { requests: scaled(1_500) });
const making =
  ({ path, draft, key }: Resource) =>
  (n: number): string =>
    post(path, draft(n), key(n));

const CASES: Readonly<Record<string, Case<Filled>>> = {
  "GET one resource": ["", ({ path, key, ids }) => some((n) => get(`${path}/${ids[n % STORED]}`, key(n)))],
  "List of 20": ["", ({ path, page, key }) => some((n) => get(`${path}?${page}`, key(n)))],
  "Create one, here with its event": ["", (resource) => some(making(resource), resource.created)],
};

export async function emulators(): Promise<Line[]> {
  const lines: Line[] = [];
  for (const [nth, program] of installed().entries()) {
    const filled = async (server: Server, at: number): Promise<Filled> => {
      const resource = (at === 1 && RESOURCES[nth]) || own;
      return { server, ...resource, ids: await create(server.port, STORED, making(resource), resource.created) };
    };
    const theirs = Server.start({ ...program, env: { BENCH_KEYS: KEYS.join(" ") } });
    lines.push(...(await withServers([startService(), theirs], (servers) => contest(servers, filled, CASES))));
  }
  return lines;
}
