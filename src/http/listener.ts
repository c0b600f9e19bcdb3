// node:http in and out: makes a Call of each request, writes each Reply, and holds the limits of what arrives (contract,
// part 8). One reader, one writer, one catch. What fails before a request exists is answered here as well.
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Refusal, refuse } from "../domain/refusal.ts";
import { StorageUnavailable } from "../domain/store.ts";
import { decide } from "../kit/decisions.ts";
import type { Ids } from "../kit/ids.ts";
import { readBody } from "./body.ts";
import type { Call, Cut, Handler, Live, Reply } from "./call.ts";
import { internalError, type ProblemLinks, problem } from "./problem.ts";

export const LIMITS = decide(
  "8.request-limits",
  {
    url_bytes: 8_192,
    header_bytes: 16_384,
    headers_ms: 10_000,
    request_ms: 30_000,
    idle_ms: 60_000,
    connections: 1_000,
  },
  {
    open: "size limits of requests, and how long one may take",
    why: "each is far above what an honest client sends; without them one slow or endless client holds the server",
  },
);
export type Limits = { readonly [N in keyof typeof LIMITS]: number };
/** How often Node looks for requests that are over their time. */
const TIMEOUT_CHECK_MS = 1_000;
/** Node must read past our own limits, so that we can say which of them was exceeded. */
const PARSER_BYTES = LIMITS.url_bytes + LIMITS.header_bytes + 8_192;
/** How much may wait for the reader of an answer that goes on. */
const BEHIND_BYTES = 65_536;
/** How long requests in flight may take when the server stops. */
const STOP_MS = decide("1.stop", 10_000, {
  open: "what happens to requests in flight when the server is stopped",
  why: "they are finished, but ten seconds is when those who stop servers lose patience",
});

const REQUEST_ID = decide(
  "7.request-id",
  { header: "x-request-id", prefix: "req_" },
  {
    open: "how one request is found again among many",
    why: "an id on every answer and in the log; it is always ours, so that no client can make two look like one",
  },
);

const HTTP_MAJOR = decide("7.http", 1, {
  open: "which versions of HTTP are spoken, and how strictly",
  why: "HTTP/1.1 and 1.0 as RFC 9112 has them, with pipelining and kept connections; what is in doubt is refused",
});

const EXPECTATION = decide("7.expect", "100-continue", {
  open: "what is done with a request that expects something",
  why: "RFC 9110 10.1.1 knows this one: a client may wait to be told that its body is wanted",
});

export interface ListenerParts {
  readonly ids: Ids;
  readonly handle: Handler;
  readonly links: ProblemLinks;
  readonly onError: (error: unknown, requestId: string) => void;
  /** Told after each answer: method, path, status (0 for none), time taken. */
  readonly onAnswer: (call: Call, status: number, duration_ms: number) => void;
}

export interface Tls {
  readonly cert: string;
  readonly key: string;
}

export class Listener {
  readonly #server: Server;
  /** The answers begun on each connection; those that are finished go when the next begins. */
  readonly #begun = new WeakMap<Duplex, readonly ServerResponse[]>();
  /** The answers that go on until the server stops. */
  readonly #live = new Set<ServerResponse>();
  /** Requests that came between `listen` and `serve`. */
  readonly #early: (readonly [IncomingMessage, ServerResponse])[] = [];
  #parts: ListenerParts | undefined;
  readonly #sockets = new Set<Socket>();
  #stopping = false;

