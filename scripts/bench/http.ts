// REST API benchmark: CPU time per request with every feature on, compared with a minimal server. With --data, it
// compares durable creates with creates in memory. It also compares 100 apps with 100,000, where a cost that grows with
// the data would show. BENCH_BEFORE names a folder with another version from `npm run build`. Then `http` and `file`
// compare with that version to show the effect of a change.
import { join } from "node:path";
import { held } from "../../test/support/oauth.ts";
import { compare, report, scaled, whole } from "./figures.ts";
import { CPU, create, creates, draft, jsonRequest, type Load, load, loadOn, run } from "./load.ts";
import { BARE, built, KEY, newFolder, type Server, startServer } from "./machine.ts";

/** The number of apps created before a measurement, for reads, lists and updates. */
const STORED = 100;
const { BENCH_BEFORE } = process.env;
const BEFORE = BENCH_BEFORE
  ? (["before", [join(BENCH_BEFORE, "dist/bin.js")]] as const)
  : undefined;

/** Creates the apps and returns the server with their ids. */
const stocked = async (server: Server, count = STORED) => ({
  server,
  ids: await create(server, count),
});
type Stocked = Awaited<ReturnType<typeof stocked>>;
const nth = (ids: readonly string[], n = 0): string => `/v1/apps/${ids[n % STORED]}`;

/** The cases by name: the goal, and a factory for the load of each measurement. */
type Cases = Readonly<
  Record<string, readonly [goal: string, make: (on: Stocked) => Load | Promise<Load>]>
>;

/** The case with the ETag precedes those that change apps; for a server without ETags it sends `*`. */
const CASES: Cases = {
  "GET not modified: 304": [
    "<= 1.50",
    async ({ server, ids }) => {
      const { etag = "*" } = (await server.api.root.get(nth(ids))).headers;
      return load(() => jsonRequest("GET", nth(ids), undefined, { "If-None-Match": etag }), 304);
    },
  ],
  "GET one": ["<= 1.20", ({ ids }) => load((n) => jsonRequest("GET", nth(ids, n)))],
  "List of 20": ["<= 1.00", () => load(() => jsonRequest("GET", "/v1/apps"))],
  "Create one, here with its event": ["<= 1.80", () => creates()],
  "Patch one, here with its event": [
    "<= 2.00",
    ({ ids }) => load((n) => jsonRequest("PATCH", nth(ids, n), { title: `Sales ${n}` })),
  ],
  "Create refused: 422": [
    "<= 1.60",
    () => load((n) => jsonRequest("POST", "/v1/apps", { ...draft(n), title: "" }), 422),
  ],
};

/** Reports the CPU time per request of the first server relative to the other; `held` overrides the goals. */
async function contest(own: Stocked, base: Stocked, cases: Cases, held?: string): Promise<void> {
  for (const [what, [goal, make]] of Object.entries(cases)) {
    const on = (stocked: Stocked) => loadOn(stocked.server, () => make(stocked));
    await compare(what, [on(own), on(base)], { [CPU]: held ?? goal });
  }
}

export async function http(): Promise<void> {
  await using own = await startServer("this server", [built("bin")]);
  const [name, program] = BEFORE ?? BARE;
  await using base = await startServer(name, program);
  const stock = await stocked(own);
  await contest(stock, await stocked(base), CASES, BEFORE && "<= 1.10");
  await withToken(stock);
}

async function withToken({ server, ids }: Stocked): Promise<void> {
  const api = server.api.at(`http://localhost:${server.port}/v1`);
  const { access } = (await held(api)).tokens;
  const reading = (key: string) => {
    const headers = { Authorization: `Bearer ${key}` };
    return loadOn(server, () => load((n) => jsonRequest("GET", nth(ids, n), undefined, headers)));
  };
  const sides = [reading(access), { ...reading(KEY), name: "an API key" }] as const;
  await compare("GET one with an access token", sides, { [CPU]: "<= 1.05" });
}

export async function file(): Promise<void> {
  using folder = newFolder();
  const [name, program] = BEFORE ?? (["the memory store", [built("bin")]] as const);
  const data = (at: string) => ["--data", join(folder.path, `${at}.json`)];
  await using own = await startServer("data", [built("bin"), ...data("own")]);
  await using base = await startServer(name, [...program, ...(BEFORE ? data("before") : [])]);
  const creating = (server: Server) => loadOn(server, () => creates({ connections: 64 }));
  const goals = BEFORE ? { [CPU]: "<= 1.10" } : { [CPU]: "<= 1.45", "a second": ">= 0.60" };
  await compare("Create with --data, 64 connections", [creating(own), creating(base)], goals);
}

const MANY = scaled(100_000);
const SIZE = `${whole(MANY)} apps`;
/** Retention limit for events. */
const EVENTS = 10_000;

const last = (query: string, size: number) =>
  load(() => jsonRequest("GET", `/v1/apps?${query}offset=${Math.max(size - 20, 0)}`));
const removal = (ids: readonly string[]) =>
  load((n) => jsonRequest("DELETE", `/v1/apps/${ids[n]}`), 204, { requests: ids.length });

const GROWING: Cases = {
  [`GET one app: ${SIZE}`]: ["<= 1.15", ({ ids }) => load((n) => jsonRequest("GET", nth(ids, n)))],
  [`First page of apps: ${SIZE}`]: ["<= 1.15", () => last("", 0)],
  [`Last page of apps: ${SIZE}`]: ["<= 1.15", ({ ids }) => last("", ids.length)],
  [`Last page of public apps: ${SIZE}`]: [
    "<= 1.15",
    ({ ids }) => last("public=true&", ids.length / 2),
  ],
  [`Create an app: ${SIZE}`]: ["<= 1.15", () => creates()],
  [`Delete an app: ${SIZE}`]: [
    "<= 1.15",
    async ({ server }) => removal(await create(server, scaled(6_000))),
  ],
};

export async function growth(): Promise<void> {
  await using many = await startServer(SIZE, [built("bin")]);
  await using few = await startServer(`${STORED} apps`, [built("bin")]);
  const sides = [await stocked(many, MANY), await stocked(few)] as const;
  const [{ rss }, { heap }] = [await many.ask("usage"), await many.ask("heap")];
  const [values, beside] = [[rss / 1e6], `${whole(heap / 1e6)} MB are in use`];
  report({ what: `Memory with ${SIZE}`, figure: "MB RSS", values, goal: "<= 180", beside });
  // Both servers reach the retention limit.
  for (const each of [many, few])
    await run(each.port, removal(await create(each, scaled(EVENTS / 2))));
  await contest(...sides, GROWING);
}
