// The node:http servers: limits and timeouts (contract, part 8), loopback addresses (part 1), errors before there is a
// request, and the orderly stop.
import { once } from "node:events";
import { createServer, IncomingMessage, ServerResponse } from "node:http";
import { isIP, type Server, type Socket } from "node:net";
import { type AppError, fail } from "../domain/errors.ts";
import { after, nextTurn } from "../lib/clock.ts";
import type { Ids } from "../lib/ids.ts";
import { isLoopbackHost } from "../lib/loopback.ts";
import type { ConnectionFault, Handler, HttpResponse } from "./message.ts";
import { problemResponse } from "./problem.ts";
import {
  badRequest,
  hasUnknownLength,
  LIMITS,
  type Limits,
  MAX_HEADER_SIZE,
  parseRequest,
  parserErrorToAppError,
} from "./request.ts";
import type { ServiceUrls } from "./urls.ts";

/** Interval at which Node checks for timed-out requests; a timeout can fire this much late. */
const TIMEOUT_CHECK_MS = 250;
/** Time that requests in flight have to finish when the server stops. */
const STOP_MS = 10_000;
/** Errors from binding [::1] on a machine without IPv6, or with IPv6 disabled. */
const NO_IPV6 = ["EADDRNOTAVAIL", "EAFNOSUPPORT"];

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
  /** Open sockets, each with its latest response. */
  const responses = new Map<Socket, ServerResponse | undefined>();
  let connections = 0;
  let stopping = false;
  let setHandler: (deps: HttpServerDeps) => void = () => {};
  /** Requests that arrive between `listen` and `setHandler` wait for this. */
  const ready = new Promise<HttpServerDeps>((resolve) => {
    setHandler = resolve;
  });
  const ipv4 = createNodeServer();
  /** Listens on [::1] if the host is a loopback name. */
  const ipv6 = createNodeServer();

  function createNodeServer() {
    const options = {
      maxHeaderSize: MAX_HEADER_SIZE,
      headersTimeout: limits.headers_ms,
      requestTimeout: limits.request_ms,
      keepAliveTimeout: limits.idle_ms,
      handshakeTimeout: limits.headers_ms,
      connectionsCheckingInterval: Math.min(TIMEOUT_CHECK_MS, limits.headers_ms / 2),
      // Checked by `parseRequest`, because Node's own error has no body.
      requireHostHeader: false,
      noDelay: true,
    };
    const server = tls
      ? process.getBuiltinModule("node:https").createServer({ ...options, ...tls })
      : createServer(options);
    server.maxHeadersCount = 0;
    server.on("connection", onConnection);
    // A TLS connection has a second socket, for the requests.
    server.on("secureConnection", trackSocket);
    server.on("request", onRequest);
    server.on("checkContinue", onRequest);
    server.on("checkExpectation", onRequest);
    server.on("clientError", onClientError);
    // Node hands the socket over without a listener for its errors.
    server.on("connect", (_request, socket: Socket) => {
      socket.on("error", () => socket.destroy());
      void rejectConnection(socket, badRequest("CONNECT is for proxies."));
    });
    return server;
  }

  function onConnection(socket: Socket): void {
    trackSocket(socket);
    connections += 1;
    socket.once("close", () => {
      connections -= 1;
    });
    if (connections > limits.connections) socket.destroy();
  }

  function trackSocket(socket: Socket): void {
    responses.set(socket, undefined);
    socket.once("close", () => responses.delete(socket));
  }

  async function onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    responses.set(request.socket, response);
    const { ids, handle, urls, onError } = await ready;
    const id = ids.next("req_");
    try {
      sendResponse(response, id, await handle(parseRequest(id, request, response)), urls);
    } catch (error) {
      // Node also throws for a response that it cannot write, such as one with a line break in a header.
      onError(error, id);
      const problem = problemResponse(fail({ code: "internal_error" }), id, urls);
      if (response.headersSent) response.destroy();
      else sendResponse(response, id, problem, urls);
    }
  }

  function sendResponse(
    response: ServerResponse,
    id: string,
    { status, headers, body, connectionFault }: HttpResponse,
    { securityHeaders }: ServiceUrls,
    isLast = false,
  ): void {
    const { req: request } = response;
    if (response.destroyed || response.headersSent) return;
    if (connectionFault) {
      abortConnection(request, connectionFault);
      return;
    }
    // A client may leave out the body after an Expect, so the next request could start anywhere (RFC 9110 10.1.1).
    const isUnclear = request.headers.expect !== undefined && !request.complete;
    const closes = isLast || stopping || isUnclear || hasUnknownLength(request);
    response.writeHead(status, {
      "x-request-id": id,
      ...securityHeaders,
      ...headers,
      ...(closes && { connection: "close" }),
      ...(status !== 204 && status !== 304 && { "content-length": Buffer.byteLength(body) }),
    });
    request.socket.setTimeout(limits.unread_ms);
    response.end(request.method === "HEAD" ? "" : body);
  }

  /** Responds to input that is not a request (RFC 9112) or is incomplete, after the responses to earlier requests. */
  async function onClientError(error: NodeJS.ErrnoException, socket: Socket): Promise<void> {
    const latest = responses.get(socket);
    const pending = latest?.closed ? undefined : latest;
    const isIncomplete = latest?.req.complete === false;
    const isHttpError = /^(HPE|ERR_HTTP)_/.test(error.code ?? "");
    if (pending && !isIncomplete) pending.once("close", () => onClientError(error, socket));
    // An incomplete request may have its response already.
    else if (!isHttpError || !socket.writable || (isIncomplete && latest.headersSent))
      socket.destroy();
    else await rejectConnection(socket, parserErrorToAppError(error, socket.bytesRead), pending);
  }

  /** Sends the error and closes the connection. `response` belongs to an incomplete request. */
  async function rejectConnection(
    socket: Socket,
    error: AppError,
    response?: ServerResponse,
  ): Promise<void> {
    const { ids, urls } = await ready;
    const id = ids.next("req_");
    const last = response ?? new ServerResponse(new IncomingMessage(socket));
    if (!response) last.assignSocket(socket);
    // A handler may be waiting for the rest of the body.
    last.once("close", () => last.req.destroy());
    last.once("finish", () => socket.destroySoon());
    sendResponse(last, id, problemResponse(error, id, urls), urls, true);
  }

  return {
    /**
     * Listens on `host` and returns the port; port 0 takes any free one. A loopback name such as localhost means
     * 127.0.0.1, and [::1] if the machine has it. Rejects with the system's error (EADDRINUSE, EACCES).
     */
    async listen(port: number, host: string): Promise<number> {
      if (isIP(host) !== 0 || !isLoopbackHost(host)) return bind(ipv4, port, host);
      const boundPort = await bind(ipv4, port, "127.0.0.1");
      try {
        return await bind(ipv6, boundPort, "::1");
      } catch (error) {
        const { code = "" } = error as NodeJS.ErrnoException;
        if (NO_IPV6.includes(code)) return boundPort;
        if (port !== 0 || code !== "EADDRINUSE") throw error;
        await close(ipv4);
        return this.listen(port, host);
      }
    },

    /** Sets the handler and starts handling requests, including those that already wait. */
    setHandler,

    /** Stops accepting connections, waits up to 10 s for requests in flight, then closes every socket. */
    async stop(): Promise<void> {
      stopping = true;
      const deadline = after(STOP_MS, () => {
        ipv4.closeAllConnections();
        ipv6.closeAllConnections();
      });
      // Requests that arrived but were not read yet get their turn.
      await nextTurn();
      await nextTurn();
      // Node regards a response as sent once it was handed over, and would cut off a client that still reads it.
      for (const response of [...responses.values()])
        if (response?.writableEnded && !response.closed) await once(response, "close");
      // Node regards a connection without any bytes as active.
      for (const socket of responses.keys()) if (socket.bytesRead === 0) socket.destroy();
      await Promise.all([close(ipv4), close(ipv6)]);
      deadline.cancel();
    },
  };
}

/** Ends a connection without a response. A TLS connection cannot be reset on its own, so it is destroyed. */
function abortConnection(request: IncomingMessage, fault: ConnectionFault): void {
  const { socket } = request;
  request.resume();
  if (fault === "empty") socket.destroySoon();
  else if ("encrypted" in socket) socket.destroy();
  else socket.resetAndDestroy();
}

async function bind(server: Server, port: number, host: string): Promise<number> {
  await once(server.listen(port, host), "listening");
  const address = server.address();
  return typeof address === "object" && address ? address.port : port;
}

/** Closes the listening socket and idle connections; resolves once all connections have ended. */
const close = (server: Server): Promise<void> =>
  new Promise((resolve) => server.close(() => resolve()));
