// What happened since the start or the last reset, for tests to look at (contract, part 10): what came in, what was
// emitted, what was sent, and what led to what. Kept in memory, the newest of each; nothing that the service does depends
// on it. It holds no address and no body of a request, so that two runs of the same calls give the same bytes.
import type { DeliveryRecord, EventEnvelope, EventRecord } from "../domain/model.ts";
import * as model from "../domain/model.ts";
import type { Collection, Entity, Store } from "../domain/store.ts";
import type { Handler, HttpRequest } from "../http/message.ts";
import { CONTROL_PATH } from "../http/urls.ts";
import { type Clock, toIso } from "../lib/clock.ts";
import { pick } from "../lib/schema.ts";
import { Mutex, type TaskTracker } from "../lib/tasks.ts";
import type { AppliedEffect, FaultRule } from "./disturbances.ts";

/** As many as events are kept: more than a test makes, and a bound on the memory of a long run. */
const CAPACITY = 10_000;

export interface JournalRequest extends Pick<HttpRequest, "id" | "method" | "path" | "query"> {
  readonly at: string;
  /** Null while there is no answer, and where there never is one. */
  readonly status: number | null;
  /** The rule that struck it. */
  readonly fault: FaultRule | null;
}

export type Recorder = ReturnType<typeof createRecorder>;

export type JournalDelivery = ReturnType<Recorder["toJson"]>;

/** What a request has led to. */
export type Trace = NonNullable<ReturnType<Recorder["read"]["trace"]>>;

export function createRecorder(clock: Clock) {
  const requests = new BoundedMap<JournalRequest>();
  const events = new BoundedMap<EventRecord>();
  const deliveries = new BoundedMap<DeliveryRecord>();
  /** By the delivery's id and the number of the attempt. */
  const marks = new BoundedMap<AppliedEffect>();

  /** What is found out about a request later. */
  const annotate = (requestId: string, more: Partial<JournalRequest>): void =>
    void Object.assign(requests.get(requestId) ?? {}, more);

  /** As clients see it, with what was done to each attempt on purpose. */
  function toJson(delivery: DeliveryRecord) {
    const chaosOf = (number: number) => marks.get(`${delivery.id} ${number}`)?.effect ?? null;
    const attempts = delivery.attempts.map((each) => ({ ...each, chaos: chaosOf(each.number) }));
    return { ...pick(model.delivery, delivery), attempts };
  }

  /** Of the events those that fit, as they were sent. */
  const emitted = (fits: (event: EventRecord) => boolean) =>
    [...events.values()].filter(fits).map(({ body }): EventEnvelope => JSON.parse(body));

  return {
    annotate: annotate,
    toJson: toJson,
    marks,
    /** Notes what comes in and what it is answered; what a test asks of the controls is no part of what it tests. */
    around:
      (handle: Handler): Handler =>
      async (call) => {
        const { id, method, path, query } = call;
        const noted = {
          id,
          at: toIso(clock.now()),
          method,
          path,
          query,
          status: null,
          fault: null,
        };
        if (!path.startsWith(`${CONTROL_PATH}/`)) requests.set(id, noted);
        const response = await handle(call);
        annotate(id, { status: response.status || null });
        return response;
      },
    /** Notes what commits tell of, from here on and in their order, whatever order the store would answer in. */
    subscribe(store: Store, background: TaskTracker): void {
      const mutex = new Mutex();
      const listen = <R extends Entity>(
        topic: string,
        from: Collection<R>,
        journal: BoundedMap<R>,
      ) =>
        store.subscribe(topic, (id) =>
          background.run("noting what was committed", () =>
            mutex.run(async () => {
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
        return emitted(({ sample_account_id: sample_of }) => sample_of === null);
      },
      /** What was sent, and is to be, by whichever process. */
      get deliveries(): readonly JournalDelivery[] {
        // In the order of creation: after a restore, that of the first news would be how fast receivers are.
        return [...deliveries.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).map(toJson);
      },
      /** What the request with this X-Request-Id has led to. */
      trace(requestId: string) {
        const request = requests.get(requestId);
        const sentOf = ({ id }: EventEnvelope) =>
          [...deliveries.values()].filter(({ event_id }) => event_id === id);
        const caused = emitted(({ request_id }) => request_id === requestId);
        const led = caused.map((event) => ({ event, deliveries: sentOf(event).map(toJson) }));
        return request && { request: { ...request }, events: led };
      },
    },
    clear(): void {
      for (const journal of [requests, events, deliveries, marks]) journal.clear();
    },
  };
}

/** By id, the oldest first; the oldest goes where there are too many. */
class BoundedMap<R> extends Map<string, R> {
  /** Goes on where it was: from the start it would pass over all that have gone, at each request. */
  readonly #oldest = this.keys();

  override set(id: string, record: R): this {
    super.set(id, record);
    if (this.size > CAPACITY) this.delete(this.#oldest.next().value ?? "");
    return this;
  }
}
