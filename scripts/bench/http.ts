// Benchmarks of the REST API: CPU time per request, with every feature on, relative to a bare node:http server and
// Fastify doing the same work. `file` compares durable creates with creates in memory, `growth` 100,000 apps with 100.
// BENCH_BEFORE names a folder with another build of the package, which then takes the place of the bare server.
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import autocannon, { type Request } from "autocannon";
import { held } from "../../test/support/oauth.ts";
import { installed } from "../installed.ts";
import { pool } from "../pool.ts";
import { compare, type Side, scaled } from "./compare.ts";
import { BUILT_BIN, createFolder, KEY, program, type Server, startServer } from "./server.ts";

const STORED = 100;
const { BENCH_BEFORE } = process.env;
const BARE = [program("bare.mjs")];
const BASE_NAME = BENCH_BEFORE ? "before" : "bare node:http";
const BASE_ARGS = BENCH_BEFORE ? [join(BENCH_BEFORE, "dist/bin.js")] : BARE;
const CPU = "µs of CPU a request";
/** The load ends with a sample, so that long samples would only add waiting. */
const SAMPLE_MS = 20;

const draft = (n: number) => ({
  title: `Sales overview ${n}`,
  description: "Revenue by region and quarter, with last year beside it",
  theme: "light",
  public: n % 2 === 0,
});

interface StockedServer {
  readonly server: Server;
  readonly ids: readonly string[];
}

/** Creates apps and returns the server with their ids. */
async function stock(server: Server, count = STORED): Promise<StockedServer> {
  const create = async (n: number) => (await server.api.create("/apps", draft(n))).id;
  return { server, ids: await pool(8, Array(count).keys(), create) };
}

interface Load {
  /** Returns the n-th request. */
  readonly request: (n: number) => Request;
  readonly status?: number;
  readonly amount?: number;
  readonly connections?: number;
}

const jsonRequest = (method: "POST" | "PATCH", path: string, value: object): Request => ({
  method,
  path,
  body: JSON.stringify(value),
  headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
});
const getRequest = (path: string, headers: Record<string, string> = {}): Request => ({
  method: "GET",
  path,
  headers: { authorization: `Bearer ${KEY}`, ...headers },
});

/** Sends the load and returns the number of requests and the time of the last response. */
async function run(port: number, load: Load): Promise<{ requests: number; seconds: number }> {
  const { request, status = 200, amount = scaled(4_000), connections = 16 } = load;
  const startedAt = performance.now();
  let endedAt = startedAt;
  let sent = 0;
  let unexpected = 0;
  let isRunning = true;
  void stayAwake(() => isRunning);
  const result = await autocannon({
    url: `http://127.0.0.1:${port}`,
    amount,
    connections,
    sampleInt: SAMPLE_MS,
    requests: [
      {
        setupRequest: (defaults) => ({ ...defaults, ...request(sent++) }),
        onResponse: (received) => {
          endedAt = performance.now();
          if (received !== status) unexpected += 1;
        },
      },
    ],
  });
  isRunning = false;
  if (unexpected > 0 || result.errors > 0 || result.requests.total < amount)
    throw new Error(`${unexpected} of ${amount} responses were not ${status}`);
  return { requests: amount, seconds: (endedAt - startedAt) / 1_000 };
}

/** Keeps the load from sleeping, because Linux bills the wake-up to the server's write: 7 µs of 15 in the profiles. */
async function stayAwake(isRunning: () => boolean): Promise<void> {
  while (isRunning()) await setImmediate();
}

/** Measures the server's CPU time per request. */
const cpuOf = ({ server }: StockedServer, load: Load): Side => ({
  name: server.name,
  measure: async () => {
    const before = await server.ask("usage");
    const { requests } = await run(server.port, load);
    const after = await server.ask("usage");
    return (after.cpu_us - before.cpu_us) / requests;
  },
});

const appPath = (ids: readonly string[], n: number) => `/v1/apps/${ids[n % ids.length]}`;
const creates: Load = { request: (n) => jsonRequest("POST", "/v1/apps", draft(n)), status: 201 };

interface Case {
  readonly what: string;
  readonly goal: string;
  readonly load: (stocked: StockedServer) => Load;
}

const CASES: readonly Case[] = [
  {
    what: "GET one app",
    goal: "<= 1.20",
    load: ({ ids }) => ({ request: (n) => getRequest(appPath(ids, n)) }),
  },
  {
    what: "List 20 apps",
    goal: "<= 1.00",
    load: () => ({ request: () => getRequest("/v1/apps") }),
  },
  { what: "Create an app (here with its event)", goal: "<= 1.80", load: () => creates },
  {
    what: "Update an app (here with its event)",
    goal: "<= 2.00",
    load: ({ ids }) => ({
      request: (n) => jsonRequest("PATCH", appPath(ids, n), { title: `Sales ${n}` }),
    }),
  },
  {
    what: "Invalid create: 422",
    goal: "<= 1.60",
    load: () => ({
      request: (n) => jsonRequest("POST", "/v1/apps", { ...draft(n), title: "" }),
      status: 422,
    }),
  },
];

