// Fault-injecting proxy: lets a fault change requests, responses and deliveries. Deliveries pass through it, because
// webhooks to this machine are registered with a proxy address instead. Without a fault it is transparent. It counts
// how often the fault changed a message. Webhooks to https and webhooks updated later bypass it.
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from "node:http";
import { text } from "node:stream/consumers";
import { isDeepStrictEqual } from "node:util";
import { serviceSignature } from "../../src/lib/signature.ts";
import { listen } from "../../test/support/ports.ts";
import { objectIn } from "../../test/support/shown.ts";
import { header, type Wrong } from "./ways.ts";

export interface Message {
  readonly method: string;
  /** Path and query at the server; the full URL for a delivery. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The webhook's secret, if this is a delivery. */
  readonly secret?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export type Send = (message: Message) => Promise<Answer>;

export const SIGNATURE = "x-service-signature";
const HOOKS = "/_hook/";
const SHOWN = new RegExp(`(?<=")http[^"]*${HOOKS}(\\d+)(?=")`, "g");
const TO_LOOPBACK = /^http:\/\/(localhost|127\.|\[::1\])/;
/** Longer than any client pauses. */
const KEPT_MS = 60_000;
/** Headers of one connection, or computed anew; accept-encoding, because a compressed body could not be changed. */
const OWN = new Set(
  "connection keep-alive transfer-encoding content-length accept-encoding".split(" "),
);

/** `port`: where the server listens, or will listen. */
export async function startProxy(port: number, { way = (asked, send) => send(asked) }: Wrong = {}) {
  const hooks: { readonly url: string; secret: string }[] = [];
  let fired = 0;

  async function through(asked: Message, send: Send): Promise<Answer> {
    const gone: [Message, Answer][] = [];
    const answer = await way(asked, async (message) => {
      const answered = await send(signedAgain(message, asked));
      gone.push([message, answered]);
      return answered;
    });
    if (!isDeepStrictEqual(gone, [[asked, answer]])) fired += 1;
    return answer;
  }

  async function toServer(asked: Message, signal: AbortSignal): Promise<Answer> {
    const webhook =
      asked.method === "POST" && asked.url === "/v1/webhooks" ? objectIn(asked.body) : {};
    const hook = { url: String(webhook.url), secret: String(webhook.secret ?? "") };
    const led = () =>
      JSON.stringify({ ...webhook, url: `${address}${HOOKS}${hooks.push(hook) - 1}` });
    const body = TO_LOOPBACK.test(hook.url) ? led() : asked.body;
    const answer = await exchange(
      { ...asked, url: `http://127.0.0.1:${port}${asked.url}`, body },
      signal,
    );
    // Without a secret in the request, the server generated one.
    hook.secret ||= String(objectIn(answer.body).secret);
    return { ...answer, body: answer.body.replaceAll(SHOWN, (at, n) => hooks[n]?.url ?? at) };
  }

  /** Aborts the request if the client disconnects; closes the connection if there is no response. */
  async function pass(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "", headers } = incoming;
    const given = new AbortController();
    response.on("close", () => response.writableEnded || given.abort());
    const hook = url.startsWith(HOOKS) ? hooks[Number(url.slice(HOOKS.length))] : undefined;
    const onward = hook ? exchange : toServer;
    try {
      const asked = { method, url, headers, body: await text(incoming), ...hook };
      const answer = await through(asked, (message) => onward(message, given.signal));
      response.writeHead(answer.status, passed(answer.headers)).end(answer.body);
    } catch {
      response.destroy();
    }
  }

  const server = createServer({ keepAliveTimeout: KEPT_MS }, pass);
  const address = `http://127.0.0.1:${await listen(server)}`;
  return { url: address, fired: () => fired, close: () => server.close().closeAllConnections() };
}

/** Signs a delivery again if only its body was changed. */
const signedAgain = (message: Message, { body, headers }: Message): Message =>
  message.secret === undefined ||
  message.body === body ||
  message.headers[SIGNATURE] !== headers[SIGNATURE]
    ? message
    : header(message, SIGNATURE, serviceSignature(message.body, message.secret));

const passed = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(
    Object.entries(headers).filter(([name, value]) => value !== undefined && !OWN.has(name)),
  );

async function exchange(
  { method, url, headers, body }: Message,
  signal: AbortSignal,
): Promise<Answer> {
  const sent = {
    ...passed(headers),
    ...(body !== "" && { "content-length": Buffer.byteLength(body) }),
  };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    // A kept-alive connection may close just as it is reused, so each request opens a new one.
    request(url, { method, headers: sent, signal, agent: false })
      .on("response", resolve)
      .on("error", reject)
      .end(body);
  });
  const { statusCode: status = 0, headers: got } = answer;
  return { status, headers: got, body: await text(answer) };
}
