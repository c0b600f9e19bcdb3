// The outbox (spec part 6; contract, part 6): finds due deliveries in the store, attempts each and stores the result.
// The store is authoritative. The in-memory state only schedules the queues and is rebuilt at a start, so a crash loses
// nothing and interrupted deliveries are sent again. An outbox cannot be restarted after stop.
import {
  type AttemptResult,
  cancelUndeliverable,
  dueTime,
  isDeliverable,
  isRetry,
  isSuccess,
  recordAttempt,
  webhookIdOfQueue,
} from "../domain/deliveries.ts";
import { type DeliveryRecord, deliveries, webhooks } from "../domain/model.ts";
import { ALL_RECORDS, isStoreError, type Range } from "../domain/store.ts";
import { UnitOfWork, type UnitOfWorkDeps } from "../domain/unit-of-work.ts";
import { type Instant, nextTurn, type Timer } from "../lib/clock.ts";
import type { TaskTracker } from "../lib/tasks.ts";
import { type AttemptDeps, makeAttempt } from "./attempt.ts";

export interface OutboxDeps extends AttemptDeps, UnitOfWorkDeps {
  /** Tracks all background work, so that the caller can wait for its end. */
  readonly tasks: TaskTracker;
  /** The maximum of concurrent attempts per webhook. */
  readonly concurrency: number;
  readonly onAttempt: (made: AttemptResult) => void;
  readonly onError: (error: unknown, during: string) => void;
}

const WHAT = "webhook deliveries";
/** The maximum of concurrent attempts. Further deliveries stay in the store and cost no socket. */
const CONCURRENCY_MAX = 256;
/**
 * Slots that retries and failing webhooks may use. Each may block for 30 s, so a quarter is reserved for responsive
 * receivers.
 */
const SLOW_SLOTS_MAX = 192;
/** The pause after a store failure. */
const PAUSE_MS = 1_000;

/** The state of a webhook with pending deliveries. */
interface EndpointQueue {
  readonly webhookId: string;
  /** The current queue id. Deliveries in flight may belong to an earlier queue of the webhook. */
  queue: string;
  /** Deliveries in flight, deferred by the sender, or waiting for their result to be stored. */
  readonly taken: Set<string>;
  sending: number;
  failing: boolean;
  timer?: Timer;
}

export type Outbox = ReturnType<typeof createOutbox>;

