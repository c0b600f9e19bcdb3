// The load: requests over a fixed number of connections, each sending its next when the answer has come, or, at a rate,
// each timed from the moment it is due. It speaks just enough HTTP/1.1 over bare sockets that its own cost stays far
// below a server's.
import { connect } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { compare, type Line, median, percentile, ratio, type Side } from "./figures.ts";
import { KEY, type Server } from "./machine.ts";

export interface Load {
  /** The bytes of the n-th request. */
  readonly request: (n: number) => string;
  /** The status that every answer must have. */
  readonly status: number;
  readonly requests: number;
  readonly connections: number;
  readonly perSecond?: number;
  /** Ends the load before all requests are sent. */
  readonly isOver?: () => boolean;
  readonly onBody?: (body: string) => void;
}

export interface Measured {
  readonly seconds: number;
  /** Milliseconds from the sending, or from when it was due. */
  readonly latencies: readonly number[];
}

const PATIENCE_MS = 120_000;
const NOTHING = Buffer.alloc(0);

export const load = (request: Load["request"], status = 200, over: Partial<Load> = {}): Load => ({
  ...{ request, status, requests: 6_000, connections: 16, ...over },
});

export async function run(port: number, given: Load): Promise<Measured> {
  const latencies: number[] = [];
  const began = performance.now();
  const awake = setImmediate(stayAwake);
  let going = true;
  /**
   * This process never sleeps between answers. Waking a sleeper is billed to the one that writes: a server that is slower
   * than the load would pay for it with every answer (15 us a request against 8 in the profiles), a faster one never.
   */
  function stayAwake() {
    if (going) setImmediate(stayAwake);
  }
  let sent = 0;
  const next = () => (sent < given.requests && !given.isOver?.() ? sent++ : undefined);
  try {
    await Promise.all(Array.from({ length: given.connections }, () => connection(port, given, began, next, latencies)));
  } finally {
    going = false;
    clearImmediate(awake);
  }
  return { seconds: (performance.now() - began) / 1_000, latencies };
}

function connection(
  port: number,
  { request, status, perSecond, onBody }: Load,
  began: number,
  next: () => number | undefined,
  latencies: number[],
): Promise<void> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let received: Buffer = NOTHING;
  let since = 0;
  const send = async () => {
    const n = next();
    if (n === undefined) return void socket.end();
    since = perSecond === undefined ? performance.now() : began + (n * 1_000) / perSecond;
    while (performance.now() < since) await turn();
    socket.write(request(n));
  };
  const read = (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const answer = answerIn(received);
    if (answer === undefined) return;
    if (answer.status !== status) return void socket.destroy(new Error(received.toString()));
    latencies.push(performance.now() - since);
    onBody?.(received.toString("utf8", answer.from));
    received = NOTHING;
    void send();
  };
  return new Promise((resolve, reject) => {
    socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error("no answer came")));
    socket.on("connect", send).on("data", read).on("error", reject).on("close", resolve);
  });
}

function answerIn(bytes: Buffer): { readonly status: number; readonly from: number } | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const head = bytes.toString("latin1", 0, end);
  const status = Number(head.slice(9, 12));
  const length = status === 204 || status === 304 ? 0 : Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
  return bytes.length < end + 4 + length ? undefined : { status, from: end + 4 };
}

const asked = (method: string) => (path: string, key: string, more: string) =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nAccept: application/json\r\n${more}\r\n`;
const sent =
  (method: string) =>
  (path: string, value: unknown, key = KEY) => {
    const body = JSON.stringify(value);
    const about = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
    return asked(method)(path, key, about) + body;
  };
/** `more`: header lines. */
export const get = (path: string, key = KEY, more = ""): string => asked("GET")(path, key, more);
export const del = (path: string): string => asked("DELETE")(path, KEY, "");
export const post = sent("POST");
export const patch = sent("PATCH");

/** An app as clients make them. */
export const draft = (n: number) => ({
  title: `Sales overview ${n}`,
  description: "Revenue by region and quarter, with last year beside it",
  theme: "light",
  public: n % 2 === 0,
});

/** Makes `count` apps, or what else is given; answers their ids in creation order. */
export async function create(
  port: number,
  count: number,
  request = (n: number) => post("/v1/apps", draft(n)),
  status = 201,
) {
  const ids: string[] = [];
  const onBody = (body: string) => ids.push(idIn(body));
  await run(port, load(request, status, { requests: count, connections: 8, onBody }));
  return ids;
}

export function idIn(body: string): string {
  const { id }: { id: string } = JSON.parse(body);
  return id;
}

/** `make` is called before each measurement. */
export const loadOn = (server: Server, make: () => Load | Promise<Load>): Side => ({
  name: server.name,
  measure: async () => {
    const given = await make();
    const before = await server.ask("usage");
    const { seconds, latencies } = await run(server.port, given);
    const { cpu_us } = await server.ask("usage");
    return {
      "µs of CPU": (cpu_us - before.cpu_us) / latencies.length,
      "a second": latencies.length / seconds,
      "ms at the median": median(latencies),
      "ms at the 99th": percentile(latencies, 0.99),
    };
  },
});

/** The goal, and the load that is made before each measurement. */
export type Case<S> = readonly [goal: string, make: (side: S) => Load | Promise<Load>];

/** The CPU time of a request on the first side against that on each of the others; the goal is about the second. */
export async function contest<S extends { readonly server: Server }>(
  servers: readonly Server[],
  fill: (server: Server, at: number) => Promise<S>,
  cases: Readonly<Record<string, Case<S>>>,
  warm?: number,
): Promise<Line[]> {
  const sides: S[] = [];
  for (const [at, server] of servers.entries()) sides.push(await fill(server, at));
  const lines: Line[] = [];
  for (const [what, [goal, make]] of Object.entries(cases)) {
    const loads = sides.map((side) => loadOn(side.server, () => make(side)));
    const [own, ...others] = await compare(loads, warm);
    lines.push(...others.map((other, at) => ratio(what, own, other, "µs of CPU", at === 0 ? goal : "")));
  }
  return lines;
}
