// What happened since the start or the last reset, for tests to look at (contract, part 10): what came in, what was
// emitted, what was sent, and what led to what. Kept in memory, the newest of each; nothing that the service does depends
// on it. It holds no address and no body of a request, so that two runs of the same calls give the same bytes.
import {
  type DeliveryRecord,
  deliveries,
  type EventEnvelope,
  type EventRecord,
  events,
  TOPIC,
} from "../domain/model.ts";
import type { Collection, Store, Stored } from "../domain/store.ts";
import type { Call, Handler } from "../http/call.ts";
import { CONTROL_PREFIX } from "../http/links.ts";
import type { Background } from "../kit/background.ts";
import { type Clock, iso } from "../kit/clock.ts";
import type { Effect, FaultRule } from "./rules.ts";

/** As many as events are kept: more than a test makes, and a bound on the memory of a long run. */
const KEPT = 10_000;

export interface JournalRequest extends Pick<Call, "id" | "method" | "path" | "query"> {
  readonly at: string;
  /** Null while there is no answer, and where there never is one. */
  readonly status: number | null;
  /** The rule that struck it. */
  readonly fault: FaultRule | null;
}

export type JournalDelivery = ReturnType<Journals["shown"]>;

/** What a request has led to. */
export type Trace = NonNullable<ReturnType<Journals["trace"]>>;

export class Journals {
  readonly #clock: Clock;
  readonly #requests = new Newest<JournalRequest>();
  readonly #events = new Newest<EventRecord>();
  readonly #deliveries = new Newest<DeliveryRecord>();
  readonly #effects = new Newest<Effect>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes what comes in and what it is answered; what a test asks of the controls is no part of what it tests. */
  around(handle: Handler): Handler {
    return async (call) => {
      const { id, method, path, query } = call;
      const noted = { id, at: iso(this.#clock.now()), method, path, query, status: null, fault: null };
      if (!path.startsWith(`${CONTROL_PREFIX}/`)) this.#requests.set(id, noted);
      const reply = await handle(call);
      this.note(id, { status: reply.status || null });
      return reply;
    };
  }

  /** What is found out about a request later. */
  note(requestId: string, more: Partial<JournalRequest>): void {
    const known = this.#requests.get(requestId);
    if (known) this.#requests.set(requestId, { ...known, ...more });
  }

  disturbed(deliveryId: string, attempt: number, effect: Effect): void {
    this.#effects.set(`${deliveryId} ${attempt}`, effect);
  }

  /** Notes what commits tell of, from here on; the store answers in the order in which it is asked. */
  hear(store: Store, background: Background): void {
    const note = <R extends Stored>(topic: string, from: Collection<R>, journal: Newest<R>) =>
      store.hear(topic, (id) =>
        background.run("noting what was committed", async () => {
          const record = await store.get(from, id);
          if (record) journal.set(id, record);
        }),
      );
    note(TOPIC.event, events, this.#events);
    note(TOPIC.delivery, deliveries, this.#deliveries);
  }

  get requests(): readonly JournalRequest[] {
    return Array.from(this.#requests.values(), (request) => ({ ...request }));
  }

  /** The sample events of test deliveries happened to nothing; only the trace of the request shows them. */
  get events(): readonly EventEnvelope[] {
    return [...this.#events.values()].filter(({ sample_of }) => sample_of === null).map(envelopeOf);
  }

  get deliveries(): readonly JournalDelivery[] {
    return Array.from(this.#deliveries.values(), (delivery) => this.shown(delivery));
  }

  /** As clients see it, with what was done to each attempt on purpose. */
  shown({ id, webhook_id, event_id, event_type, status, attempts, ...more }: DeliveryRecord) {
    const marked = attempts.map((each) => ({ ...each, chaos: this.#effects.get(`${id} ${each.number}`) ?? null }));
    const { next_attempt_at, created_at } = more;
    return { id, webhook_id, event_id, event_type, status, attempts: marked, next_attempt_at, created_at };
  }

  trace(requestId: string) {
    const request = this.#requests.get(requestId);
    if (request === undefined) return undefined;
    const caused = [...this.#events.values()].filter(({ request_id }) => request_id === requestId);
    const sent = (eventId: string) => this.deliveries.filter(({ event_id }) => event_id === eventId);
    return {
      request: { ...request },
      events: caused.map((event) => ({ event: envelopeOf(event), deliveries: sent(event.id) })),
    };
  }

  clear(): void {
    for (const journal of [this.#requests, this.#events, this.#deliveries, this.#effects]) journal.clear();
  }
}

/** By id, the oldest first; the oldest goes where there are too many. */
class Newest<R> extends Map<string, R> {
  override set(id: string, record: R): this {
    super.set(id, record);
    if (this.size > KEPT) this.delete(this.keys().next().value ?? "");
    return this;
  }
}

const envelopeOf = ({ body }: EventRecord): EventEnvelope => JSON.parse(body);
