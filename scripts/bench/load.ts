// The load: a bounded number of requests over a fixed number of connections, each sending its next request when the
// answer has come. It speaks just enough HTTP/1.1 over bare sockets that its own cost stays far below a server's.
import { connect, type Socket } from "node:net";
import { KEY } from "./machine.ts";

export interface Load {
  readonly port: number;
  readonly requests: number;
  readonly connections: number;
  /** The bytes of the n-th request. */
  readonly request: (n: number) => string;
  /** The status that every answer must have. */
  readonly status: number;
  /** Called with each answer's body, where somebody wants it. */
  readonly onBody?: (body: string) => void;
}

export interface Measured {
  readonly seconds: number;
  /** Milliseconds, sorted. */
  readonly latencies: Float64Array;
}

const RUN_MS_MAX = 300_000;
const NOTHING = Buffer.alloc(0);

export async function run(load: Load): Promise<Measured> {
  const latencies = new Float64Array(load.requests);
  let sent = 0;
  let answered = 0;
  const next = () => (sent < load.requests ? load.request(sent++) : undefined);
  const note = (ms: number) => {
    latencies[answered++] = ms;
  };
  const stay = stayAwake();
  const started = performance.now();
  await Promise.all(Array.from({ length: load.connections }, () => new Line(load, next, note).done));
  const seconds = (performance.now() - started) / 1_000;
  stay.end();
  return { seconds, latencies: latencies.sort() };
}

/**
 * Keeps this process from sleeping between answers. Waking a sleeper is billed to the one that writes: a server that is
 * slower than the load would pay for it with every answer (writev took 15 us a request against 8 in the profiles), a
 * faster one never.
 */
function stayAwake(): { end: () => void } {
  let going = true;
  const turn = () => void (going && setImmediate(turn));
  turn();
  return {
    end() {
      going = false;
    },
  };
}

export const percentile = ({ latencies }: Measured, p: number): number =>
  latencies[Math.min(Math.floor(latencies.length * p), latencies.length - 1)] ?? 0;

/** One connection. */
class Line {
  readonly done: Promise<void>;
  readonly #load: Load;
  readonly #next: () => string | undefined;
  readonly #note: (ms: number) => void;
  readonly #socket: Socket;
  #received: Buffer = NOTHING;
  #sentAt = 0;

  constructor(load: Load, next: () => string | undefined, note: (ms: number) => void) {
    this.#load = load;
    this.#next = next;
    this.#note = note;
    this.#socket = connect({ port: load.port, host: "127.0.0.1", noDelay: true });
    this.done = new Promise((resolve, reject) => {
      const late = setTimeout(() => this.#socket.destroy(new Error("the load takes too long")), RUN_MS_MAX);
      this.#socket.on("connect", () => this.#send());
      this.#socket.on("data", (chunk) => {
        try {
          this.#read(chunk);
        } catch (error) {
          this.#socket.destroy();
          reject(error);
        }
      });
      this.#socket.on("error", reject);
      this.#socket.on("close", () => {
        clearTimeout(late);
        resolve();
      });
    });
  }

  #send(): void {
    const bytes = this.#next();
    if (bytes === undefined) {
      this.#socket.end();
      return;
    }
    this.#sentAt = performance.now();
    this.#socket.write(bytes);
  }

  #read(chunk: Buffer): void {
    const all = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const headEnd = all.indexOf("\r\n\r\n");
    if (headEnd < 0) {
      this.#received = all;
      return;
    }
    const head = all.toString("latin1", 0, headEnd);
    const status = Number(head.slice(9, 12));
    const length = status === 204 ? 0 : Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
    if (all.length < headEnd + 4 + length) {
      this.#received = all;
      return;
    }
    if (status !== this.#load.status) throw new Error(`${head}\n${all.toString("utf8", headEnd + 4)}`);
    this.#received = NOTHING;
    this.#note(performance.now() - this.#sentAt);
    this.#load.onBody?.(all.toString("utf8", headEnd + 4, headEnd + 4 + length));
    this.#send();
  }
}

const HEAD = (credential: string) =>
  `HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${credential}\r\nAccept: application/json\r\n`;

export const get = (path: string, credential = KEY): string => `GET ${path} ${HEAD(credential)}\r\n`;
export const del = (path: string): string => `DELETE ${path} ${HEAD(KEY)}\r\n`;
const withBody =
  (method: string) =>
  (path: string, value: unknown): string => {
    const body = JSON.stringify(value);
    const length = Buffer.byteLength(body);
    return `${method} ${path} ${HEAD(KEY)}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`;
  };
export const post = withBody("POST");
export const patch = withBody("PATCH");

/** An app as clients make them. */
export const draft = (n: number) => ({
  title: `Sales overview ${n}`,
  description: "Revenue by region and quarter, with last year beside it",
  theme: "light",
  public: n % 2 === 0,
});

/** Makes `count` apps; answers their ids in creation order. */
export async function createApps(port: number, count: number): Promise<string[]> {
  const ids: string[] = [];
  const keep = (body: string) => ids.push(idIn(body));
  await run({
    port,
    requests: count,
    connections: 8,
    request: (n) => post("/v1/apps", draft(n)),
    status: 201,
    onBody: keep,
  });
  return ids;
}

export function idIn(body: string): string {
  const { id }: { id: string } = JSON.parse(body);
  return id;
}