export async function http(): Promise<void> {
  await using ownServer = await startServer("this server", [BUILT_BIN]);
  await using baseServer = await startServer(BASE_NAME, BASE_ARGS);
  const own = await stock(ownServer);
  const base = await stock(baseServer);
  for (const { what, goal, load } of CASES)
    await compare({
      what,
      own: cpuOf(own, load(own)),
      other: cpuOf(base, load(base)),
      unit: CPU,
      goal: BENCH_BEFORE ? "<= 1.15" : goal,
    });
  await compareToken(own);
}

/** Compares a request with an access token with one with an API key. */
async function compareToken(own: StockedServer): Promise<void> {
  const api = own.server.api.at(`http://localhost:${own.server.port}/v1`);
  const { access } = (await held(api)).tokens;
  const withToken: Load = {
    request: (n) => getRequest(appPath(own.ids, n), { authorization: `Bearer ${access}` }),
  };
  const withKey: Load = { request: (n) => getRequest(appPath(own.ids, n)) };
  await compare({
    what: "GET one app with an access token",
    own: cpuOf(own, withToken),
    other: { ...cpuOf(own, withKey), name: "an API key" },
    unit: CPU,
    goal: "<= 1.05",
  });
}

/** Other servers, relative to the bare one. */
export async function neighbours(): Promise<void> {
  const fastify = join(installed("fastify@5.12.8"), "node_modules/fastify/fastify.js");
  await using fastifyServer = await startServer("Fastify", [program("fastify.mjs"), fastify]);
  await using bareServer = await startServer("bare node:http", BARE);
  const other = await stock(fastifyServer);
  const bare = await stock(bareServer);
  for (const { what, load } of CASES)
    await compare({
      what: `Fastify: ${what}`,
      own: cpuOf(other, load(other)),
      other: cpuOf(bare, load(bare)),
      unit: CPU,
    });
}

export async function file(): Promise<void> {
  using folder = createFolder();
  const path = join(folder.path, "data.json");
  await using fileServer = await startServer("with --data", [BUILT_BIN, "--data", path]);
  await using memoryServer = await startServer("the memory store", [BUILT_BIN]);
  const durable = { server: fileServer, ids: [] };
  const volatile = { server: memoryServer, ids: [] };
  const load = { ...creates, connections: 64 };
  await compare({
    what: "Create with --data, 64 connections",
    own: cpuOf(durable, load),
    other: cpuOf(volatile, load),
    unit: CPU,
    goal: "<= 1.45",
  });
  const rateOf = ({ server }: StockedServer): Side => ({
    name: server.name,
    measure: async () => {
      const { requests, seconds } = await run(server.port, load);
      return requests / seconds;
    },
  });
  await compare({
    what: "Create with --data, 64 connections",
    own: rateOf(durable),
    other: rateOf(volatile),
    unit: "requests a second",
    goal: ">= 0.60",
  });
}

const MANY = scaled(100_000);

const GROWTH_CASES: readonly Omit<Case, "goal">[] = [
  { what: "GET one app", load: ({ ids }) => ({ request: (n) => getRequest(appPath(ids, n)) }) },
  {
    what: "Last page of apps",
    load: ({ ids }) => ({
      request: () => getRequest(`/v1/apps?offset=${Math.max(ids.length - 20, 0)}`),
    }),
  },
  {
    what: "Last page of public apps",
    load: ({ ids }) => ({
      request: () => getRequest(`/v1/apps?public=true&offset=${Math.max(ids.length / 2 - 20, 0)}`),
    }),
  },
  { what: "Create an app", load: () => creates },
];

export async function growth(): Promise<void> {
  await using large = await startServer(`${MANY} apps`, [BUILT_BIN]);
  await using small = await startServer(`${STORED} apps`, [BUILT_BIN]);
  const many = await stock(large, MANY);
  const few = await stock(small);
  for (const { what, load } of GROWTH_CASES)
    await compare({
      what: `${what}, of ${MANY}`,
      own: cpuOf(many, load(many)),
      other: cpuOf(few, load(few)),
      unit: CPU,
      goal: "<= 1.15",
    });
  const { rss } = await large.ask("usage");
  console.log(`\nMemory with ${MANY} apps: ${Math.round(rss / 1e6)} MB (goal: at most 180).\n`);
}
