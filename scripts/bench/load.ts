// Load generator: a fixed number of connections, each sending its next request after the previous response. It speaks
// just enough HTTP/1.1 over bare sockets that its own cost stays far below a server's.
import { once } from "node:events";
import { connect } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { pool } from "../pool.ts";
import { median, percentile, type Side, scaled } from "./figures.ts";
import { KEY, type Server } from "./machine.ts";

export interface Load {
  /** The bytes of the n-th request. */
  readonly request: (n: number) => string;
  /** The status that every response must have. */
  readonly status: number;
  readonly requests: number;
  readonly connections: number;
}

const PATIENCE_MS = 120_000;

export const load = (request: Load["request"], status = 200, over: Partial<Load> = {}): Load => ({
  ...{ request, status, requests: scaled(6_000), connections: 16, ...over },
});

/** Returns the latencies, in milliseconds. */
export async function run(
  port: number,
  { request, status, requests, connections }: Load,
): Promise<number[]> {
  const latencies: number[] = [];
  let [sent, open] = [0, connections];
  const connection = async () => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error("no answer came")));
    try {
      await once(socket, "connect");
      const chunks: AsyncIterator<Buffer> = socket[Symbol.asyncIterator]();
      while (sent < requests) {
        const bytes = request(sent++);
        const since = performance.now();
        socket.write(bytes);
        let { value: received } = await chunks.next();
        while (statusIn(received) === undefined)
          received = Buffer.concat([received, (await chunks.next()).value]);
        if (statusIn(received) !== status) throw new Error(received.toString());
        latencies.push(performance.now() - since);
      }
    } finally {
      open -= 1;
      socket.destroy();
    }
  };
  // This process never sleeps between responses, because waking a sleeper is billed to the writer. A server slower than
  // the load would pay for it with every response (15 us a request against 8 in the profiles), a faster one never.
  const awake = async () => {
    while (open > 0) await turn();
  };
  await Promise.all([...Array.from({ length: connections }, connection), awake()]);
  return latencies;
}

/** The status of a complete response. */
function statusIn(bytes: Buffer): number | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const head = bytes.toString("latin1", 0, end);
  const status = Number(head.slice(9, 12));
  const length =
    status === 204 || status === 304 ? 0 : Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
  return bytes.length < end + 4 + length ? undefined : status;
}

/** The bytes of a request with a JSON body. */
export function asking(
  method: string,
  path: string,
  value?: object,
  headers: Readonly<Record<string, string>> = {},
) {
  const body = value === undefined ? "" : JSON.stringify(value);
  const sent = value && {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
  };
  const all = {
    Host: "localhost",
    Authorization: `Bearer ${KEY}`,
    Accept: "application/json",
    ...sent,
    ...headers,
  };
  const lines = Object.entries(all).map(([name, given]) => `${name}: ${given}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

/** An app as a client would create it. */
export const draft = (n: number) => ({
  title: `Sales overview ${n}`,
  description: "Revenue by region and quarter, with last year beside it",
  theme: "light",
  public: n % 2 === 0,
});

export const creates = (over: Partial<Load> = {}): Load =>
  load((n) => asking("POST", "/v1/apps", draft(n)), 201, over);

/** Creates `count` apps and returns their ids. */
export function create({ api }: Server, count: number): Promise<string[]> {
  return pool(8, Array(count).keys(), async (n) => (await api.create("/apps", draft(n))).id);
}

/** The unit compared first: it is per request, and exact even on a noisy machine. */
export const CPU = "µs of CPU";

/** Spreads the same load over all servers; `make` runs before each measurement. */
export const loadOn = (servers: readonly Server[], make: () => Load | Promise<Load>): Side => ({
  name: servers[0]?.name ?? "",
  measure: async () => {
    const given = await make();
    const share = (count: number) => Math.ceil(count / servers.length);
    const part = {
      ...given,
      requests: share(given.requests),
      connections: share(given.connections),
    };
    const used_us = async () => {
      const all = await Promise.all(servers.map((server) => server.ask("usage")));
      return all.reduce((sum, { cpu_us }) => sum + cpu_us, 0);
    };
    const before_us = await used_us();
    const began = performance.now();
    const latencies = (await Promise.all(servers.map(({ port }) => run(port, part)))).flat();
    const ms = performance.now() - began;
    return {
      [CPU]: ((await used_us()) - before_us) / latencies.length,
      "a second": (1_000 * latencies.length) / ms,
      "ms at the median": median(latencies),
      "ms at the 99th": percentile(latencies, 0.99),
    };
  },
});
