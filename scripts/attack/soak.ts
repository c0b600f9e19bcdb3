// Soak test: a mixed load on a server in its own process. Retained events reach their limit before the first
// measurement, so that memory use after garbage collection must not grow afterwards, however fast the machine is.
import { setTimeout as pause } from "node:timers/promises";
import autocannon from "autocannon";
import { RATE_WINDOW_S } from "../../src/http/access.ts";
import { KEY, SOURCES, startServer } from "../bench/server.ts";
import type { Finding } from "../findings.ts";

/** More events than are retained. */
const WARM_REQUESTS = 100_000;
const GROWTH_MAX = 1.03;
const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };

/** The life of an app, and requests that fail. */
const REQUESTS: autocannon.Request[] = [
  {
    method: "POST",
    path: "/v1/apps",
    headers,
    body: '{"title":"Soak","public":true}',
    onResponse: (_status, body, context) => Object.assign(context, JSON.parse(body)),
  },
  ...[
    ["PATCH", "", '{"description":"changed"}'],
    ["POST", "/deploy", '{"name":"Release"}'],
    ["POST", "/interactions", '{"user_id":"visitor","interaction_type":"click"}'],
    ["GET", "?colour=red", ""],
    ["DELETE", "", ""],
    ["GET", "", ""],
  ].map(([method = "", end = "", body]) => ({
    setupRequest: (request: autocannon.Request, context: object) => ({
      ...request,
      method: method as "GET",
      path: `/v1/apps/${Object(context).id}${end}`,
      headers,
      ...(body && { body }),
    }),
  })),
  { method: "GET", path: "/v1/apps?limit=100", headers },
  { method: "POST", path: "/v1/apps", headers, body: '{"title":""}' },
  { method: "GET", path: "/v1/apps" },
];

export async function soak(minutes: number): Promise<Finding> {
  await using server = await startServer("soak", SOURCES);
  let sent = 0;
  const wrong: string[] = [];
  const heapAfter = async (load: { amount: number } | { duration: number }): Promise<number> => {
    const url = `http://127.0.0.1:${server.port}`;
    const result = await autocannon({ url, connections: 4, requests: REQUESTS, ...load });
    sent += result.requests.total;
    if (result.errors + result["5xx"] > 0) wrong.push(`${result["5xx"]} responses were 5xx`);
    await pause(RATE_WINDOW_S * 1_000);
    // The next request clears expired entries.
    await server.api.get("/account");
    return (await server.ask("heap")).heap;
  };
  const first = await heapAfter({ amount: WARM_REQUESTS });
  const last = await heapAfter({ duration: minutes * 60 });
  const [was, is] = [first, last].map((bytes) => `${(bytes / 1e6).toFixed(1)} MB`);
  if (last > first * GROWTH_MAX) wrong.push(`the heap grew from ${was} to ${is}`);
  const tried = `${minutes} minutes, ${sent} requests; heap ${was} after the first, then ${is}`;
  return { what: "Mixed load", tried, wrong };
}
