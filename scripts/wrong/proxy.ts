// Stands before a server and lets a fault change what goes by: requests with their answers, and deliveries, because a
// webhook that leads to this machine is registered with an address here instead. Without a fault nobody sees that it is
// there. It counts how often the fault changed anything. What goes past it: webhooks that lead to https, or are changed later.
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
  /** Path and query at the server; the whole address of a delivery. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Of the webhook, where this is a delivery. */
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
/** Longer than anybody pauses. */
const KEPT_MS = 60_000;
/** What belongs to one connection or is told anew; what is compressed could not be changed. */
const OWN = new Set(
  "connection keep-alive transfer-encoding content-length accept-encoding".split(" "),
);

/** `port`: where the server is, or will be. */
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
    // Where no secret was given, the server made one.
    hook.secret ||= String(objectIn(answer.body).secret);
    return { ...answer, body: answer.body.replaceAll(SHOWN, (at, n) => hooks[n]?.url ?? at) };
  }

  /** Whoever gives up waiting is given up; where no answer comes, none is made. */
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

/** A delivery of which only the body was changed is well signed. */
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
    // A connection that was kept may be closed by the other side just when it is used again.
    request(url, { method, headers: sent, signal, agent: false })
      .on("response", resolve)
      .on("error", reject)
      .end(body);
  });
  const { statusCode: status = 0, headers: got } = answer;
  return { status, headers: got, body: await text(answer) };
}
