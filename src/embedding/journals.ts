// What happened since the start or the last reset, for tests to look at (contract, part 10): what came in, what was
// emitted, what was sent, and what led to what. Kept in memory, the newest of each; nothing that the service does depends
// on it. It holds no address and no body of a request, so that two runs of the same calls give the same bytes.
import type { DeliveryRecord, EventEnvelope, EventRecord } from "../domain/model.ts";
import * as model from "../domain/model.ts";
import type { Collection, Store, Stored } from "../domain/store.ts";
import type { Call, Handler } from "../http/call.ts";
import { CONTROL_PREFIX } from "../http/links.ts";
import { type Background, Turns } from "../kit/background.ts";
import { type Clock, iso } from "../kit/clock.ts";
import { pick } from "../kit/schema.ts";
import type { FaultRule, Mark } from "./disturbances.ts";

/** As many as events are kept: more than a test makes, and a bound on the memory of a long run. */
const KEPT = 10_000;

export interface JournalRequest extends Pick<Call, "id" | "method" | "path" | "query"> {
  readonly at: string;
  /** Null while there is no answer, and where there never is one. */
  readonly status: number | null;
  /** The rule that struck it. */
  readonly fault: FaultRule | null;
}

export type Journals = ReturnType<typeof journalsOf>;

export type JournalDelivery = ReturnType<Journals["shown"]>;

/** What a request has led to. */
export type Trace = NonNullable<ReturnType<Journals["read"]["trace"]>>;

export function journalsOf(clock: Clock) {
  const requests = new Newest<JournalRequest>();
  const events = new Newest<EventRecord>();
  const deliveries = new Newest<DeliveryRecord>();
  /** By the delivery's id and the number of the attempt. */
  const marks = new Newest<Mark>();

  /** What is found out about a request later. */
  const note = (requestId: string, more: Partial<JournalRequest>): void =>
    void Object.assign(requests.get(requestId) ?? {}, more);

  /** As clients see it, with what was done to each attempt on purpose. */
  function shown(delivery: DeliveryRecord) {
    const chaosOf = (number: number) => marks.get(`${delivery.id} ${number}`)?.effect ?? null;
    const attempts = delivery.attempts.map((each) => ({ ...each, chaos: chaosOf(each.number) }));
    return { ...pick(model.delivery, delivery), attempts };
  }

  /** Of the events those that fit, as they were sent. */
  const emitted = (fits: (event: EventRecord) => boolean) =>
    [...events.values()].filter(fits).map(({ body }): EventEnvelope => JSON.parse(body));

  return {
    note,
    shown,
    marks,
    /** Notes what comes in and what it is answered; what a test asks of the controls is no part of what it tests. */
    around:
      (handle: Handler): Handler =>
      async (call) => {
        const { id, method, path, query } = call;
        const noted = { id, at: iso(clock.now()), method, path, query, status: null, fault: null };
        if (!path.startsWith(`${CONTROL_PREFIX}/`)) requests.set(id, noted);
        const reply = await handle(call);
        note(id, { status: reply.status || null });
        return reply;
      },
    /** Notes what commits tell of, from here on and in their order, whatever order the store would answer in. */
    hear(store: Store, background: Background): void {
      const turns = new Turns();
      const listen = <R extends Stored>(topic: string, from: Collection<R>, journal: Newest<R>) =>
        store.hear(topic, (id) =>
          background.run("noting what was committed", () =>
            turns.run(async () => {
              const record = await store.get(from, id);
              if (record) journal.set(id, record);
            }),
          ),
        );
      listen(model.TOPIC.event, model.events, events);
      listen(model.TOPIC.delivery, model.deliveries, deliveries);
    },
    /** For the handle. What it hands out is a copy each time. */
    read: {
      /** What came in, here; with other processes on the store, each has requests of its own. */
      get requests(): readonly JournalRequest[] {
        return Array.from(requests.values(), (request) => ({ ...request }));
      },
      /**
       * What was emitted since this start, by other processes on the store as well. The sample events of test deliveries
       * happened to nothing; only the trace of the request shows them.
       */
      get events(): readonly EventEnvelope[] {
        return emitted(({ sample_of }) => sample_of === null);
      },
      /** What was sent, and is to be, by whichever process. */
      get deliveries(): readonly JournalDelivery[] {
        // In the order of creation: after a restore, that of the first news would be how fast receivers are.
        return [...deliveries.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).map(shown);
      },
      /** What the request with this X-Request-Id has led to. */
      trace(requestId: string) {
        const request = requests.get(requestId);
        const sentOf = ({ id }: EventEnvelope) => [...deliveries.values()].filter(({ event_id }) => event_id === id);
        const caused = emitted(({ request_id }) => request_id === requestId);
        const led = caused.map((event) => ({ event, deliveries: sentOf(event).map(shown) }));
        return request && { request: { ...request }, events: led };
      },
    },
    clear(): void {
      for (const journal of [requests, events, deliveries, marks]) journal.clear();
    },
  };
}

/** By id, the oldest first; the oldest goes where there are too many. */
class Newest<R> extends Map<string, R> {
  /** Goes on where it was: from the start it would pass over all that have gone, at each request. */
  readonly #oldest = this.keys();

  override set(id: string, record: R): this {
    super.set(id, record);
    if (this.size > KEPT) this.delete(this.#oldest.next().value ?? "");
    return this;
  }
}
