// A correct receiver of deliveries (spec part 6, receiving endpoint requirements), for tests and to learn from: it reads
// the raw body, checks the signature before anything else, takes each event once whatever is sent again, and answers at
// once. What it answers is scripted, so that a test can have it fail.
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { EventType } from "./domain/model.ts";
import { verifySignature } from "./kit/signature.ts";

/** A status, or no answer at all. */
export type ReceiverAnswer = number | "hang";

export interface ReceiverOptions {
  /** The webhook's secret. */
  readonly secret: string;
  /** One for each delivery with a right signature, the last again and again; 200 if absent. */
  readonly answers?: readonly ReceiverAnswer[];
  /** A free port if absent. */
  readonly port?: number;
  /** Told of every request, refused ones too. */
  readonly onRequest?: (seen: SeenRequest) => void;
}

export interface EventEnvelope {
  readonly id: string;
  readonly type: EventType;
  readonly created: string;
  readonly data: { readonly object: { readonly [member: string]: unknown } };
  readonly account?: { readonly id: string; readonly name: string };
}

/** An event, once, with every attempt at which it came. */
export interface ReceivedEvent {
  readonly id: string;
  readonly type: EventType;
  readonly event: EventEnvelope;
  readonly rawBody: string;
  readonly attempts: readonly ReceivedAttempt[];
}

export interface ReceivedAttempt {
  readonly headers: IncomingHttpHeaders;
  readonly rawBody: string;
  readonly answer: ReceiverAnswer;
}

export interface SeenRequest {
  readonly verdict: "new" | "seen before" | "bad signature" | "not an event";
  readonly headers: IncomingHttpHeaders;
  readonly rawBody: string;
  readonly answer: ReceiverAnswer;
}

export interface Receiver extends AsyncDisposable {
  readonly url: string;
  /** The events that came with a right signature, each once, in the order of their first arrival. */
  readonly received: readonly ReceivedEvent[];
  /** The next event of the type that an earlier call has not answered; rejects when none comes in time (5 s). */
  next(type: EventType, options?: { readonly timeoutMs?: number }): Promise<ReceivedEvent>;
  close(): Promise<void>;
}

const BODY_BYTES_MAX = 1024 * 1024;
const PATIENCE_MS = 5_000;

export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { secret, answers = [], port = 0, onRequest } = options;
  const received: ReceivedEvent[] = [];
  /** By the event's id, which tells whether it was seen before, however often it is sent. */
  const attempts = new Map<string, ReceivedAttempt[]>();
  const given = new Set<ReceivedEvent>();
  const arrivals = new EventEmitter().setMaxListeners(0);
  let answered = 0;

  /** Over the bytes as they came: parsing and writing again would give others. */
  function judge(headers: IncomingHttpHeaders, body: Buffer, rawBody: string): Pick<SeenRequest, "verdict" | "answer"> {
    if (!verifySignature(body, String(headers["x-service-signature"]), secret))
      return { verdict: "bad signature", answer: 401 };
    const event = parseEvent(rawBody);
    if (!event) return { verdict: "not an event", answer: 400 };
    const answer = answers[Math.min(answered, answers.length - 1)] ?? 200;
    answered += 1;
    const attempt = { headers, rawBody, answer };
    const { id, type } = event;
    attempts.get(id)?.push(attempt);
    if (attempts.has(id)) return { verdict: "seen before", answer };
    const all = [attempt];
    attempts.set(id, all);
    received.push({ id, type, event, rawBody, attempts: all });
    arrivals.emit("event");
    return { verdict: "new", answer };
  }

  function take({ headers }: IncomingMessage, body: Buffer, response: ServerResponse): void {
    const rawBody = body.toString();
    const { verdict, answer } = judge(headers, body, rawBody);
    if (answer !== "hang") response.writeHead(answer).end();
    onRequest?.({ verdict, headers, rawBody, answer });
  }

  async function next(type: EventType, { timeoutMs = PATIENCE_MS } = {}): Promise<ReceivedEvent> {
    const signal = AbortSignal.timeout(timeoutMs);
    for (;;) {
      const found = received.find((each) => each.type === type && !given.has(each));
      if (found) {
        given.add(found);
        return found;
      }
      const names = () => received.map(({ type }) => type).join(", ") || "nothing";
      await once(arrivals, "event", { signal }).catch(() => {
        throw new Error(`No ${type} within ${timeoutMs} ms; received: ${names()}`);
      });
    }
  }

  // A sender that goes away in the middle has sent nothing.
  const server = createServer((request, response) => {
    readBody(request).then(
      (body) => take(request, body, response),
      () => response.destroy(),
    );
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const close = () =>
    new Promise<void>((closed) => {
      server.close(() => closed());
      server.closeAllConnections();
    });
  const address = Object(server.address());
  return { url: `http://127.0.0.1:${address.port}/`, received, next, close, [Symbol.asyncDispose]: close };
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > BODY_BYTES_MAX) throw new Error("The body is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parseEvent(rawBody: string): EventEnvelope | undefined {
  try {
    const event: EventEnvelope | null = JSON.parse(rawBody);
    return typeof event?.id === "string" && typeof event.type === "string" ? event : undefined;
  } catch {
    return undefined;
  }
}
