// node:http in and out: makes a Call of each request, writes each Reply, and holds the limits of what arrives (contract,
// part 8). One reader, one writer. What fails before a request exists is answered here as well.
import { once } from "node:events";
import { createServer, IncomingMessage, ServerResponse } from "node:http";
import { createServer as createNetServer, isIP, Server as NetServer, type Socket } from "node:net";
import { refuse } from "../domain/refusal.ts";
import { after, nextTurn } from "../kit/clock.ts";
import type { Ids } from "../kit/ids.ts";
import { isLoopbackHost } from "../kit/loopback.ts";
import { arrived, LIMITS, type Limits, PARSER_BYTES, socketRefusal, wouldHang } from "./arriving.ts";
import type { Handler, Reply } from "./call.ts";
import { cutOff, giveUpUnread, partFrom } from "./closing.ts";
import type { ServiceLinks } from "./links.ts";
import { problem } from "./problem.ts";

/** How often Node looks for requests that are over their time: so much longer they may take. */
const TIMEOUT_CHECK_MS = 250;
/** How long requests in flight may take when the server stops. */
const STOP_MS = 10_000;

/** On every answer and in the log; it is always ours, so that no client can make two requests look like one. */
const REQUEST_ID = { header: "x-request-id", prefix: "req_" };

export interface ListenerParts {
  readonly ids: Ids;
  readonly handle: Handler;
  readonly links: ServiceLinks;
  readonly onError: (error: unknown, requestId: string) => void;
}

export interface Tls {
  readonly cert: string;
  readonly key: string;
}

export type Listener = ReturnType<typeof listenerOf>;

