// node:http in and out: makes a Call of each request, writes each Reply, and holds the limits of what arrives (contract,
// part 8). One reader, one writer. What fails before a request exists is answered here as well.
import { once } from "node:events";
import { createServer, IncomingMessage, ServerResponse } from "node:http";
import { createServer as createNetServer, isIP, Server as NetServer, type Socket } from "node:net";
import { fail } from "../domain/errors.ts";
import { after, nextTurn } from "../lib/clock.ts";
import type { Ids } from "../lib/ids.ts";
import { isLoopbackHost } from "../lib/loopback.ts";
import { abortConnection, closeAfterResponse, destroyWhenUnread } from "./connection.ts";
import type { Handler, HttpResponse } from "./message.ts";
import { problemResponse } from "./problem.ts";
import {
  clientErrorToAppError,
  LIMITS,
  type Limits,
  MAX_HEADER_SIZE,
  mustCloseConnection,
  parseRequest,
} from "./request.ts";
import type { ServiceUrls } from "./urls.ts";

/** How often Node looks for requests that are over their time: so much longer they may take. */
const TIMEOUT_CHECK_MS = 250;
/** How long requests in flight may take when the server stops. */
const STOP_MS = 10_000;

/** On every answer and in the log; it is always ours, so that no client can make two requests look like one. */
const REQUEST_ID = { header: "x-request-id", prefix: "req_" };

export interface HttpServerDeps {
  readonly ids: Ids;
  readonly handle: Handler;
  readonly urls: ServiceUrls;
  readonly onError: (error: unknown, requestId: string) => void;
}

export interface Tls {
  readonly cert: string;
  readonly key: string;
}

export type HttpServer = ReturnType<typeof createHttpServer>;