export function createOutbox(deps: OutboxDeps) {
  const { store, clock, sender, tasks: background, onAttempt, onError } = deps;
  // A webhook that has never failed is not limited to slow slots, and still must not block every slot when it stops
  // responding.
  const concurrency = Math.min(deps.concurrency, SLOW_SLOTS_MAX);
  const queueStates = new Map<string, EndpointQueue>();
  /** The queues that could send now, each with its delivery: first attempts, failing webhooks, retries. */
  const ready: readonly Map<EndpointQueue, string>[] = [new Map(), new Map(), new Map()];
  let sending = 0;
  let slowSlots = 0;
  /** Queues that have changed since they were last polled. */
  const reported = new Set<string>();
  /** Queues whose poll failed, until the next try. */
  const missed = new Set<string>();
  let missing: Timer | undefined;
  let turning = false;
  let stopped = false;
  let unavailable = false;

  /**
   * Polls the queues of pending deliveries that are due or not tracked here. Returns the number of pending deliveries
   * in this range.
   */
  async function resume(range: Range = ALL_RECORDS): Promise<number> {
    const rows = await store.page(deliveries, "waiting", ["pending"], range);
    for (const row of rows)
      if (
        row.queue_id !== null &&
        (queueStates.get(row.webhook_id)?.queue !== row.queue_id || dueTime(row) <= clock.now())
      )
        notify(row.queue_id);
    return rows.length;
  }

  /** Marks the queue as changed and schedules a poll. */
  function notify(queue: string): void {
    reported.add(queue);
    flush();
  }

  /** Aborts the attempts in flight; their deliveries are sent after the next start. */
  function stop(): void {
    stopped = true;
    for (const { timer } of queueStates.values()) timer?.cancel();
    missing?.cancel();
    sender.close();
  }

  /**
   * Polls the changed queues at the end of this turn of the event loop, and sends the ready deliveries. A response
   * thus leaves before the deliveries that its commit caused. Posts sent together wake a receiver once for many, which
   * saves the sender some 10 us of system time per post.
   */
  function flush(): void {
    if (turning || stopped) return;
    turning = true;
    background.run(WHAT, async () => {
      await nextTurn();
      const changed = [...reported];
      reported.clear();
      await Promise.all(changed.map(poll));
      turning = false;
      sendReady();
      if (reported.size > 0) flush();
    });
  }

  async function poll(queue: string): Promise<void> {
    const webhookId = webhookIdOfQueue(queue);
    const queueState: EndpointQueue = queueStates.get(webhookId) ?? {
      webhookId,
      queue,
      taken: new Set(),
      sending: 0,
      failing: false,
    };
    queueStates.set(webhookId, queueState);
    try {
      const rows = await store.page(deliveries, "queue", [queue], {
        offset: 0,
        limit: queueState.taken.size + 1,
      });
      const webhook = rows[0] && (await store.get(webhooks, webhookId));
      if (rows.every((row) => isDeliverable(row, webhook))) return place(queueState, queue, rows);
      await new UnitOfWork(deps).run((ctx) => cancelUndeliverable(ctx, queue));
      notify(queue);
    } catch (error) {
      report(error);
      if (missed.size === 0) missing = at(clock.now() + PAUSE_MS, lookAgain);
      missed.add(queue);
    }
  }

  function lookAgain(): void {
    for (const queue of missed) notify(queue);
    missed.clear();
  }

  /** Moves the queue to the ready list of its next delivery's rank, or sets a timer for its due time. */
  function place(lane: EndpointQueue, queue: string, rows: readonly DeliveryRecord[]): void {
    if (rows.length === 0 && queue !== lane.queue) return;
    lane.queue = queue;
    lane.timer?.cancel();
    // An earlier poll may have found the queue empty and deleted its state.
    if (rows.length > 0) queueStates.set(lane.webhookId, lane);
    else if (lane.taken.size === 0) queueStates.delete(lane.webhookId);
    const next =
      lane.sending < concurrency ? rows.find(({ id }) => !lane.taken.has(id)) : undefined;
    const later = next !== undefined && dueTime(next) > clock.now();
    if (later) lane.timer = at(dueTime(next), () => notify(lane.queue));
    const rank = next === undefined || later ? undefined : isRetry(next) ? 2 : lane.failing ? 1 : 0;
    for (const [at, those] of ready.entries())
      if (next !== undefined && at === rank) those.set(lane, next.id);
      else those.delete(lane);
  }

  function sendReady(): void {
    for (const [rank, those] of ready.entries())
      for (const [lane, id] of those) {
        const full = sending >= CONCURRENCY_MAX || (rank > 0 && slowSlots >= SLOW_SLOTS_MAX);
        if (full || stopped) return;
        those.delete(lane);
        background.run(WHAT, () => deliver(lane, id, rank > 0 ? 1 : 0));
        if (lane.sending < concurrency) notify(lane.queue);
      }
  }

  /** Makes one attempt, which occupies a global slot and one of the webhook's until it ends. */
  async function deliver(lane: EndpointQueue, id: string, doubt: 0 | 1): Promise<void> {
    lane.taken.add(id);
    lane.sending += 1;
    sending += 1;
    slowSlots += doubt;
    const made = await attempt(lane, id).catch((error) => pause(lane, id, error));
    if (typeof made === "object") await record(lane, made);
    else background.run(WHAT, async () => made?.());
    lane.sending -= 1;
    sending -= 1;
    slowSlots -= doubt;
    flush();
  }

  /** Returns the result to store, or the function to call at the end. */
  async function attempt(
    lane: EndpointQueue,
    id: string,
  ): Promise<AttemptResult | (() => void) | undefined> {
    const sent = await makeAttempt(deps, id);
    if (sent === undefined) return () => free(lane, id);
    if ("again" in sent) {
      void sent.again.then(() => free(lane, id));
      return () => notify(lane.queue);
    }
    // An attempt aborted by `stop` has no result, but a success that arrived just before it counts.
    if (stopped && !isSuccess(sent.attempt)) return undefined;
    lane.failing = !isSuccess(sent.attempt);
    onAttempt(sent);
    return sent;
  }

  /**
   * Stores the result. Until then the delivery stays taken, so that a store outage causes no duplicates.
   */
  async function record(lane: EndpointQueue, made: AttemptResult): Promise<void> {
    try {
      await new UnitOfWork(deps).run((ctx) => recordAttempt(ctx, made));
      unavailable = false;
    } catch (error) {
      report(error);
      at(clock.now() + PAUSE_MS, () => background.run(WHAT, () => record(lane, made)));
      return;
    }
    free(lane, made.deliveryId);
  }

  function free(lane: EndpointQueue, id: string): void {
    lane.taken.delete(id);
    notify(lane.queue);
  }

  /** Pauses the queue; its deliveries stay in the store. */
  function pause(lane: EndpointQueue, id: string, error?: unknown): undefined {
    lane.taken.delete(id);
    if (error !== undefined) report(error);
    lane.timer?.cancel();
    lane.timer = at(clock.now() + PAUSE_MS, () => notify(lane.queue));
  }

  /** Reports an outage of the store once. */
  function report(error: unknown): void {
    const outage = isStoreError(error, "StorageUnavailable");
    if (!outage || !unavailable) onError(error, WHAT);
    unavailable ||= outage;
  }

  const at = (time: Instant, work: () => void): Timer =>
    clock.schedule(time, WHAT, () => {
      if (!stopped) work();
    });

  return { resume, notify, stop };
}
