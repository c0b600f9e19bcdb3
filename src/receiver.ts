// A correct receiver of deliveries (spec part 6, receiving endpoint requirements), for tests and to learn from: it reads
// the raw body, checks the signature before anything else, takes each event once whatever is sent again, and answers at
// once. What it answers is scripted, so that a test can have it fail.
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { AppError } from "./domain/errors.ts";
import type { EventEnvelope, EventType } from "./domain/model.ts";
import { readBody } from "./http/request.ts";
import { monotonicNow, within } from "./lib/clock.ts";
import { OptionError } from "./lib/schema.ts";
import { verifySignature } from "./lib/signature.ts";

/** A status, or no answer at all. */
export type ReceiverAnswer = number | "hang";

export interface ReceiverOptions {
  /** The webhook's secret. */
  readonly secret: string;
  /** One for each delivery with a right signature, the last again and again; 200 if absent. */
  readonly answers?: readonly ReceiverAnswer[];
  /** A free port if absent. */
  readonly port?: number;
  /** The address to listen on; 127.0.0.1 if absent. */
  readonly host?: string;
  /** Told of every delivery, also with a bad signature. */
  readonly onRequest?: (seen: SeenRequest) => void;
}

/** An event, once, with every attempt at which it came. */
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
    // What is signed and yet no event gets 400, what is far larger 413; a sender that has gone away does not hear it.
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
  /** The events that came with a right signature, each once, in the order of their first arrival. */
  const received: ReceivedEvent[] = [];
  const byId = new Map<string, ReceivedEvent>();
  const given = new Set<ReceivedEvent>();
  const arrivals = new EventEmitter().setMaxListeners(0);
  let answered = 0;

  function take(headers: IncomingHttpHeaders, body: Buffer | AppError): ReceiverAnswer {
    if (body instanceof AppError) return 413;
    const rawBody = body.toString();
    // Over the bytes as they came: parsing and writing again would give others.
    const isSigned = verifySignature(body, headers["x-service-signature"], secret);
    const answer = isSigned ? (answers[answered] ?? answers.at(-1) ?? 200) : 401;
    const attempt = { headers, rawBody, answer };
    const result = isSigned ? noted(attempt) : "bad signature";
    if (isSigned) answered += 1;
    arrivals.emit("request");
    onRequest?.({ ...attempt, result });
    return answer;
  }

  /** Each event is known by its id, however often it is sent. */
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

  /** The next event of the type that an earlier call has not answered; rejects when none comes in time (5 s). */
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