/** Other limits than the decided ones are for tests, which cannot wait for these. */
export function createHttpServer(tls?: Tls, limits: Limits = LIMITS) {
  /** The open connections, each with the answer whose turn it is, or was last. */
  const responsesBySocket = new Map<Socket, ServerResponse | undefined>();
  let setHandler: (deps: HttpServerDeps) => void = () => {};
  /** What comes between `listen` and `serve` waits for this. */
  const ready = new Promise<HttpServerDeps>((resolve) => {
    setHandler = resolve;
  });
  let stopping = false;

  /** Node gives the connection to one answer after the other. */
  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    if (response.socket) void handleRequest(request, response);
    // In one packet come a thousand requests: for who reads nothing one answer is made, not a thousand.
    else response.once("socket", () => handleRequest(request, response));
  }

  async function handleRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    responsesBySocket.set(request.socket, response);
    const { ids, handle, urls: links, onError } = await ready;
    // Its client gave up before its turn came.
    if (request.socket.destroyed) return;
    const call = parseRequest(ids.next(REQUEST_ID.prefix), request, response);
    const { id } = call;
    try {
      sendResponse(response, id, await handle(call), links);
    } catch (error) {
      // Also a reply that Node refuses to write, such as one with a line break in a header.
      onError(error, id);
      if (response.headersSent) response.destroy();
      else
        sendResponse(
          response,
          id,
          problemResponse(fail({ code: "internal_error" }), id, links),
          links,
        );
    }
  }

  /** `isLast`: whatever the connection still brings is no request. */
  function sendResponse(
    response: ServerResponse,
    id: string,
    reply: HttpResponse,
    { securityHeaders: always }: ServiceUrls,
    isLast = false,
  ): void {
    const { req: request } = response;
    if (response.destroyed || response.headersSent) return;
    if (reply.connectionFault !== undefined) {
      abortConnection(request, reply.connectionFault);
      return;
    }
    const parts = isLast || mustCloseConnection(request, response.shouldKeepAlive);
    const bytes = Buffer.byteLength(reply.body);
    response.writeHead(reply.status, toHeaderLines(id, reply, bytes, always, stopping || parts));
    const body = request.method === "HEAD" ? "" : reply.body;
    if (parts) closeAfterResponse(response, body);
    // Where each character is one byte, Latin-1 and UTF-8 are the same bytes, and Node writes Latin-1 in less time: a tenth.
    else response.end(body, bytes === reply.body.length ? "latin1" : "utf8");
    // What the system did not take at once waits for its reader.
    if (request.socket.writableLength > 0) destroyWhenUnread(response, limits.unread_ms);
  }

  /**
   * What is no request at all (RFC 9112), or never became a whole one: answered after the answers to the whole requests that
   * came before it, and in the place of its own where that has begun.
   */
  async function onClientError(error: NodeJS.ErrnoException, socket: Socket): Promise<void> {
    const { ids, urls: links } = await ready;
    const last = responsesBySocket.get(socket);
    const open = last?.closed ? undefined : last;
    // What was answered early is thrown away, whatever it is.
    if (open?.headersSent && !open.writableEnded) return;
    // Over TLS nothing can be said before the handshake.
    if (!socket.writable || !responsesBySocket.has(socket)) socket.destroy();
    else if (open?.req.complete) open.once("close", () => onClientError(error, socket));
    else {
      const id = ids.next(REQUEST_ID.prefix);
      const response = open ?? new ServerResponse(new IncomingMessage(socket));
      if (!open) response.assignSocket(socket);
      responsesBySocket.set(socket, response);
      sendResponse(
        response,
        id,
        problemResponse(clientErrorToAppError(error, socket.bytesRead), id, links),
        links,
        true,
      );
    }
  }

  const options = {
    maxHeaderSize: MAX_HEADER_SIZE,
    headersTimeout: limits.headers_ms,
    requestTimeout: limits.request_ms,
    keepAliveTimeout: limits.idle_ms,
    connectionsCheckingInterval: Math.min(TIMEOUT_CHECK_MS, limits.headers_ms / 2),
    requireHostHeader: false,
    noDelay: true,
  };
  const server = tls
    ? process
        .getBuiltinModule("node:https")
        .createServer({ ...options, ...tls, handshakeTimeout: limits.headers_ms })
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
  for (const asked of ["request", "checkContinue", "checkExpectation"]) server.on(asked, onRequest);
  // A proxy is asked for; without a listener Node would close without a word. Node leaves the socket to us with all that
  // can happen to it: a client that is gone is an error which nobody else hears.
  server.on("connect", ({ socket }) => {
    socket.on("error", () => socket.destroy());
    void onClientError(new Error("CONNECT"), socket);
  });
  server.on("clientError", onClientError);
  // With TLS there are two sockets to a connection: the one that bytes come in by, and the one that requests do.
  for (const opened of ["connection", "secureConnection"])
    server.on(opened, (socket: Socket) => {
      responsesBySocket.set(socket, undefined);
      socket.once("close", () => responsesBySocket.delete(socket));
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
    setHandler: setHandler,

    /** Accepts nothing new, lets what is in flight finish (10 s at most), closes every socket. */
    async stop(): Promise<void> {
      stopping = true;
      const closed = Promise.all([closeSocket(server), closeSocket(ipv6)]);
      const deadline = after(STOP_MS, () => server.closeAllConnections());
      // What has arrived and was not read yet gets its turn.
      for (let turn = 0; turn < 2; turn += 1) await nextTurn();
      // To Node a connection on which nothing was said is not idle.
      for (const socket of responsesBySocket.keys()) if (socket.bytesRead === 0) socket.destroy();
      // To Node an answer that was handed over is sent: it would cut what a client still reads.
      const unread = () =>
        [...responsesBySocket.values()].find((each) => each?.writableEnded && !each.closed);
      for (let handleRequest = unread(); handleRequest; handleRequest = unread())
        await once(handleRequest, "close");
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
function toHeaderLines(
  id: string,
  { status, headers }: HttpResponse,
  bytes: number,
  always: readonly string[],
  closes: boolean,
) {
  const lines = [REQUEST_ID.header, id, ...always];
  for (const name in headers) lines.push(name, headers[name] ?? "");
  if (closes) lines.push("connection", "close");
  if (status !== 204 && status !== 304) lines.push("content-length", String(bytes));
  return lines;
}
