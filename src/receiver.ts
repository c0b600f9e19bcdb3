// A correct receiver of deliveries (spec part 6, receiving endpoint requirements), for tests and to learn from. It reads
// the raw body, verifies the signature first, takes each event once and responds at once. A test can script its
// responses, so that it fails.
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { EventEnvelope, EventType } from "./domain/model.ts";
import { monotonicNow, within } from "./lib/clock.ts";
import { OptionError } from "./lib/schema.ts";
import { verifySignature } from "./lib/signature.ts";

/** A status, or no response at all. */
export type ReceiverAnswer = number | "hang";

export interface ReceiverOptions {
  readonly secret: string;
  /** One per delivery with a valid signature; the last repeats. Default 200. */
  readonly answers?: readonly ReceiverAnswer[];
  /** Default: any free port. */
  readonly port?: number;
  /** The address to listen on; default 127.0.0.1. */
  readonly host?: string;
  /** Called for every delivery, including those with an invalid signature. */
  readonly onRequest?: (request: SeenRequest) => void;
}

/** An event with every attempt that delivered it. */
export interface ReceivedEvent {
  readonly id: string;
  readonly type: EventType;
  readonly event: EventEnvelope;
  readonly rawBody: string;
  readonly attempts: ReceivedAttempt[];
}

export interface ReceivedAttempt {
  readonly headers: IncomingHttpHeaders;
  readonly rawBody: string;
  readonly answer: ReceiverAnswer;
}

export interface SeenRequest extends ReceivedAttempt {
  readonly result: "new" | "seen before" | "bad signature";
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

const BODY_BYTES_MAX = 1024 * 1024;

export async function startReceiver(options: ReceiverOptions) {
  const { secret, answers = [200], port = 0, host = "127.0.0.1", onRequest } = options;
  checkOptions(secret, answers);
  /** Events with a valid signature, in the order of their first arrival. */
  const received: ReceivedEvent[] = [];
  const returnedByNext = new Set<ReceivedEvent>();
  const arrivals = new EventEmitter().setMaxListeners(0);
  let verifiedCount = 0;

  function handleDelivery(headers: IncomingHttpHeaders, body: Buffer): ReceiverAnswer {
    const rawBody = body.toString();
    // Verified over the raw bytes: parsing and serializing again would change them.
    if (!verifySignature(body, headers["x-service-signature"], secret)) {
      onRequest?.({ headers, rawBody, answer: 401, result: "bad signature" });
      return 401;
    }
    const event: EventEnvelope = JSON.parse(rawBody);
    if (typeof event.id !== "string") throw new TypeError("The body is not an event");
    const answer = answers[verifiedCount] ?? answers.at(-1) ?? 200;
    verifiedCount += 1;
    const attempt = { headers, rawBody, answer };
    const earlier = received.find(({ id }) => id === event.id);
    if (earlier) earlier.attempts.push(attempt);
    else received.push({ id: event.id, type: event.type, event, rawBody, attempts: [attempt] });
    arrivals.emit("event");
    onRequest?.({ ...attempt, result: earlier ? "seen before" : "new" });
    return answer;
  }

  /** Returns 413 if the body is too large and 400 if a signed body is not an event. */
  async function respond(request: IncomingMessage): Promise<ReceiverAnswer> {
    try {
      const body = await readBody(request);
      return body === undefined ? 413 : handleDelivery(request.headers, body);
    } catch {
      return 400;
    }
  }

  const server = createServer(async (request, response) => {
    const answer = await respond(request);
    if (answer !== "hang") response.writeHead(answer).end();
  });
  server.listen({ port, host });
  await once(server, "listening");
  const bound = server.address() as AddressInfo;
  const reachable = ["0.0.0.0", "::"].includes(host) ? "127.0.0.1" : host;
  const urlHost = reachable.includes(":") ? `[${reachable}]` : reachable;

  const closed = once(server, "close");
  async function close(): Promise<void> {
    server.close().closeAllConnections();
    await closed;
  }

  return {
    url: `http://${urlHost}:${bound.port}/`,
    received,
    /** Returns the next event of this type that no earlier call returned; rejects after the timeout (5 s). */
    async next(type: EventType, { timeoutMs = 5_000 } = {}): Promise<ReceivedEvent> {
      const deadline = monotonicNow() + timeoutMs;
      for (;;) {
        const event = received.find((each) => each.type === type && !returnedByNext.has(each));
        if (event) {
          returnedByNext.add(event);
          return event;
        }
        if (await within(deadline - monotonicNow(), once(arrivals, "event"))) continue;
        const types = received.map((each) => each.type).join(", ") || "nothing";
        throw new Error(`No ${type} within ${timeoutMs} ms; received: ${types}`);
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function checkOptions(secret: unknown, answers: unknown): void {
  if (typeof secret !== "string" || secret === "")
    throw new OptionError("secret must be that of the webhook");
  if (!Array.isArray(answers)) throw new OptionError("answers must be an array");
  for (const [index, answer] of answers.entries())
    if (answer !== "hang" && !(Number.isInteger(answer) && answer >= 200 && answer <= 599))
      throw new OptionError(`answers[${index}] must be a status from 200 to 599, or "hang"`);
}

/** Returns undefined for a body that is too large. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size <= BODY_BYTES_MAX) chunks.push(chunk);
  }
  return size <= BODY_BYTES_MAX ? Buffer.concat(chunks) : undefined;
}