  /** Other limits than the decided ones are for tests, which cannot wait for these. */
  constructor(tls?: Tls, limits: Limits = LIMITS) {
    const options = {
      maxHeaderSize: PARSER_BYTES,
      headersTimeout: limits.headers_ms,
      requestTimeout: limits.request_ms,
      keepAliveTimeout: limits.idle_ms,
      connectionsCheckingInterval: Math.min(TIMEOUT_CHECK_MS, limits.headers_ms / 2),
      requireHostHeader: false,
      noDelay: true,
    };
    this.#server = tls
      ? createTlsServer({ ...options, ...tls, handshakeTimeout: limits.headers_ms })
      : createServer(options);
    this.#server.maxConnections = limits.connections;
    this.#server.maxHeadersCount = 0;
    for (const asked of ["request", "checkContinue", "checkExpectation"])
      this.#server.on(asked, (request: IncomingMessage, response: ServerResponse) => this.#take(request, response));
    // A proxy is asked for; without a listener Node would close without a word. Node leaves the socket to us with all
    // that can happen to it: a client that is gone is an error which nobody else hears.
    this.#server.on("connect", ({ socket }) => {
      socket.on("error", () => socket.destroy());
      this.#refuseSocket(new Error("CONNECT"), socket);
    });
    this.#server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => this.#refuseSocket(error, socket));
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  /** Listens; the port is free to be 0. Rejects with the system's error (EADDRINUSE, EACCES). */
  async listen(port: number, host: string): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, host, () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
    const address = this.#server.address();
    return typeof address === "object" && address ? address.port : port;
  }

  /** Starts answering, what came before first. */
  serve(parts: ListenerParts): void {
    this.#parts = parts;
    for (const [request, response] of this.#early.splice(0)) this.#take(request, response);
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    if (this.#parts === undefined) this.#early.push([request, response]);
    else void this.#answer(this.#parts, request, response);
  }

  /** Accepts nothing new, lets what is in flight finish (10 s at most), closes every socket. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const response of this.#live) response.end();
    this.#server.closeIdleConnections();
    void this.#endSilent();
    const deadline = setTimeout(() => this.#server.closeAllConnections(), STOP_MS);
    await closed;
    clearTimeout(deadline);
  }

  /** To Node a connection on which nothing was said is not idle. What has arrived and was not read yet gets its turn. */
  async #endSilent(): Promise<void> {
    for (let turn = 0; turn < 2; turn += 1) await new Promise(setImmediate);
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
  }

  async #answer(parts: ListenerParts, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const started = performance.now();
    const { socket } = request;
    this.#begun.set(socket, [...this.#open(socket), response]);
    const call = callOf(parts.ids.next(REQUEST_ID.prefix), request, response);
    const reply = await this.#reply(parts, call, request);
    const status = this.#send(parts, request, response, call, reply);
    parts.onAnswer(call, status, performance.now() - started);
  }

  /** The one catch: an exception that nobody foresaw is logged whole and answered bare. */
  async #reply(parts: ListenerParts, call: Call, request: IncomingMessage): Promise<Reply> {
    try {
      const unfit = unfitRequest(request);
      return unfit ? problem(unfit, call.id, parts.links) : await parts.handle(call);
    } catch (error) {
      parts.onError(error, call.id);
      const refusal = error instanceof StorageUnavailable ? refuse({ code: "storage_unavailable" }) : internalError;
      return problem(refusal, call.id, parts.links);
    }
  }

  /** Writes the reply; one that Node refuses to write (a line break in a header) is a fault like any other. */
  #send(parts: ListenerParts, request: IncomingMessage, response: ServerResponse, call: Call, reply: Reply): number {
    try {
      this.#write(request, response, call, reply);
      return reply.status;
    } catch (error) {
      parts.onError(error, call.id);
      const bare = problem(internalError, call.id, parts.links);
      if (response.headersSent) response.destroy();
      else this.#write(request, response, call, bare);
      return bare.status;
    }
  }

  #write(request: IncomingMessage, response: ServerResponse, call: Call, reply: Reply): void {
    if (response.destroyed) return;
    if (reply.cut !== undefined) {
      cutOff(request, reply.cut);
      return;
    }
    const headers: string[] = [REQUEST_ID.header, call.id];
    for (const name in reply.headers) {
      const value = reply.headers[name];
      if (typeof value === "string") headers.push(name, value);
      else for (const each of value ?? []) headers.push(name, each);
    }
    const linger = wouldHang(request, response);
    if (this.#stopping || linger) headers.push("connection", "close");
    if (reply.live && request.method !== "HEAD") {
      this.#goOn(response, reply.status, headers, reply.live);
      return;
    }
    if (reply.status !== 204 && reply.status !== 304)
      headers.push("content-length", String(Buffer.byteLength(reply.body)));
    response.writeHead(reply.status, headers);
    const body = request.method === "HEAD" || reply.body.length === 0 ? undefined : reply.body;
    if (linger) lingeringEnd(request, response, body);
    else response.end(body);
  }

  /** An answer without an end of its own. A reader that falls behind is let go; it may come again. */
  #goOn(response: ServerResponse, status: number, headers: string[], live: Live): void {
    response.writeHead(status, headers);
    response.flushHeaders();
    this.#live.add(response);
    if (this.#stopping) response.end();
    const end = live((text) => {
      response.write(text);
      if (response.writableLength > BEHIND_BYTES) response.destroy();
    });
    response.once("close", () => {
      this.#live.delete(response);
      end();
    });
  }

  /** The answers that are not finished: more than one where requests are pipelined. */
  #open(socket: Duplex): readonly ServerResponse[] {
    return (this.#begun.get(socket) ?? []).filter((response) => !response.writableFinished);
  }

  /**
   * What is no request at all (RFC 9112), or never became a whole one: answered on the bare socket, after the answers
   * to the whole requests that came before it.
   */
  #refuseSocket(error: NodeJS.ErrnoException, socket: Duplex): void {
    const parts = this.#parts;
    const open = this.#open(socket);
    const before = open.findLast(({ req }) => req.complete);
    if (parts === undefined || !socket.writable || (before === undefined && open.some((each) => each.headersSent))) {
      socket.destroy();
      return;
    }
    if (before) {
      before.once("close", () => this.#refuseSocket(error, socket));
      return;
    }
    const id = parts.ids.next(REQUEST_ID.prefix);
    const reply = problem(socketRefusal(error), id, parts.links);
    const lines = Object.entries({
      ...reply.headers,
      [REQUEST_ID.header]: id,
      connection: "close",
      "content-length": String(Buffer.byteLength(reply.body)),
    });
    const head = lines.map(([name, value]) => `${name}: ${String(value)}\r\n`).join("");
    socket.end(`HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status] ?? ""}\r\n${head}\r\n${reply.body.toString()}`);
    destroyLater(socket);
  }
}

