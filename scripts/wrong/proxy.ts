// Proxy that applies a fault's patch to requests, responses and deliveries. Webhooks to this machine are registered
// with a proxy address instead, so that deliveries pass through it too. Without a fault it is transparent. Webhooks to
// https and webhooks updated later bypass it.
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { text } from "node:stream/consumers";
import { isDeepStrictEqual } from "node:util";
import { serviceSignature } from "../../src/lib/signature.ts";
import { listen } from "../../test/support/ports.ts";
import { objectIn } from "../../test/support/shown.ts";
import {
  type FaultyServer,
  type ProxyRequest,
  type ProxyResponse,
  type Send,
  withHeader,
} from "./patches.ts";

export const SIGNATURE = "x-service-signature";
const HOOK_PATH = "/_hook/";
const HOOK_URL = new RegExp(`(?<=")http[^"]*${HOOK_PATH}(\\d+)(?=")`, "g");
const LOOPBACK_URL = /^http:\/\/(localhost|127\.|\[::1\])/;
/** Longer than any client pauses. */
const KEEP_ALIVE_MS = 60_000;
/** Headers of one connection, or computed anew; accept-encoding, because a compressed body could not be changed. */
const HOP_HEADERS = new Set(
  "connection keep-alive transfer-encoding content-length accept-encoding".split(" "),
);

/** `port`: where the server listens, or will listen. */
export async function startProxy(port: number, { patch = passThrough }: FaultyServer = {}) {
  const hooks: { readonly url: string; secret: string }[] = [];
  let patchCount = 0;

  async function applyPatch(request: ProxyRequest, send: Send) {
    const exchanges: [ProxyRequest, ProxyResponse][] = [];
    const response = await patch(request, async (changed) => {
      const received = await send(resign(changed, request));
      exchanges.push([changed, received]);
      return received;
    });
    if (!isDeepStrictEqual(exchanges, [[request, response]])) patchCount += 1;
    return response;
  }

  async function sendToServer(request: ProxyRequest, signal: AbortSignal) {
    const isCreate = request.method === "POST" && request.url === "/v1/webhooks";
    const webhook = isCreate ? objectIn(request.body) : {};
    const hook = { url: String(webhook.url), secret: String(webhook.secret ?? "") };
    const body = LOOPBACK_URL.test(hook.url)
      ? JSON.stringify({ ...webhook, url: `${address}${HOOK_PATH}${hooks.push(hook) - 1}` })
      : request.body;
    const url = `http://127.0.0.1:${port}${request.url}`;
    const response = await exchange({ ...request, url, body }, signal);
    // Without a secret in the request, the server generated one.
    hook.secret ||= String(objectIn(response.body).secret);
    return {
      ...response,
      body: response.body.replaceAll(HOOK_URL, (found, n) => hooks[n]?.url ?? found),
    };
  }

  /** Aborts the request if the client disconnects; closes the connection if there is no response. */
  async function handle(incoming: IncomingMessage, outgoing: ServerResponse) {
    const { method = "", url = "", headers } = incoming;
    const aborter = new AbortController();
    outgoing.on("close", () => outgoing.writableEnded || aborter.abort());
    const hook = url.startsWith(HOOK_PATH) ? hooks[Number(url.slice(HOOK_PATH.length))] : undefined;
    const target = hook ? exchange : sendToServer;
    try {
      const request = { method, url, headers, body: await text(incoming), ...hook };
      const response = await applyPatch(request, (sent) => target(sent, aborter.signal));
      outgoing.writeHead(response.status, endToEnd(response.headers)).end(response.body);
    } catch {
      outgoing.destroy();
    }
  }

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, handle);
  const address = `http://127.0.0.1:${await listen(server)}`;
  return {
    url: address,
    /** The number of messages that the patch changed. */
    patched: () => patchCount,
    close: () => server.close().closeAllConnections(),
  };
}

const passThrough = (request: ProxyRequest, send: Send) => send(request);

/** Signs a delivery again if only its body was changed. */
function resign(changed: ProxyRequest, { body, headers }: ProxyRequest): ProxyRequest {
  const isSigned = changed.headers[SIGNATURE] !== headers[SIGNATURE];
  if (changed.secret === undefined || changed.body === body || isSigned) return changed;
  return withHeader(changed, SIGNATURE, serviceSignature(changed.body, changed.secret));
}

const endToEnd = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(
    Object.entries(headers).filter(
      ([name, value]) => value !== undefined && !HOP_HEADERS.has(name),
    ),
  );

async function exchange({ method, url, headers, body }: ProxyRequest, signal: AbortSignal) {
  const length = body === "" ? {} : { "content-length": Buffer.byteLength(body) };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    // A kept-alive connection may close just as it is reused, so each request opens a new one.
    httpRequest(url, { method, headers: { ...endToEnd(headers), ...length }, signal, agent: false })
      .on("response", resolve)
      .on("error", reject)
      .end(body);
  });
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: await text(response),
  };
}
