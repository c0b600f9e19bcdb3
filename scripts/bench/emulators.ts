// This server against the emulators that people test with today, each asked for what is most like ours: one resource, a
// page of 20, a create. Each meets a server of ours that is given the same requests, so that both have stored as much at
// any time; the creates come last, because the others' lists cost more the more is stored.
import { compare, ROUNDS } from "./compare.ts";
import { draft, get, idIn, type Load, post, run } from "./load.ts";
import { KEY, type Program, Server, startService } from "./machine.ts";
import { installedEmulators } from "./peers.ts";
import { cpuLine, type Line } from "./table.ts";

const GOAL = "<= 0.20";
const CONNECTIONS = 16;
const REQUESTS = 1_500;
const STORED = 100;
const WARM = 2;
const STORED_MAX = STORED + (WARM + ROUNDS) * REQUESTS;

/** Two of them limit each key (to 999 requests a minute, to 4,999 an hour) and cannot be told otherwise. */
const KEYS = Array.from({ length: 200 }, (_, n) => `sk_bench_${n}`);

interface Resource {
  readonly path: string;
  readonly page: string;
  readonly draft: (n: number) => unknown;
  /** The status of a create. */
  readonly created: number;
  readonly key: (n: number) => string;
}

type Run = Omit<Load, "port">;

const key = (n: number): string => KEYS[n % KEYS.length] ?? KEY;
const own: Resource = { path: "/v1/apps", page: "limit=20", draft, created: 201, key: () => KEY };

/** The fields of an app, as far as the resource has a place for them. */
const customer = (n: number) => {
  const { title, description, theme, public: shared } = draft(n);
  return { name: title, description, metadata: { theme, public: String(shared) } };
};
const organization = (n: number) => {
  const { title, description, theme, public: shared } = draft(n);
  return { name: title, metadata: { description, theme, public: String(shared) } };
};

const cases: Readonly<Record<string, (resource: Resource, ids: readonly string[]) => Run>> = {
  "GET one resource": ({ path, key }, ids) => load((n) => get(`${path}/${ids[n % ids.length]}`, key(n))),
  "List of 20": ({ path, page, key }) => load((n) => get(`${path}?${page}`, key(n))),
  [`Create one, here with its event (up to the ${STORED_MAX}th)`]: (resource) =>
    load(creates(resource), resource.created),
};

const load = (request: (n: number) => string, status = 200): Run => ({
  requests: REQUESTS,
  connections: CONNECTIONS,
  request,
  status,
});

const creates =
  ({ path, draft, key }: Resource) =>
  (n: number): string =>
    post(path, draft(n)).replace(KEY, key(n));

export async function emulators(): Promise<Line[]> {
  if (process.env.BENCH_PEERS === "0") return [];
  const { emulate, workos, "json-server": jsonServer } = installedEmulators();
  return [
    ...(await against(emulate, { path: "/v1/customers", page: "limit=20", draft: customer, created: 200, key })),
    ...(await against(workos, { path: "/organizations", page: "limit=20", draft: organization, created: 201, key })),
    ...(await against(jsonServer, { ...own, path: "/apps", page: "_limit=20" })),
  ];
}

async function against(emulator: Program, resource: Resource): Promise<Line[]> {
  const program = { ...emulator, env: { BENCH_KEYS: KEYS.join(" ") } };
  const sides = [
    { server: await Server.start(program), resource },
    { server: await startService(), resource: own },
  ];
  try {
    const stored = new Map<Server, string[]>();
    for (const { server, resource } of sides) stored.set(server, await fill(server, resource));
    const lines: Line[] = [];
    for (const [what, load] of Object.entries(cases)) {
      const [theirs, ours] = await compare(
        sides.map(({ server, resource }) => ({
          name: server.name,
          server,
          load: load(resource, stored.get(server) ?? []),
        })),
        WARM,
      );
      if (theirs === undefined || ours === undefined) throw new Error("nothing was measured");
      lines.push(cpuLine(what, ours, theirs, GOAL));
    }
    return lines;
  } finally {
    await Promise.all(sides.map(({ server }) => server.stop()));
  }
}

/** Makes what is read later; answers the ids. */
async function fill({ port }: Server, resource: Resource): Promise<string[]> {
  const ids: string[] = [];
  const keep = (body: string) => ids.push(idIn(body));
  await run({ port, ...load(creates(resource), resource.created), requests: STORED, onBody: keep });
  return ids;
}
