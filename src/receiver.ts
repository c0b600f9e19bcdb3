// A correct receiver of deliveries (spec part 6, receiving endpoint requirements), for tests and to learn from. It reads
// the raw body, verifies the signature first, takes each event once and responds at once. A test can script its
// responses, so that it fails.
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { buffer } from "node:stream/consumers";
import type { EventEnvelope, EventType } from "./domain/model.ts";
import { monotonicNow, within } from "./lib/clock.ts";
import { toUrlHost } from "./lib/loopback.ts";
import { verifySignature } from "./lib/signature.ts";
import { type ReceiverAnswer, readOptions, receiverOptions } from "./options.ts";

export interface ReceiverOptions {
  readonly secret: string;
  /** One per delivery with a valid signature; the last repeats. Default 200. */
  readonly answers?: readonly ReceiverAnswer[];
  /** Default: any free port. */
  readonly port?: number;
  /** The address to listen on; default 127.0.0.1. */
  readonly host?: string;
  /** Called for every delivery after its response, including those with an invalid signature. */
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

export async function startReceiver(options: ReceiverOptions) {
  const { secret, answers, port, host } = readOptions(receiverOptions, {
    ...options,
    port: options.port ?? 0,
  });
  /** Events with a valid signature, in the order of their first arrival. */
  const received: ReceivedEvent[] = [];
  const returnedByNext = new Set<ReceivedEvent>();
  const arrivals = new EventEmitter().setMaxListeners(0);
  let verifiedCount = 0;

  function handleDelivery(headers: IncomingHttpHeaders, body: Buffer): SeenRequest {
    const rawBody = body.toString();
    // Verified over the raw bytes: parsing and serializing again would change them.
    if (!verifySignature(body, headers["x-service-signature"], secret))
      return { headers, rawBody, answer: 401, result: "bad signature" };
    const event: EventEnvelope = JSON.parse(rawBody);
    const { id, type } = event;
    if (typeof id !== "string") throw new TypeError("The body is not an event");
    const answer = answers[verifiedCount] ?? answers.at(-1) ?? 200;
    verifiedCount += 1;
    const attempt = { headers, rawBody, answer };
    const earlier = received.find((each) => each.id === id);
    if (earlier) earlier.attempts.push(attempt);
    else received.push({ id, type, event, rawBody, attempts: [attempt] });
    arrivals.emit("event");
    return { ...attempt, result: earlier ? "seen before" : "new" };
  }

  const server = createServer(async (request, response) => {
    let seen: SeenRequest;
    try {
      seen = handleDelivery(request.headers, await buffer(request));
    } catch {
      response.writeHead(400).end(); // the connection broke, or a signed body is not an event
      return;
    }
    const { answer, result } = seen;
    const reason =
      result === "bad signature"
        ? "The signature does not match the secret that this receiver was started with."
        : "";
    if (answer !== "hang") response.writeHead(answer).end(reason);
    // Last, so that its exception is neither swallowed nor changes the response.
    options.onRequest?.(seen);
  });
  server.listen({ port, host });
  await once(server, "listening");

  const closed = once(server, "close");
  async function close(): Promise<void> {
    server.close().closeAllConnections();
    await closed;
  }

  return {
    url: `http://${toUrlHost(host)}:${Object(server.address()).port}/`,
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
        const wait = new AbortController();
        const arrival = once(arrivals, "event", { signal: wait.signal });
        if (!(await within(deadline - monotonicNow(), arrival))) {
          wait.abort(); // removes the listener
          const types = received.map((each) => each.type).join(", ") || "nothing";
          throw new Error(`No ${type} within ${timeoutMs} ms; received: ${types}`);
        }
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
