// node:http in and out: makes a Call of each request, writes each Reply, and holds the limits of what arrives (contract,
// part 8). One reader, one writer. What fails before a request exists is answered here as well.
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { refuse } from "../domain/refusal.ts";
import type { Ids } from "../kit/ids.ts";
import { arrived, LIMITS, type Limits, PARSER_BYTES, socketRefusal, wouldHang } from "./arriving.ts";
import type { Call, Handler, Reply } from "./call.ts";
import { cutOff, giveUpUnread, lastWords, lingeringEnd } from "./closing.ts";
import type { ServiceLinks } from "./links.ts";
import { problem } from "./problem.ts";

/** How often Node looks for requests that are over their time: so much longer they may take. */
const TIMEOUT_CHECK_MS = 250;
/** How long requests in flight may take when the server stops. */
const STOP_MS = 10_000;

/** On every answer and in the log; it is always ours, so that no client can make two requests look like one. */
const REQUEST_ID = { header: "x-request-id", prefix: "req_" };

/** An answer that went out; the status is 0 for none. */
export interface Answered extends Pick<Call, "id" | "method" | "path">, Pick<Reply, "status"> {
  readonly duration_ms: number;
}

export interface ListenerParts {
  readonly ids: Ids;
  readonly handle: Handler;
  readonly links: ServiceLinks;
  readonly onError: (error: unknown, requestId: string) => void;
  /** Left out where nobody wants to know. */
  readonly onAnswer?: (answered: Answered) => void;
}

export interface Tls {
  readonly cert: string;
  readonly key: string;
}

export class Listener {
  readonly #server: Server;
  readonly #limits: Limits;
  /** The answers begun on each open connection and not yet sent, in order. */
  readonly #begun = new Map<Duplex, ServerResponse[]>();
  /** What comes between `listen` and `serve` waits for this. */
  readonly #serving: Promise<ListenerParts>;
  /** Starts answering. */
  serve: (parts: ListenerParts) => void = () => {};
  #stopping = false;

