// What the delivery figures share: a server of ours, a client that keeps its connections, receivers that count.
import { fork } from "node:child_process";
import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type Service, type ServiceOptions, startService } from "../../../src/index.ts";

export const SECRET = "bench";

export interface Figure {
  readonly name: string;
  readonly value: string;
  readonly goal: string;
  readonly reached: boolean;
}

export interface World {
  readonly service: Service;
  post(path: string, body: unknown): Promise<{ readonly id: string }>;
  get(path: string): Promise<{ readonly total: number; readonly data: readonly { readonly status: string }[] }>;
}

export async function withServer<T>(options: ServiceOptions, use: (world: World) => Promise<T>): Promise<T> {
  const service = await startService({ log: "off", rateLimit: "off", ...options });
  const client = clientOf(service.baseUrl, String(service.apiKey));
  try {
    return await use({ service, ...client });
  } finally {
    client.close();
    await service.close();
  }
}

/** Keeps its connections. */
export function clientOf(baseUrl: string, apiKey: string) {
  const agent = new Agent({ keepAlive: true });
  const call = async (method: string, path: string, body?: unknown) => {
    const { status, text } = await exchange(agent, method, baseUrl + path, apiKey, body);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return JSON.parse(text);
  };
  return {
    post: (path: string, body: unknown) => call("POST", path, body),
    get: (path: string) => call("GET", path),
    close: () => agent.destroy(),
  };
}

export interface Address {
  readonly baseUrl: string;
  readonly apiKey: string | null;
}

/** How long each create takes, for each of the servers in turn, as a client in a process of its own sees it. */
export async function answerTimes(
  servers: readonly Address[],
  creates: number,
): Promise<readonly (readonly number[])[]> {
  const child = fork(new URL("client.ts", import.meta.url), { execArgv: ["--import", "tsx"] });
  child.send({ creates, servers: servers.map(({ baseUrl, apiKey }) => ({ baseUrl, apiKey })) });
  const [times_ms] = await once(child, "message");
  child.kill();
  return times_ms;
}

function exchange(agent: Agent, method: string, url: string, key: string, body: unknown) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    const sent = request(url, { agent, method, headers }, async (response) => {
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      resolve({ status: response.statusCode ?? 0, text });
    });
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

export interface Listening {
  readonly url: string;
  close(): void;
}

/** An HTTP server on a free loopback port. */
export function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Listening> {
  const server = createServer({ keepAliveTimeout: 60_000 }, answer);
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return new Promise((ready) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      ready({ url: `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}/`, close });
    });
  });
}

/** A receiver in a process of its own; `kind` as in receiver.ts. */
export async function receiverProcess(kind: string) {
  const child = fork(new URL("receiver.ts", import.meta.url), [kind], { execArgv: ["--import", "tsx"] });
  const [url] = await once(child, "message");
  const report = async (): Promise<readonly [appId: string, at_ms: number][]> => {
    child.send("report");
    return (await once(child, "message"))[0];
  };
  return { url: String(url), report, close: () => child.kill() };
}

export async function readText(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text;
}

/** The same numbers from run to run, in [0, 1): a linear congruential generator. */
export function repeatable(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN;
}

/** Waits in real time: these figures are about it. */
export const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

/** Runs `count` times `work`, `atOnce` at a time. */
export async function times(count: number, atOnce: number, work: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
