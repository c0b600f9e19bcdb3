// A correct receiver of deliveries (spec part 6, receiving endpoint requirements), for tests and to learn from. It reads
// the raw body, verifies the signature first, takes each event once and responds at once. A test can script its
// responses, so that it fails.
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { EventEnvelope, EventType } from "./domain/model.ts";
import { monotonicNow, within } from "./lib/clock.ts";
import { toUrlHost } from "./lib/loopback.ts";
import { object, strip, withDefault } from "./lib/schema.ts";
import { verifySignature } from "./lib/signature.ts";
import { anyText, parsed, portNumber, readOptions } from "./options.ts";

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

function toAnswers(given: unknown): readonly ReceiverAnswer[] | undefined {
  const toAnswer = (text: string): ReceiverAnswer => (text === "hang" ? text : Number(text));
  const answers = String(given).split(",").map(toAnswer);
  return answers.every((answer) => answer === "hang" || (answer >= 200 && answer <= 599))
    ? answers
    : undefined;
}

/** The options of the command; `startReceiver` has another default port. */
export const receiverOptions = strip(
  object({
    secret: anyText,
    port: withDefault(portNumber, 4700),
    host: withDefault(anyText, "127.0.0.1"),
    answers: parsed('statuses from 200 to 599, or "hang"', [200], toAnswers, toAnswers),
  }),
);

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
  const given = { ...options, port: options.port ?? 0 };
  const { secret, answers, port, host } = readOptions(receiverOptions, given);
  /** Events with a valid signature, in the order of their first arrival. */
  const received: ReceivedEvent[] = [];
  const returnedByNext = new Set<ReceivedEvent>();
  const arrivals = new EventEmitter().setMaxListeners(0);
  let verifiedCount = 0;

  function handleDelivery(headers: IncomingHttpHeaders, body: Buffer): ReceiverAnswer {
    const rawBody = body.toString();
    // Verified over the raw bytes: parsing and serializing again would change them.
    if (!verifySignature(body, headers["x-service-signature"], secret)) {
      options.onRequest?.({ headers, rawBody, answer: 401, result: "bad signature" });
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
    options.onRequest?.({ ...attempt, result: earlier ? "seen before" : "new" });
    return answer;
  }

  const server = createServer(async (request, response) => {
    let answer: ReceiverAnswer;
    try {
      answer = handleDelivery(request.headers, await buffer(request));
    } catch {
      answer = 400; // the connection broke, or a signed body is not an event
    }
    if (answer !== "hang") response.writeHead(answer).end();
  });
  server.listen({ port, host });
  await once(server, "listening");
  const bound = server.address() as AddressInfo;

  const closed = once(server, "close");
  async function close(): Promise<void> {
    server.close().closeAllConnections();
    await closed;
  }

  return {
    url: `http://${toUrlHost(host)}:${bound.port}/`,
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
