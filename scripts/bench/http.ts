// Benchmarks of the REST API: CPU time per request, with every feature on, relative to a bare node:http server doing the
// same work. BENCH_BEFORE names a folder with another build of the package, which then takes the place of that server.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import autocannon, { type Request } from "autocannon";
import { held } from "../../test/support/oauth.ts";
import { pool } from "../pool.ts";
import { compare, OWN, type Row, type Side, scaled } from "./measure.ts";
import { BUILT_BIN, createFolder, KEY, program, type Server, startServer } from "./server.ts";

const STORED = 100;
const AMOUNT = scaled(2_000);
const UNIT = "µs of CPU a request";
/** The load ends with a sample, so that long samples would only add waiting. */
const SAMPLE_MS = 20;
const { BENCH_BEFORE } = process.env;

export const BASE = BENCH_BEFORE
  ? ({ name: "before", args: [join(BENCH_BEFORE, "dist/bin.js")] } as const)
  : ({ name: "bare node:http", args: [program("bare.mjs")] } as const);

const NEIGHBOURS = join(import.meta.dirname, "neighbours/node_modules");
/** The other servers that are installed. */
export const OTHERS = Object.entries({
  Fastify: [program("fastify.mjs"), join(NEIGHBOURS, "fastify/fastify.js")],
  "json-server": [program("json-server.mjs"), join(NEIGHBOURS, "json-server/lib/server/index.js")],
})
  .filter(([, [, path = ""]]) => !BENCH_BEFORE && existsSync(path))
  .map(([name, args]) => ({ name, args }));

interface Load {
  readonly request: (n: number) => Request;
  readonly status: number;
  readonly connections?: number;
}

const draft = (n: number) => ({
  title: `Sales overview ${n}`,
  description: "Revenue by region and quarter, with last year beside it",
  theme: "light",
  public: n % 2 === 0,
});
const send = (method: "GET" | "POST" | "PATCH", path: string, value?: object, key = KEY) => ({
  method,
  path,
  headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  ...(value && { body: JSON.stringify(value) }),
});

/** Sends the load and returns the seconds until the last response. */
async function run({ port }: Server, load: Load) {
  const { request, status, connections = 16 } = load;
  const startedAt = performance.now();
  let endedAt = startedAt;
  let [sent, unexpected, isRunning] = [0, 0, true];
  void stayAwake(() => isRunning);
  const result = await autocannon({
    url: `http://127.0.0.1:${port}`,
    amount: AMOUNT,
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
  if (unexpected > 0 || result.errors > 0 || result.requests.total < AMOUNT)
    throw new Error(`${unexpected} of ${AMOUNT} responses were not ${status}`);
  return (endedAt - startedAt) / 1_000;
}

/** Keeps the load from sleeping, because Linux bills the wake-up to the server's write: 7 µs of 15 in the profiles. */
async function stayAwake(isRunning: () => boolean) {
  while (isRunning()) await setImmediate();
}

/** Measures the server's CPU time per request. */
const cpuOf = (server: Server, load: Load, name = server.name): Side => ({
  name,
  measure: async () => {
    const before = await server.usage();
    await run(server, load);
    const after = await server.usage();
    return (after.cpu_us - before.cpu_us) / AMOUNT;
  },
});

const creates: Load = { request: (n) => send("POST", "/v1/apps", draft(n)), status: 201 };

type Case = readonly [what: string, goal: number, load: (pathOf: (n: number) => string) => Load];

/** The status of an invalid create; json-server validates nothing. */
const INVALID = "422";
const CASES: readonly Case[] = [
  ["GET", 1.2, (pathOf) => ({ request: (n) => send("GET", pathOf(n)), status: 200 })],
  ["List of 20", 1, () => ({ request: () => send("GET", "/v1/apps"), status: 200 })],
  ["Create", 1.8, () => creates],
  [
    "Update",
    2,
    (pathOf) => ({ request: (n) => send("PATCH", pathOf(n), { title: `T ${n}` }), status: 200 }),
  ],
  [
    INVALID,
    1.6,
    () => ({ request: (n) => send("POST", "/v1/apps", { ...draft(n), title: "" }), status: 422 }),
  ],
];

/** Creates apps; returns the path of the n-th. */
async function stock(server: Server): Promise<(n: number) => string> {
  const ids = await pool(8, Array(STORED).keys(), async (n) => {
    // json-server numbers what it stores.
    const { json } = await server.api.post("/apps", draft(n));
    return String(json.id);
  });
  return (n) => `/v1/apps/${ids[n % STORED]}`;
}

export async function* http(): AsyncGenerator<Row> {
  await using own = await startServer(OWN, [BUILT_BIN]);
  await using base = await startServer(BASE.name, BASE.args);
  const others = await pool(1, OTHERS, ({ name, args }) => startServer(name, args));
  const stocked = await pool(1, [base, own, ...others], async (server) => ({
    server,
    pathOf: await stock(server),
  }));
  for (const [what, goal, load] of CASES) {
    const [first, ...sides] = stocked
      .filter(({ server }) => what !== INVALID || server.name !== "json-server")
      .map(({ server, pathOf }) => cpuOf(server, load(pathOf)));
    if (first === undefined) continue;
    yield compare({ what, unit: UNIT, base: first, sides, goal: BENCH_BEFORE ? 1.15 : goal });
  }
  const pathOf = await stock(own);
  const { access } = (await held(own.api.at(`http://localhost:${own.port}/v1`))).tokens;
  const get = (key: string): Load => ({
    request: (n) => send("GET", pathOf(n), undefined, key),
    status: 200,
  });
  yield compare({
    what: "GET with an access token",
    unit: UNIT,
    base: cpuOf(own, get(KEY), "an API key"),
    sides: [cpuOf(own, get(access))],
    goal: 1.05,
  });
  for (const other of others) await other.stop();
}

/** Creates that are durable before they are acknowledged, against creates in memory. */
export async function* file(): AsyncGenerator<Row> {
  using folder = createFolder();
  const path = join(folder.path, "data.json");
  await using durable = await startServer(OWN, [BUILT_BIN, "--data", path]);
  await using volatile = await startServer("in memory", [BUILT_BIN]);
  const load = { ...creates, connections: 64 };
  const rateOf = (server: Server): Side => ({
    name: server.name,
    measure: async () => AMOUNT / (await run(server, load)),
  });
  yield compare({
    what: "Create with --data",
    unit: UNIT,
    base: cpuOf(volatile, load),
    sides: [cpuOf(durable, load)],
    goal: 1.45,
  });
  yield compare({
    what: "Creates a second with --data",
    unit: "a second",
    base: rateOf(volatile),
    sides: [rateOf(durable)],
    goal: 0.6,
    isMoreBetter: true,
  });
}