/** TLS connections cannot be reset on their own; there the end comes without a word. */
function cutOff(request: IncomingMessage, cut: Cut): void {
  const { socket } = request;
  request.resume();
  if (cut === "empty") socket.destroySoon();
  else if ("encrypted" in socket) socket.destroy();
  else socket.resetAndDestroy();
}

function callOf(id: string, request: IncomingMessage, response: ServerResponse): Call {
  const target = originForm(request.url ?? "/");
  const mark = target.indexOf("?");
  const { headers } = request;
  return {
    id,
    method: request.method ?? "GET",
    path: mark < 0 ? target : target.slice(0, mark),
    query: mark < 0 ? "" : target.slice(mark + 1),
    host: hostOf(headers.host ?? ""),
    headers,
    values: (name) => valuesOf(request.rawHeaders, name),
    body: (limit) => readBody(request, limit, () => continueIfAsked(request, response)),
  };
}

/** Requests whose client was told to go on and send the body. */
const continued = new WeakSet<ServerResponse>();

function continueIfAsked(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers.expect?.toLowerCase() !== EXPECTATION) return;
  continued.add(response);
  response.writeContinue();
}

/** A request target may be a whole URL (RFC 9112 3.2.2). */
function originForm(target: string): string {
  if (target.startsWith("/") || !URL.canParse(target)) return target;
  const { pathname, search } = new URL(target);
  return pathname + search;
}

