// A correct receiver of deliveries (spec part 6, receiving endpoint requirements), for tests and to learn from: it reads
// the raw body, checks the signature before anything else, takes each event once whatever is sent again, and answers at
// once. What it answers is scripted, so that a test can have it fail.
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
  const inbox = new Inbox(options);
  const server = createServer((request, response) => {
    // A sender that goes away in the middle has sent nothing.
    readBody(request).then(
      (body) => inbox.take(request, body, response),
      () => request.destroy(),
    );
  });
  await new Promise<void>((listening, failed) => {
    server.once("error", failed);
    server.listen(options.port ?? 0, "127.0.0.1", listening);
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const close = () =>
    new Promise<void>((closed) => {
      server.close(() => closed());
      server.closeAllConnections();
    });
  const next: Receiver["next"] = (type, { timeoutMs = PATIENCE_MS } = {}) => inbox.next(type, timeoutMs);
  const { received } = inbox;
  return { url: `http://127.0.0.1:${port}/`, received, next, close, [Symbol.asyncDispose]: close };
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

class Inbox {
  readonly received: ReceivedEvent[] = [];
  readonly #options: ReceiverOptions;
  readonly #attempts = new Map<string, ReceivedAttempt[]>();
  readonly #given = new Set<string>();
  readonly #waiting = new Set<() => void>();
  #answered = 0;

  constructor(options: ReceiverOptions) {
    this.#options = options;
  }

  take({ headers }: IncomingMessage, body: Buffer, response: ServerResponse): void {
    const rawBody = body.toString();
    const { verdict, answer } = this.#judge(headers, body, rawBody);
    if (answer !== "hang") response.writeHead(answer).end();
    this.#options.onRequest?.({ verdict, headers, rawBody, answer });
  }

  #judge(headers: IncomingHttpHeaders, body: Buffer, rawBody: string): Pick<SeenRequest, "verdict" | "answer"> {
    const signature = headers["x-service-signature"];
    // Over the bytes as they came: parsing and writing again would give others.
    if (!verifySignature(body, typeof signature === "string" ? signature : undefined, this.#options.secret))
      return { verdict: "bad signature", answer: 401 };
    const event = parseEvent(rawBody);
    if (!event) return { verdict: "not an event", answer: 400 };
    const answer = this.#nextAnswer();
    return { verdict: this.#keep(event, { headers, rawBody, answer }) ? "new" : "seen before", answer };
  }

  next(type: EventType, timeout_ms: number): Promise<ReceivedEvent> {
    return new Promise((resolve, reject) => {
      const patience = AbortSignal.timeout(timeout_ms);
      const look = () => {
        const found = this.received.find((each) => each.type === type && !this.#given.has(each.id));
        if (!found && !patience.aborted) return;
        this.#waiting.delete(look);
        patience.removeEventListener("abort", look);
        if (!found) return reject(new Error(`No ${type} within ${timeout_ms} ms; received: ${this.#names()}`));
        this.#given.add(found.id);
        resolve(found);
      };
      this.#waiting.add(look);
      patience.addEventListener("abort", look);
      look();
    });
  }

  #nextAnswer(): ReceiverAnswer {
    const { answers = [] } = this.#options;
    const answer = answers[Math.min(this.#answered, answers.length - 1)] ?? 200;
    this.#answered += 1;
    return answer;
  }

  /** True for an event that was never seen before: the id tells, however often it is sent. */
  #keep(event: EventEnvelope, attempt: ReceivedAttempt): boolean {
    const before = this.#attempts.get(event.id);
    before?.push(attempt);
    if (before) return false;
    const attempts = [attempt];
    this.#attempts.set(event.id, attempts);
    this.received.push({ id: event.id, type: event.type, event, rawBody: attempt.rawBody, attempts });
    for (const look of [...this.#waiting]) look();
    return true;
  }

  #names(): string {
    return this.received.map(({ type }) => type).join(", ") || "nothing";
  }
}

function parseEvent(rawBody: string): EventEnvelope | undefined {
  try {
    const event: EventEnvelope | null = JSON.parse(rawBody);
    return typeof event?.id === "string" && typeof event.type === "string" ? event : undefined;
  } catch {
    return undefined;
  }
}
