// Journals of requests, events and deliveries since the start or the last reset, for tests to inspect (contract, part
// 10). They live in memory and keep the newest entries; the service does not depend on them. They hold no client
// address and no request body, so that two identical runs give the same bytes.
import type { DeliveryRecord, EventEnvelope, EventRecord } from "../domain/model.ts";
import * as model from "../domain/model.ts";
import type { Collection, Entity } from "../domain/store.ts";
import type { UnitOfWorkDeps } from "../domain/unit-of-work.ts";
import type { Handler, HttpRequest } from "../http/message.ts";
import { CONTROL_PATH } from "../http/urls.ts";
import { type Clock, toIso } from "../lib/clock.ts";
import { pick } from "../lib/schema.ts";
import { Mutex, type TaskTracker } from "../lib/tasks.ts";
import type { AppliedEffect, FaultRule } from "./disturbances.ts";

/** Entries kept per journal: more than a test creates, and a memory bound for long runs. */
const CAPACITY = 10_000;

export interface JournalRequest extends Pick<HttpRequest, "id" | "method" | "path" | "query"> {
  readonly at: string;
  /** Null until there is a response; stays null if there never is one. */
  readonly status: number | null;
  /** The fault rule that was applied. */
  readonly fault: FaultRule | null;
}

export type Recorder = ReturnType<typeof createRecorder>;

export type JournalDelivery = ReturnType<Recorder["toJson"]>;

/** A request with the events and deliveries that it caused. */
export type Trace = NonNullable<ReturnType<Recorder["read"]["trace"]>>;

export function createRecorder(clock: Clock) {
  const requests = new BoundedMap<JournalRequest>();
  const events = new BoundedMap<EventRecord>();
  const deliveries = new BoundedMap<DeliveryRecord>();
  /** Keyed by delivery id and attempt number. */
  const marks = new BoundedMap<AppliedEffect>();

  /** Adds details to a recorded request. */
  const annotate = (requestId: string, more: Partial<JournalRequest>): void =>
    void Object.assign(requests.get(requestId) ?? {}, more);

  /** Returns the delivery as clients see it, plus the chaos effect of each attempt. */
  function toJson(delivery: DeliveryRecord) {
    const chaosOf = (number: number) => marks.get(`${delivery.id} ${number}`)?.effect ?? null;
    const attempts = delivery.attempts.map((each) => ({ ...each, chaos: chaosOf(each.number) }));
    return { ...pick(model.delivery, delivery), attempts };
  }

  /** Returns the matching events as they were sent. */
  const emitted = (fits: (event: EventRecord) => boolean) =>
    [...events.values()].filter(fits).map(({ body }): EventEnvelope => JSON.parse(body));

  return {
    annotate: annotate,
    toJson: toJson,
    marks,
    /** Records each request and its response, except requests to the test controls. */
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
    /** Records published events and deliveries in commit order, whatever order the store reads return in. */
    subscribe({ store, notifications }: UnitOfWorkDeps, background: TaskTracker): void {
      const mutex = new Mutex();
      const listen = <R extends Entity>(
        topic: "event" | "delivery",
        from: Collection<R>,
        journal: BoundedMap<R>,
      ) =>
        notifications.on(topic, (id) =>
          background.run("noting what was committed", () =>
            mutex.run(async () => {
              const record = await store.get(from, id);
              if (record) journal.set(id, record);
            }),
          ),
        );
      listen("event", model.events, events);
      listen("delivery", model.deliveries, deliveries);
    },
    /** The read side of the handle; returns copies. */
    read: {
      /** Requests to this process; other processes on the store record their own. */
      get requests(): readonly JournalRequest[] {
        return Array.from(requests.values(), (request) => ({ ...request }));
      },
      /**
       * Events since this start, from all processes on the store. Sample events of test deliveries are left out; only
       * the trace of their request shows them.
       */
      get events(): readonly EventEnvelope[] {
        return emitted(({ is_sample }) => !is_sample);
      },
      /** Deliveries sent or pending, from all processes on the store. */
      get deliveries(): readonly JournalDelivery[] {
        // Sorted by creation: after a restore, insertion order would depend on how fast receivers respond.
        return [...deliveries.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).map(toJson);
      },
      /** Returns the request with this X-Request-Id and everything that it caused. */
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

/** A map by id that drops its oldest entry beyond the capacity. */
class BoundedMap<R> extends Map<string, R> {
  /** Kept between calls: a new iterator would step over all deleted entries each time. */
  readonly #oldest = this.keys();

  override set(id: string, record: R): this {
    super.set(id, record);
    if (this.size > CAPACITY) this.delete(this.#oldest.next().value ?? "");
    return this;
  }
}