const hostOf = (host: string): string => host.toLowerCase().replace(/:\d*$/, "");

function valuesOf(raw: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at < raw.length; at += 2) {
    const given = raw[at] ?? "";
    if (given.length === name.length && given.toLowerCase() === name) values.push(raw[at + 1] ?? "");
  }
  return values;
}

function unfitRequest(request: IncomingMessage): Refusal | undefined {
  if ((request.url?.length ?? 0) > LIMITS.url_bytes)
    return refuse({ code: "uri_too_long", limit_bytes: LIMITS.url_bytes });
  if (request.httpVersionMajor !== HTTP_MAJOR) return notHttp("Only HTTP/1.1 and HTTP/1.0 are spoken here.");
  let bytes = 0;
  let hosts = 0;
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = request.rawHeaders[at] ?? "";
    bytes += name.length + (request.rawHeaders[at + 1]?.length ?? 0) + 4;
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  if (bytes > LIMITS.header_bytes) return refuse({ code: "headers_too_large", limit_bytes: LIMITS.header_bytes });
  if (hosts > 1) return notHttp("There is more than one Host header.");
  if (hosts === 0 && request.httpVersion === "1.1") return notHttp("The Host header is missing.");
  const expected = request.headers.expect;
  return expected === undefined || expected.toLowerCase() === EXPECTATION
    ? undefined
    : notHttp("The expectation is not known.");
}

const notHttp = (detail: string): Refusal => refuse({ code: "invalid_request", detail });

const isTimeout = (error: NodeJS.ErrnoException): boolean => error.code === "ERR_HTTP_REQUEST_TIMEOUT";

function socketRefusal(error: NodeJS.ErrnoException): Refusal {
  if (isTimeout(error)) return refuse({ code: "request_timeout" });
  if (error.code === "HPE_HEADER_OVERFLOW") return overflow(error);
  return notHttp("What arrived is not an HTTP/1.1 request.");
}

/** Where the parser gave up before the first line ended, it is the URL that was too long. */
function overflow(error: NodeJS.ErrnoException): Refusal {
  const packet = "rawPacket" in error && Buffer.isBuffer(error.rawPacket) ? error.rawPacket : Buffer.alloc(0);
  const inFirstLine = packet.subarray(0, PARSER_BYTES).indexOf("\r\n") < 0;
  return inFirstLine
    ? refuse({ code: "uri_too_long", limit_bytes: LIMITS.url_bytes })
    : refuse({ code: "headers_too_large", limit_bytes: LIMITS.header_bytes });
}

/** What is left of a body this small is read and dropped by Node, and the connection goes on. */
const DROPPED_BYTES = 65_536;

/** The answer comes before the body, and the next request could not be told from it or would wait too long. */
function wouldHang(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.complete) return false;
  const { expect, "content-length": length, "transfer-encoding": coding } = request.headers;
  if (length === undefined && coding === undefined) return false;
  return (
    (expect !== undefined && !continued.has(response)) || Number(length ?? Number.POSITIVE_INFINITY) > DROPPED_BYTES
  );
}

const LINGER_BYTES = 16 * 1024 * 1024;
const LINGER_MS = 2_000;

/**
 * The answer is given before the whole request was read. Node closes the connection when the answer ends, and closing it
 * while the client still sends would reset it, so that the client might never see the answer. So the answer is written
 * but not ended until the client is done; a little more is read and thrown away (RFC 9112 9.6).
 */
function lingeringEnd(request: IncomingMessage, response: ServerResponse, body: Reply["body"] | undefined): void {
  const { socket } = request;
  let left = LINGER_BYTES;
  if (body === undefined) response.flushHeaders();
  else response.write(body);
  destroyLater(socket);
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.destroy();
  });
  request.on("end", () => response.end());
  response.once("error", () => socket.destroy());
  request.resume();
}

/** A client that does not close its side keeps no socket of ours. */
function destroyLater(socket: Duplex): void {
  const end = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(end));
}
