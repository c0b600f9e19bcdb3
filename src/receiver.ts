// A correct receiver of deliveries (spec part 6, receiving endpoint requirements), for tests and to learn from. It
// reads the raw body, verifies the signature first, takes each event once and responds at once. Its responses are
// scripted, so that a test can make it fail.
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { AppError } from "./domain/errors.ts";
import type { EventEnvelope, EventType } from "./domain/model.ts";
import { readBody } from "./http/request.ts";
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
  readonly onRequest?: (seen: SeenRequest) => void;
}

/** A deduplicated event with every attempt that delivered it. */
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
  const { secret, answers = [], port = 0, host = "127.0.0.1" } = options;
  if (typeof secret !== "string" || secret === "")
    throw new OptionError("secret must be that of the webhook");
  if (!Array.isArray(answers)) throw new OptionError("answers must be an array");
  const isFit = (answer: unknown) =>
    answer === "hang" || (Number.isInteger(answer) && /^[2-5]\d\d$/.test(String(answer)));
  const wrong = answers.findIndex((answer) => !isFit(answer));
  if (wrong >= 0)
    throw new OptionError(`answers[${wrong}] must be a status from 200 to 599, or "hang"`);
  const { received, take, next } = createInbox(options);
  const server = createServer((request, response) => {
    const end = (answer: ReceiverAnswer) => answer !== "hang" && response.writeHead(answer).end();
    // 400 for a signed body that is not an event, 413 if it is too large. The response is dropped if the sender has
    // disconnected.
    const taken = readBody(request, 1024 * 1024).then((body) => take(request.headers, body));
    taken.catch(() => 400).then(end);
  });
  server.listen({ port, host });
  await once(server, "listening");
  const closed = once(server, "close");
  const close = async () => {
    server.close().closeAllConnections();
    await closed;
  };
  const bound = Object(server.address()).port;
  const reached = ["0.0.0.0", "::"].includes(host) ? "127.0.0.1" : host;
  const shown = reached.includes(":") ? `[${reached}]` : reached;
  return { url: `http://${shown}:${bound}/`, received, next, close, [Symbol.asyncDispose]: close };
}

function createInbox({ secret, answers = [], onRequest }: ReceiverOptions) {
  /** Events with a valid signature, deduplicated, in the order of their first arrival. */
  const received: ReceivedEvent[] = [];
  const byId = new Map<string, ReceivedEvent>();
  const given = new Set<ReceivedEvent>();
  const arrivals = new EventEmitter().setMaxListeners(0);
  let answered = 0;

  function take(headers: IncomingHttpHeaders, body: Buffer | AppError): ReceiverAnswer {
    if (body instanceof AppError) return 413;
    const rawBody = body.toString();
    // Verified over the raw bytes: parsing and serializing again would change them.
    const isSigned = verifySignature(body, headers["x-service-signature"], secret);
    const answer = isSigned ? (answers[answered] ?? answers.at(-1) ?? 200) : 401;
    const attempt = { headers, rawBody, answer };
    const result = isSigned ? noted(attempt) : "bad signature";
    if (isSigned) answered += 1;
    arrivals.emit("request");
    onRequest?.({ ...attempt, result });
    return answer;
  }

  /** Deduplicates events by id. */
  function noted(attempt: ReceivedAttempt): SeenRequest["result"] {
    const { rawBody } = attempt;
    const event: EventEnvelope = JSON.parse(rawBody);
    const { id, type } = event;
    if (typeof id !== "string") throw new TypeError("This is no event");
    const known = byId.get(id);
    known?.attempts.push(attempt);
    if (known) return "seen before";
    const first = { id, type, event, rawBody, attempts: [attempt] };
    byId.set(id, first);
    received.push(first);
    return "new";
  }

  /** Returns the next event of this type that no earlier call returned; rejects after the timeout (5 s). */
  async function next(type: EventType, { timeoutMs = 5_000 } = {}): Promise<ReceivedEvent> {
    const until = monotonicNow() + timeoutMs;
    for (;;) {
      const found = received.find((each) => each.type === type && !given.has(each));
      if (found) {
        given.add(found);
        return found;
      }
      if (await within(until - monotonicNow(), once(arrivals, "request"))) continue;
      const types = received.map((each) => each.type).join(", ") || "nothing";
      throw new Error(`No ${type} within ${timeoutMs} ms; received: ${types}`);
    }
  }

  return { received, take, next };
}
