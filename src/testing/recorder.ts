// Journals of requests, events and deliveries since the start or the last reset, for tests to inspect
// (1.test-controls). They live in memory and keep the newest entries. They hold no client address and no request body,
// so that two identical runs give the same bytes. A change of the state waits for requests in progress and holds later
// ones back, so that every request is handled in one state.
import { appError } from "../domain/errors.ts";
import type { DeliveryRecord, EventEnvelope, EventRecord } from "../domain/model.ts";
import * as model from "../domain/model.ts";
import type { Collection, Entity, Store } from "../domain/store.ts";
import type { Notifications } from "../domain/unit-of-work.ts";
import { CONTROL_PATH, type HttpRequest, type RequestHandler } from "../http/message.ts";
import { type Clock, toIso, within } from "../lib/clock.ts";
import { pickMembers } from "../lib/schema.ts";
import { Mutex, TaskTracker } from "../lib/tasks.ts";
import type { Effect, FaultRule } from "./faults.ts";

/** Entries per journal: more than a test creates, and a memory bound for long runs. */
const CAPACITY = 10_000;

/** Real time that clients have to send the rest of their bodies before the state changes. */
const BODY_GRACE_MS = 500;

/** A map by id that drops its oldest entry beyond the capacity. */
class BoundedMap<R> extends Map<string, R> {
  override set(id: string, value: R): this {
    super.set(id, value);
    const [oldest = ""] = this.keys();
    if (this.size > CAPACITY) this.delete(oldest);
    return this;
  }
}

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
export type Trace = NonNullable<ReturnType<Recorder["trace"]>>;

interface RecorderDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly notifications: Notifications;
  readonly tasks: TaskTracker;
  readonly onError: (error: unknown, during: string) => void;
}

export function createRecorder({ store, clock, notifications, tasks, onError }: RecorderDeps) {
  const requests = new BoundedMap<JournalRequest>();
  const events = new BoundedMap<EventRecord>();
  const deliveries = new BoundedMap<DeliveryRecord>();
  /** Chaos effects, keyed by delivery id and attempt number. */
  const effects = new BoundedMap<Effect>();
  /** Records are journaled in commit order, whatever order the reads end in. */
  const mutex = new Mutex();
  const requestMutex = new Mutex();
  const inProgress = new TaskTracker(onError);
  /** Each ends the reading of one body. */
  const readers = new Set<() => void>();

  function annotate(requestId: string, details: Partial<JournalRequest>): void {
    const request = requests.get(requestId);
    if (request) requests.set(requestId, { ...request, ...details });
  }

  /** Returns the delivery as clients see it, plus the chaos effect of each attempt. */
  function toJson(delivery: DeliveryRecord) {
    const attempts = delivery.attempts.map((attempt) => ({
      ...attempt,
      chaos: effects.get(`${delivery.id} ${attempt.number}`) ?? null,
    }));
    return { ...pickMembers(model.delivery, delivery), attempts };
  }

  /** Returns the matching events as they were sent. */
  const listEvents = (matches: (event: EventRecord) => boolean): EventEnvelope[] =>
    [...events.values()].filter(matches).map(({ body }) => JSON.parse(body));

  /** Returns all deliveries by creation, because their order in the journal depends on receivers. */
  const listDeliveries = (): JournalDelivery[] =>
    [...deliveries.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).map(toJson);

  async function handleRecorded(handle: RequestHandler, request: HttpRequest) {
    const { id, method, path, query } = request;
    const at = toIso(clock.now());
    requests.set(id, { id, at, method, path, query, status: null, fault: null });
    const readBody: HttpRequest["readBody"] = (limit_bytes) =>
      new Promise((resolve, reject) => {
        const stopReading = () => resolve(appError({ code: "request_timeout" }));
        readers.add(stopReading);
        request
          .readBody(limit_bytes)
          .then(resolve, reject)
          .finally(() => readers.delete(stopReading));
      });
    const response = await handle({ ...request, readBody });
    annotate(id, { status: response.status || null });
    return response;
  }

  function record<R extends Entity>(
    topic: "eventRecorded" | "deliveryChanged",
    collection: Collection<R>,
    journal: BoundedMap<R>,
  ): void {
    notifications.on(topic, (id) =>
      tasks.run("recording a commit", () =>
        mutex.run(async () => {
          const entity = await store.get(collection, id);
          if (entity) journal.set(id, entity);
        }),
      ),
    );
  }

  return {
    annotate,
    toJson,
    effects,

    /** Records published events and deliveries. */
    subscribe(): void {
      record("eventRecorded", model.events, events);
      record("deliveryChanged", model.deliveries, deliveries);
    },

    /** Returns a handler that records each request and its response, except requests to the test controls. */
    wrap(handle: RequestHandler): RequestHandler {
      return async (request) => {
        if (request.path.startsWith(`${CONTROL_PATH}/`)) return handle(request);
        // Wrapped in an object, so that the mutex waits for the start of the request and not for its end.
        const start = async () => ({ response: inProgress.track(handleRecorded(handle, request)) });
        const { response } = await requestMutex.run(start);
        return response;
      };
    },

    /** Runs `work` while no request is in progress. `release` ends the delays of faults. */
    runBetweenRequests(release: () => void, work: () => Promise<void>): Promise<void> {
      return requestMutex.run(async () => {
        release();
        while (!(await within(BODY_GRACE_MS, inProgress.idle()))) {
          release();
          for (const stopReading of readers) stopReading();
        }
        await work();
      });
    },

    get requests(): readonly JournalRequest[] {
      return [...requests.values()];
    },
    /** Sample events of test deliveries are left out; only the trace of their request shows them. */
    get events(): readonly EventEnvelope[] {
      return listEvents(({ is_sample }) => !is_sample);
    },
    get deliveries(): readonly JournalDelivery[] {
      return listDeliveries();
    },
    /** Returns the request with this X-Request-Id and everything that it caused. */
    trace(requestId: string) {
      const request = requests.get(requestId);
      if (request === undefined) return undefined;
      const sent = listDeliveries();
      const caused = listEvents(({ request_id }) => request_id === requestId);
      return {
        request,
        events: caused.map((event) => ({
          event,
          deliveries: sent.filter(({ event_id }) => event_id === event.id),
        })),
      };
    },
    clear(): void {
      for (const journal of [requests, events, deliveries, effects]) journal.clear();
    },
  };
}