  /** Other limits than the decided ones are for tests, which cannot wait for these. */
  constructor(tls?: Tls, limits: Limits = LIMITS) {
    this.#limits = limits;
    this.#serving = new Promise((resolve) => {
      this.serve = resolve;
    });
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
      ? process.getBuiltinModule("node:https").createServer({ ...options, ...tls, handshakeTimeout: limits.headers_ms })
      : createServer(options);
    this.#server.maxConnections = limits.connections;
    this.#server.maxHeadersCount = 0;
    for (const asked of ["request", "checkContinue", "checkExpectation"])
      this.#server.on(asked, (request: IncomingMessage, response: ServerResponse) => this.#answer(request, response));
    // A proxy is asked for; without a listener Node would close without a word. Node leaves the socket to us with all
    // that can happen to it: a client that is gone is an error which nobody else hears.
    this.#server.on("connect", ({ socket }) => {
      socket.on("error", () => socket.destroy());
      void this.#refuseSocket(new Error("CONNECT"), socket);
    });
    this.#server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => this.#refuseSocket(error, socket));
    // With TLS there are two sockets to a connection: the one that bytes come in by, and the one that requests do.
    for (const opened of ["connection", "secureConnection"])
      this.#server.on(opened, (socket: Socket) => {
        this.#begun.set(socket, []);
        socket.once("close", () => this.#begun.delete(socket));
      });
  }

  /** Listens; the port is free to be 0. Rejects with the system's error (EADDRINUSE, EACCES). */
  async listen(port: number, host: string): Promise<number> {
    await once(this.#server.listen(port, host), "listening");
    return Object(this.#server.address()).port;
  }

  /** Accepts nothing new, lets what is in flight finish (10 s at most), closes every socket. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(this.#server, () => resolve()));
    void this.#endSilent();
    const deadline = setTimeout(() => this.#server.closeAllConnections(), STOP_MS);
    // To Node an answer that was handed over is sent: it would cut what a client still reads.
    const unread = () => [...this.#begun.values()].flat().find((each) => each.writableEnded);
    for (let answer = unread(); answer; answer = unread()) await sent(answer);
    this.#server.close();
    await closed;
    clearTimeout(deadline);
  }

  /** To Node a connection on which nothing was said is not idle. What has arrived and was not read yet gets its turn. */
  async #endSilent(): Promise<void> {
    for (let turn = 0; turn < 2; turn += 1) await new Promise(setImmediate);
    for (const socket of this.#begun.keys()) if ("bytesRead" in socket && socket.bytesRead === 0) socket.destroy();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const open = this.#begun.get(request.socket) ?? [];
    const before = open.at(-1);
    open.push(response);
    response.on("close", () => open.splice(open.indexOf(response), 1));
    // In one packet come a thousand requests: for who reads nothing one answer is made, not a thousand.
    if (before) await sent(before);
    if (request.socket.destroyed) return;
    const parts = await this.#serving;
    const started = performance.now();
    const call = arrived(parts.ids.next(REQUEST_ID.prefix), request, response);
    let reply: Reply;
    try {
      reply = await parts.handle(call);
      this.#write(response, call.id, reply, parts);
    } catch (error) {
      // Also a reply that Node refuses to write, such as one with a line break in a header.
      parts.onError(error, call.id);
      reply = problem(refuse({ code: "internal_error" }), call.id, parts.links);
      if (response.headersSent) response.destroy();
      else this.#write(response, call.id, reply, parts);
    }
    const { id, method, path } = call;
    parts.onAnswer?.({ id, method, path, status: reply.status, duration_ms: performance.now() - started });
  }

  #write(response: ServerResponse, id: string, reply: Reply, { links }: ListenerParts): void {
    const { req: request } = response;
    if (response.destroyed) return;
    if (reply.cut !== undefined) {
      cutOff(request, reply.cut);
      return;
    }
    const linger = wouldHang(request);
    const bytes = Buffer.byteLength(reply.body);
    response.writeHead(reply.status, headersOf(id, reply, bytes, links, this.#stopping || linger));
    const body = request.method === "HEAD" ? "" : reply.body;
    if (linger) lingeringEnd(request, response, body);
    // Where each character is one byte, Latin-1 and UTF-8 are the same bytes, and Node writes Latin-1 in less time: a tenth.
    else response.end(body, bytes === reply.body.length ? "latin1" : "utf8");
    // What the system did not take at once waits for its reader.
    if (request.socket.writableLength > 0) giveUpUnread(response, this.#limits.unread_ms);
  }

  /**
   * What is no request at all (RFC 9112), or never became a whole one: answered on the bare socket, after the answers
   * to the whole requests that came before it.
   */
  async #refuseSocket(error: NodeJS.ErrnoException, socket: Duplex): Promise<void> {
    const parts = await this.#serving;
    const open = this.#begun.get(socket) ?? [];
    const before = open.findLast(({ req }) => req.complete);
    if (!socket.writable) socket.destroy();
    else if (before) before.once("close", () => this.#refuseSocket(error, socket));
    // What was answered early is thrown away, whatever it is.
    else if (!open.some((each) => each.headersSent)) {
      const id = parts.ids.next(REQUEST_ID.prefix);
      const bytesRead = "bytesRead" in socket ? Number(socket.bytesRead) : 0;
      const reply = problem(socketRefusal(error, bytesRead), id, parts.links);
      const statusLine = `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status]}`;
      lastWords(socket, statusLine, headersOf(id, reply, Buffer.byteLength(reply.body), parts.links, true), reply.body);
    }
  }
}

/** Names and values by turns, as Node takes them. */
function headersOf(id: string, { status, headers }: Reply, bytes: number, { always }: ServiceLinks, closes: boolean) {
  const lines = [REQUEST_ID.header, id, ...always];
  for (const name in headers) lines.push(name, headers[name] ?? "");
  if (closes && headers.connection === undefined) lines.push("connection", "close");
  if (status !== 204 && status !== 304) lines.push("content-length", String(bytes));
  return lines;
}

/** Or given up. */
const sent = (response: ServerResponse): Promise<unknown> => new Promise((resolve) => response.once("close", resolve));
