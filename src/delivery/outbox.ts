// The outbox (spec part 6; contract, part 6): takes due deliveries from their rows, has each attempted and writes down
// what came of it. The rows are the truth; what is held here is only which queue is looked at when, and is rebuilt at a
// start, so a crash loses nothing and what was under way is sent again. It has one life: start, stop.
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
import { ALL_RECORDS, isStoreError, type Lease, type Range } from "../domain/store.ts";
import { type Instant, nextTurn, type Timer } from "../lib/clock.ts";
import type { TaskTracker } from "../lib/tasks.ts";
import { type AttemptDeps, makeAttempt } from "./attempt.ts";

export interface OutboxDeps extends AttemptDeps {
  /** Where all of it runs, so that whoever has it can wait for its end. */
  readonly tasks: TaskTracker;
  /** How many attempts at once for one webhook. */
  readonly concurrency: number;
  /** How long a claimed row is left to its claimer: longer than an attempt can take. */
  readonly lease_ms: number;
  readonly onAttempt: (made: AttemptResult) => void;
  readonly onError: (error: unknown, during: string) => void;
}

const WHAT = "webhook deliveries";
/** What waits beyond is a row in the store and costs no socket. */
const CONCURRENCY_MAX = 256;
/** Of these for retries and where the last attempt failed: each may last 30 s, and a quarter stays for who answers. */
const SLOW_SLOTS_MAX = 192;
/** How long is waited after the store has failed, or while another process holds the next row or its webhook. */
const PAUSE_MS = 1_000;

/** A webhook to which something is to be sent. */
interface EndpointQueue {
  readonly webhookId: string;
  /** The one that it is looked for in; what is under way may be of one that the webhook has left since. */
  queue: string;
  /** Deliveries that are under way, that the sender does not want to send now, or whose attempt is not written down yet. */
  readonly taken: Set<string>;
  sending: number;
  failing: boolean;
  timer?: Timer;
}

export type Outbox = ReturnType<typeof createOutbox>;

export function createOutbox(deps: OutboxDeps) {
  const { store, clock, sender, tasks: background, lease_ms, onAttempt, onError } = deps;
  // A lane that never failed is not doubted, and still must not take all places with deliveries that nobody answers.
  const concurrency = Math.min(deps.concurrency, SLOW_SLOTS_MAX);
  const queueStates = new Map<string, EndpointQueue>();
  /** The lanes that could send now, each with its delivery: first attempts, those of failing webhooks, retries. */
  const ready: readonly Map<EndpointQueue, string>[] = [new Map(), new Map(), new Map()];
  let sending = 0;
  let slowSlots = 0;
  /** Queues that have changed and were not looked at since. */
  const reported = new Set<string>();
  /** Those that could not be looked at, until they are again. */
  const missed = new Set<string>();
  let missing: Timer | undefined;
  let turning = false;
  let stopped = false;
  let unavailable = false;

  /**
   * Takes up deliveries that are still to be sent, or to be cancelled, and that nothing here waits for; answers how many
   * there are in this span of all that wait.
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

  /** This queue has changed. */
  function notify(queue: string): void {
    reported.add(queue);
    flush();
  }

  /** Breaks off what is under way; its rows stay and are sent after the next start. */
  function stop(): void {
    stopped = true;
    for (const { timer } of queueStates.values()) timer?.cancel();
    missing?.cancel();
    sender.close();
  }

  /**
   * At the end of this turn of the event loop, looks at the queues that have changed and sends what is ready. So an
   * answer leaves before the deliveries that its commit has caused, and posts go out together: a receiver is then woken
   * once for many, which saves the sender some 10 us of system time a post.
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
      await store.transact((tx) => cancelUndeliverable(tx, queue));
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

  /** Puts the lane where its next row belongs: among the ready ones, or to its time. */
  function place(lane: EndpointQueue, queue: string, rows: readonly DeliveryRecord[]): void {
    if (rows.length === 0 && queue !== lane.queue) return;
    lane.queue = queue;
    lane.timer?.cancel();
    // A look at a queue before it may just have found nothing more to do.
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

  /** Has a place, and one of the lane's, until it ends. */
  async function deliver(lane: EndpointQueue, id: string, doubt: 0 | 1): Promise<void> {
    lane.taken.add(id);
    lane.sending += 1;
    sending += 1;
    slowSlots += doubt;
    const lease = await leased(lane, id);
    const made = lease
      ? await attempt(lane, id).catch((error) => pause(lane, id, error))
      : undefined;
    if (!lease) pause(lane, id);
    else if (typeof made === "object") await record(lane, made, lease);
    // Not awaited: who looks at the lane meanwhile finds it full, and nobody would look again when it no more is.
    else background.run(WHAT, () => lease.release().finally(made));
    lane.sending -= 1;
    sending -= 1;
    slowSlots -= doubt;
    flush();
  }

  /** One process sends a delivery, whatever else the others do; where it is one at a time, it is one over all of them. */
  async function leased({ webhookId }: EndpointQueue, id: string): Promise<Lease | undefined> {
    const take = async (what: string) =>
      (await store.lease(`delivery ${what}`, lease_ms).catch(report)) ?? undefined;
    if (concurrency > 1) return take(id);
    const whole = await take(webhookId);
    const own = whole && (await take(id));
    if (own) return { release: () => own.release().finally(() => whole.release()) };
    await whole?.release();
    return undefined;
  }

  /** Answers what is to be written down, or what is to be done once the lease has ended. */
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
    // What was broken off by the stop has no outcome; what arrived just before it has.
    if (stopped && !isSuccess(sent.attempt)) return undefined;
    lane.failing = !isSuccess(sent.attempt);
    onAttempt(sent);
    return sent;
  }

  /**
   * Until it is written down, the delivery stays taken, here and for other processes: nothing is sent twice because the
   * store is out of reach.
   */
  async function record(lane: EndpointQueue, made: AttemptResult, lease: Lease): Promise<void> {
    try {
      await store.transact((tx) => recordAttempt(tx, made, clock.now()));
      unavailable = false;
    } catch (error) {
      report(error);
      at(clock.now() + PAUSE_MS, () => background.run(WHAT, () => record(lane, made, lease)));
      return;
    }
    // In this order: a look that began before may still find it, and then has to see that it is over.
    await lease.release().catch(report);
    free(lane, made.deliveryId);
  }

  function free(lane: EndpointQueue, id: string): void {
    lane.taken.delete(id);
    notify(lane.queue);
  }

  /** Leaves the lane for a moment; its rows stay. */
  function pause(lane: EndpointQueue, id: string, error?: unknown): undefined {
    lane.taken.delete(id);
    if (error !== undefined) report(error);
    lane.timer?.cancel();
    lane.timer = at(clock.now() + PAUSE_MS, () => notify(lane.queue));
  }

  /** One outage of the store is reported once. */
  function report(error: unknown): void {
    const outage = isStoreError(error, "StorageUnavailable");
    if (!outage || !unavailable) onError(error, WHAT);
    unavailable ||= outage;
  }

  const at = (time: Instant, work: () => void): Timer =>
    clock.schedule(time, WHAT, () => {
      if (!stopped) work();
    });

  return { resume: resume, notify, stop };
}
