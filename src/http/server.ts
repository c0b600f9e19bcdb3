// node:http server: parses each request into an HttpRequest, writes each HttpResponse and enforces the limits on input
// (contract, part 8). Errors before a request exists are sent here too.
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

/** Interval at which Node checks for timed-out requests; a timeout can fire this much late. */
const TIMEOUT_CHECK_MS = 250;
/** Time that requests in flight have to finish when the server stops. */
const STOP_MS = 10_000;

/** Sent with every response and logged. Always generated here, so that a client cannot make two requests look alike. */
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

/** Tests pass their own `limits` because they cannot wait for the real ones. */
export function createHttpServer(tls?: Tls, limits: Limits = LIMITS) {
  /** Open connections, each with its current or latest response. */
  const responsesBySocket = new Map<Socket, ServerResponse | undefined>();
  let setHandler: (deps: HttpServerDeps) => void = () => {};
  /** Requests that arrive between `listen` and `setHandler` wait for this. */
  const ready = new Promise<HttpServerDeps>((resolve) => {
    setHandler = resolve;
  });
  let stopping = false;

  /** Node assigns the socket to one pipelined response after another. */
  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    if (response.socket) void handleRequest(request, response);
    // A client can pipeline 1,000 requests in one packet. Handle each only once its response owns the socket: a client
    // that never reads then costs one response.
    else response.once("socket", () => handleRequest(request, response));
  }

  async function handleRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    responsesBySocket.set(request.socket, response);
    const { ids, handle, urls: links, onError } = await ready;
    // The client disconnected while its request was waiting.
    if (request.socket.destroyed) return;
    const call = parseRequest(ids.next(REQUEST_ID.prefix), request, response);
    const { id } = call;
    try {
      sendResponse(response, id, await handle(call), links);
    } catch (error) {
      // Node also throws for a response that it cannot write, such as one with a line break in a header.
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

  /** `isLast`: anything that still arrives on the connection is not a request, so the connection closes. */
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
    // If every character is one byte, Latin-1 and UTF-8 are the same bytes, and Node writes Latin-1 faster.
    else response.end(body, bytes === reply.body.length ? "latin1" : "utf8");
    // Bytes that the system did not accept at once wait for the client to read.
    if (request.socket.writableLength > 0) destroyWhenUnread(response, limits.unread_ms);
  }

  /**
   * Responds to input that is not a request (RFC 9112) or is incomplete. The error follows the responses to earlier
   * complete requests. It uses the pending response of the incomplete request, if there is one.
   */
  async function onClientError(error: NodeJS.ErrnoException, socket: Socket): Promise<void> {
    const { ids, urls: links } = await ready;
    const last = responsesBySocket.get(socket);
    const open = last?.closed ? undefined : last;
    // The response went out early; anything that still arrives is discarded.
    if (open?.headersSent && !open.writableEnded) return;
    // Over TLS no response can be sent before the handshake.
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
  /** Accepts connections on [::1] and passes them to `server`, which counts, limits and closes them. */
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
  // CONNECT requests a proxy; without a listener Node would close the socket silently. Node hands the socket over, so
  // its errors are handled here, such as a client that is gone.
  server.on("connect", ({ socket }) => {
    socket.on("error", () => socket.destroy());
    void onClientError(new Error("CONNECT"), socket);
  });
  server.on("clientError", onClientError);
  // A TLS connection has two sockets: one for the raw bytes and one for the requests.
  for (const opened of ["connection", "secureConnection"])
    server.on(opened, (socket: Socket) => {
      responsesBySocket.set(socket, undefined);
      socket.once("close", () => responsesBySocket.delete(socket));
    });

  return {
    /**
     * Listens on `host` and returns the port; port 0 takes any free one. A loopback name such as localhost means
     * 127.0.0.1, and [::1] if the machine has it. Rejects with the system's error (EADDRINUSE, EACCES).
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

    /** Sets the handler and starts handling requests, including those that already wait. */
    setHandler: setHandler,

    /** Stops accepting connections, waits up to 10 s for requests in flight, then closes every socket. */
    async stop(): Promise<void> {
      stopping = true;
      const closed = Promise.all([closeSocket(server), closeSocket(ipv6)]);
      const deadline = after(STOP_MS, () => server.closeAllConnections());
      // Requests that arrived but were not read yet get their turn.
      for (let turn = 0; turn < 2; turn += 1) await nextTurn();
      // Node does not count a connection without any bytes as idle.
      for (const socket of responsesBySocket.keys()) if (socket.bytesRead === 0) socket.destroy();
      // Node treats an ended response as sent and would cut off a client that is still reading.
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

/** Errors from binding [::1] on a machine without IPv6, or with IPv6 disabled. */
const NO_IPV6 = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT"]);

async function bind(server: NetServer, port: number, host: string): Promise<number> {
  await once(server.listen(port, host), "listening");
  return Object(server.address()).port;
}

/** Closes the listening socket but no connection; resolves once all connections have ended too. */
const closeSocket = (server: NetServer): Promise<void> =>
  new Promise((resolve) => NetServer.prototype.close.call(server, () => resolve()));

/** Returns alternating header names and values, as `writeHead` accepts them. */
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