/** Other limits than the decided ones are for tests, which cannot wait for these. */
export function listenerOf(tls?: Tls, limits: Limits = LIMITS) {
  /** The open connections, each with the answer whose turn it is, or was last. */
  const current = new Map<Socket, ServerResponse | undefined>();
  let serve: (parts: ListenerParts) => void = () => {};
  /** What comes between `listen` and `serve` waits for this. */
  const serving = new Promise<ListenerParts>((resolve) => {
    serve = resolve;
  });
  let stopping = false;

  /** Node gives the connection to one answer after the other. */
  function take(request: IncomingMessage, response: ServerResponse): void {
    if (response.socket) void answer(request, response);
    // In one packet come a thousand requests: for who reads nothing one answer is made, not a thousand.
    else response.once("socket", () => answer(request, response));
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    current.set(request.socket, response);
    const { ids, handle, links, onError } = await serving;
    // Its client gave up before its turn came.
    if (request.socket.destroyed) return;
    const call = arrived(ids.next(REQUEST_ID.prefix), request, response);
    const { id } = call;
    try {
      write(response, id, await handle(call), links);
    } catch (error) {
      // Also a reply that Node refuses to write, such as one with a line break in a header.
      onError(error, id);
      if (response.headersSent) response.destroy();
      else write(response, id, problem(refuse({ code: "internal_error" }), id, links), links);
    }
  }

  /** `isLast`: whatever the connection still brings is no request. */
  function write(response: ServerResponse, id: string, reply: Reply, { always }: ServiceLinks, isLast = false): void {
    const { req: request } = response;
    if (response.destroyed || response.headersSent) return;
    if (reply.cut !== undefined) {
      cutOff(request, reply.cut);
      return;
    }
    const parts = isLast || wouldHang(request, response.shouldKeepAlive);
    const bytes = Buffer.byteLength(reply.body);
    response.writeHead(reply.status, headersOf(id, reply, bytes, always, stopping || parts));
    const body = request.method === "HEAD" ? "" : reply.body;
    if (parts) partFrom(response, body);
    // Where each character is one byte, Latin-1 and UTF-8 are the same bytes, and Node writes Latin-1 in less time: a tenth.
    else response.end(body, bytes === reply.body.length ? "latin1" : "utf8");
    // What the system did not take at once waits for its reader.
    if (request.socket.writableLength > 0) giveUpUnread(response, limits.unread_ms);
  }

  /**
   * What is no request at all (RFC 9112), or never became a whole one: answered after the answers to the whole requests that
   * came before it, and in the place of its own where that has begun.
   */
  async function refuseSocket(error: NodeJS.ErrnoException, socket: Socket): Promise<void> {
    const { ids, links } = await serving;
    const last = current.get(socket);
    const open = last?.closed ? undefined : last;
    // What was answered early is thrown away, whatever it is.
    if (open?.headersSent && !open.writableEnded) return;
    // Over TLS nothing can be said before the handshake.
    if (!socket.writable || !current.has(socket)) socket.destroy();
    else if (open?.req.complete) open.once("close", () => refuseSocket(error, socket));
    else {
      const id = ids.next(REQUEST_ID.prefix);
      const response = open ?? new ServerResponse(new IncomingMessage(socket));
      if (!open) response.assignSocket(socket);
      current.set(socket, response);
      write(response, id, problem(socketRefusal(error, socket.bytesRead), id, links), links, true);
    }
  }

  const options = {
    maxHeaderSize: PARSER_BYTES,
    headersTimeout: limits.headers_ms,
    requestTimeout: limits.request_ms,
    keepAliveTimeout: limits.idle_ms,
    connectionsCheckingInterval: Math.min(TIMEOUT_CHECK_MS, limits.headers_ms / 2),
    requireHostHeader: false,
    noDelay: true,
  };
  const server = tls
    ? process.getBuiltinModule("node:https").createServer({ ...options, ...tls, handshakeTimeout: limits.headers_ms })
    : createServer(options);
  server.maxHeadersCount = 0;
  /** Accepts connections on [::1] and passes them to `server`, which counts, limits and closes them with its own. */
  const ipv6 = createNetServer({ allowHalfOpen: tls === undefined, noDelay: true }, (socket) =>
    server.emit("connection", socket),
  );
  let connections = 0;
  server.on("connection", (socket: Socket) => {
    connections += 1;
    socket.once("close", () => {
      connections -= 1;
    });
    if (connections > limits.connections) socket.destroy();
  });
  for (const asked of ["request", "checkContinue", "checkExpectation"]) server.on(asked, take);
  // A proxy is asked for; without a listener Node would close without a word. Node leaves the socket to us with all that
  // can happen to it: a client that is gone is an error which nobody else hears.
  server.on("connect", ({ socket }) => {
    socket.on("error", () => socket.destroy());
    void refuseSocket(new Error("CONNECT"), socket);
  });
  server.on("clientError", refuseSocket);
  // With TLS there are two sockets to a connection: the one that bytes come in by, and the one that requests do.
  for (const opened of ["connection", "secureConnection"])
    server.on(opened, (socket: Socket) => {
      current.set(socket, undefined);
      socket.once("close", () => current.delete(socket));
    });

  return {
    /**
     * Listens on `host` and returns the port; port 0 takes any free one. A name of this machine such as localhost means
     * 127.0.0.1 and [::1], where the machine has it. Rejects with the system's error (EADDRINUSE, EACCES).
     */
    async listen(port: number, host: string): Promise<number> {
      if (isIP(host) !== 0 || !isLoopbackHost(host)) return bind(server, port, host);
      const bound = await bind(server, port, "127.0.0.1");
      try {
        return await bind(ipv6, bound, "::1");
      } catch (error) {
        const { code } = Object(error);
        if (NO_IPV6.has(code)) return bound;
        if (port !== 0 || code !== "EADDRINUSE") throw error;
        closeSocket(server);
        return this.listen(port, host);
      }
    },

    /** Starts answering. */
    serve,

    /** Accepts nothing new, lets what is in flight finish (10 s at most), closes every socket. */
    async stop(): Promise<void> {
      stopping = true;
      const closed = Promise.all([closeSocket(server), closeSocket(ipv6)]);
      const deadline = after(STOP_MS, () => server.closeAllConnections());
      // What has arrived and was not read yet gets its turn.
      for (let turn = 0; turn < 2; turn += 1) await nextTurn();
      // To Node a connection on which nothing was said is not idle.
      for (const socket of current.keys()) if (socket.bytesRead === 0) socket.destroy();
      // To Node an answer that was handed over is sent: it would cut what a client still reads.
      const unread = () => [...current.values()].find((each) => each?.writableEnded && !each.closed);
      for (let answer = unread(); answer; answer = unread()) await once(answer, "close");
      server.close();
      await closed;
      deadline.cancel();
    },
  };
}

/** What binding [::1] fails with on a machine that has no IPv6, or has it switched off. */
const NO_IPV6 = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT"]);

async function bind(server: NetServer, port: number, host: string): Promise<number> {
  await once(server.listen(port, host), "listening");
  return Object(server.address()).port;
}

/** Closes the listening socket and no connection; resolves when the connections have ended as well. */
const closeSocket = (server: NetServer): Promise<void> =>
  new Promise((resolve) => NetServer.prototype.close.call(server, () => resolve()));

/** Names and values by turns, as Node takes them. */
function headersOf(id: string, { status, headers }: Reply, bytes: number, always: readonly string[], closes: boolean) {
  const lines = [REQUEST_ID.header, id, ...always];
  for (const name in headers) lines.push(name, headers[name] ?? "");
  if (closes) lines.push("connection", "close");
  if (status !== 204 && status !== 304) lines.push("content-length", String(bytes));
  return lines;
}
