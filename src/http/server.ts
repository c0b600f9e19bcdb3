// The node:http servers: limits and timeouts (8.bounds), loopback addresses, errors before there is a request, and the
// orderly stop.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { isIP, type Server, type Socket } from "node:net";
import { after, nextTurn } from "../lib/clock.ts";
import type { Ids } from "../lib/ids.ts";
import { isLoopbackHost } from "../lib/loopback.ts";
import type { ConnectionFault, HttpResponse, RequestHandler, ServiceUrls } from "./message.ts";
import { problemResponse } from "./problem.ts";
import { LIMITS, type Limits, parseRequest, parserErrorToAppError } from "./request.ts";

/** The reason phrases of status codes. */
export { STATUS_CODES };

/** Interval at which Node checks for timed-out requests; a timeout can fire this much late. */
const TIMEOUT_CHECK_MS = 250;
/** Time that requests in flight have to finish when the server stops. */
const STOP_MS = 10_000;
/** Errors from binding [::1] on a machine without IPv6, or with IPv6 disabled. */
const NO_IPV6 = ["EADDRNOTAVAIL", "EAFNOSUPPORT"];

export interface HttpServerDeps {
  readonly ids: Ids;
  readonly handle: RequestHandler;
  readonly urls: ServiceUrls;
  readonly onError: (error: unknown, requestId: string) => void;
}

export interface Tls {
  readonly cert: string;
  readonly key: string;
}

/** Tests pass their own `limits` because they cannot wait for the real ones. */
export function createHttpServer(tls?: Tls, limits: Limits = LIMITS) {
  /** Open sockets, each with its latest response. */
  const responses = new Map<Socket, ServerResponse | undefined>();
  let stopping = false;
  let isReady = false;
  let setHandler: (deps: HttpServerDeps) => void = () => {};
  /** Requests that arrive between `listen` and `setHandler` wait for this. */
  const ready = new Promise<HttpServerDeps>((resolve) => {
    setHandler = (deps) => {
      isReady = true;
      resolve(deps);
    };
  });
  const ipv4 = createNodeServer();
  /** Listens on [::1] if the host is a loopback name. */
  const ipv6 = createNodeServer();

  function createNodeServer() {
    const options = {
      maxHeaderSize: limits.header_bytes,
      headersTimeout: limits.headers_ms,
      requestTimeout: limits.request_ms,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      // Checked by `parseRequest`, because Node's own error has no body.
      requireHostHeader: false,
      // A second credential makes the header invalid; Node would ignore it.
      joinDuplicateHeaders: true,
    };
    const server = tls
      ? process.getBuiltinModule("node:https").createServer({ ...options, ...tls })
      : createServer(options);
    server.maxConnections = limits.connections;
    server.on("connection", trackSocket);
    // A TLS connection has a second socket, for the requests.
    server.on("secureConnection", trackSocket);
    server.on("request", onRequest);
    server.on("clientError", onClientError);
    return server;
  }

  function trackSocket(socket: Socket): void {
    responses.set(socket, undefined);
    socket.once("close", () => responses.delete(socket));
  }

  async function onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    responses.set(request.socket, response);
    const { ids, handle, onError } = await ready;
    const id = ids.next("req_");
    try {
      const parsed = parseRequest(id, request);
      sendResponse(response, parsed.responseHeaders, await handle(parsed));
    } catch (error) {
      // Node throws for a response that it cannot write, such as one with a line break in a header.
      onError(error, id);
      response.destroy();
    }
  }

  function sendResponse(
    response: ServerResponse,
    headers: Record<string, string>,
    result: HttpResponse,
  ): void {
    const { status, body, connectionFault } = result;
    if (response.destroyed) return;
    if (connectionFault) {
      abortConnection(response.req, connectionFault);
      return;
    }
    Object.assign(headers, result.headers);
    if (stopping) headers.connection = "close";
    if (status !== 204 && status !== 304) headers["content-length"] = `${Buffer.byteLength(body)}`;
    response.writeHead(status, headers).end(body);
    // A pipelined response gets the socket at its turn, and writes to it at once.
    if (response.socket) limitReading(response);
    else response.once("socket", () => nextTurn().then(() => limitReading(response)));
  }

  /** If the client reads slowly, closes the connection once it stops reading for `unread_ms`. */
  function limitReading({ socket, writableLength }: ServerResponse): void {
    if (socket && writableLength > 0) socket.setTimeout(limits.unread_ms);
  }

  /** Responds to input that is not HTTP (RFC 9112) or did not arrive in time, and closes the connection. */
  async function onClientError(error: NodeJS.ErrnoException, socket: Socket): Promise<void> {
    const latest = responses.get(socket);
    const isHandling = latest !== undefined && !latest.writableEnded;
    const isIncomplete = latest?.req.complete === false;
    const isHttpError = /^(HPE|ERR_HTTP)_/.test(error.code ?? "");
    // A complete request that is being handled gets its own response; an incomplete one may have been answered already.
    if (!isHttpError || !socket.writable || isHandling !== isIncomplete) {
      socket.destroy();
      return;
    }
    const { ids, urls } = await ready;
    const id = ids.next("req_");
    const { status, headers, body } = problemResponse(parserErrorToAppError(error), id, urls);
    const lines = Object.entries({
      ...headers,
      "x-request-id": id,
      "content-length": Buffer.byteLength(body),
      connection: "close",
    }).map(([name, value]) => `${name}: ${value}`);
    const statusLine = `HTTP/1.1 ${status} ${STATUS_CODES[status]}`;
    socket.write([statusLine, ...lines, "", body].join("\r\n"));
    socket.destroySoon();
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
        for (const socket of responses.keys()) socket.destroy();
      });
      // Node counts a response as finished once it is buffered. Wait until the client has received it.
      for (const [socket, response] of responses)
        if (response?.writableEnded && !response.closed && !socket.destroyed)
          await new Promise((resolve) => {
            response.once("close", resolve);
            socket.once("close", resolve); // a pipelined response may never get the socket
          });
      // Node regards a connection without any bytes as active. Without a handler, no request gets a response.
      for (const socket of responses.keys())
        if (!isReady || socket.bytesRead === 0) socket.destroy();
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
