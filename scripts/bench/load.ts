// Load generator: autocannon with a fixed number of connections, each sending its next request after the previous
// response.
import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import autocannon from "autocannon";
import { pool } from "../pool.ts";
import { type Side, scaled } from "./figures.ts";
import { KEY, type Server } from "./machine.ts";

export interface Load {
  /** Returns the n-th request. */
  readonly request: (n: number) => autocannon.Request;
  /** The status that every response must have. */
  readonly status: number;
  readonly requests: number;
  readonly connections: number;
}

export const load = (
  request: Load["request"],
  status = 200,
  options: Partial<Load> = {},
): Load => ({
  request,
  status,
  requests: scaled(6_000),
  connections: 16,
  ...options,
});

/** Autocannon ends with a sample, so short samples waste little time. */
const SAMPLE_MS = 20;
const TIMEOUT_S = 120;

export async function run(port: number, { request, status, requests, connections }: Load) {
  let sent = 0;
  const options = {
    url: `http://127.0.0.1:${port}`,
    connections: Math.min(connections, requests),
    amount: requests,
    timeout: TIMEOUT_S,
    sampleInt: SAMPLE_MS,
    requests: [{ setupRequest: () => request(sent++), onResponse }],
  };
  let received = 0;
  let ended: number | undefined;
  function onResponse(): void {
    received += 1;
    if (received === requests) ended = performance.now();
  }
  const began = performance.now();
  // This process never sleeps between responses, because waking a sleeper is billed to the writer. A server slower than
  // the load would pay for it with every response (15 us a request against 8 in the profiles), a faster one never.
  const awake = async () => {
    while (ended === undefined) await turn();
  };
  const [{ statusCodeStats, latency }] = await Promise.all([autocannon(options), awake()]);
  assert.deepEqual(statusCodeStats, { [status]: { count: requests } });
  return { ms: (ended ?? Number.NaN) - began, latency };
}

/** Returns a request with a JSON body. */
export const jsonRequest = (
  method: "GET" | "POST" | "PATCH" | "DELETE",
  path: string,
  value?: object,
  headers: Readonly<Record<string, string>> = {},
): autocannon.Request => ({
  method,
  path,
  headers: {
    host: "localhost",
    authorization: `Bearer ${KEY}`,
    accept: "application/json",
    ...(value && { "content-type": "application/json" }),
    ...headers,
  },
  ...(value && { body: JSON.stringify(value) }),
});

/** An app as a client would create it. */
export const draft = (n: number) => ({
  title: `Sales overview ${n}`,
  description: "Revenue by region and quarter, with last year beside it",
  theme: "light",
  public: n % 2 === 0,
});

export const creates = (options: Partial<Load> = {}): Load =>
  load((n) => jsonRequest("POST", "/v1/apps", draft(n)), 201, options);

/** Creates `count` apps and returns their ids. */
export function create({ api }: Server, count: number): Promise<string[]> {
  return pool(8, Array(count).keys(), async (n) => (await api.create("/apps", draft(n))).id);
}

/** The unit compared first: it is per request, and exact even on a noisy machine. */
export const CPU = "µs of CPU";

/** Measures a server under load; `make` runs before each measurement. */
export const loadOn = (server: Server, make: () => Load | Promise<Load>): Side => ({
  name: server.name,
  measure: async () => {
    const load = await make();
    const before = await server.ask("usage");
    const { ms, latency } = await run(server.port, load);
    const after = await server.ask("usage");
    return {
      [CPU]: (after.cpu_us - before.cpu_us) / load.requests,
      "a second": (1_000 * load.requests) / ms,
      "ms on average": latency.average,
      "ms at the 99th": latency.p99,
    };
  },
});
