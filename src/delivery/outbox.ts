// The outbox (spec part 6; contract, part 6): makes the due attempts and stores each result. The rows are authoritative,
// so a crash loses nothing and interrupted deliveries are sent again. It cannot be restarted after `stop`.
import {
  type AttemptResult,
  cancelUndeliverable,
  dueTime,
  isDeliverable,
  isSuccess,
  recordAttempt,
} from "../domain/events.ts";
import { type DeliveryRecord, deliveries, type WebhookRecord, webhooks } from "../domain/model.ts";
import { ALL_RECORDS } from "../domain/store.ts";
import { UnitOfWork, type UnitOfWorkDeps } from "../domain/unit-of-work.ts";
import type { Instant, Timer } from "../lib/clock.ts";
import type { TaskTracker } from "../lib/tasks.ts";
import { type AttemptDeps, makeAttempt } from "./attempt.ts";

export interface OutboxDeps extends AttemptDeps, UnitOfWorkDeps {
  readonly tasks: TaskTracker;
  readonly onAttempt: (result: AttemptResult) => void;
}

/** Names the timers in the result of `clock.advance`. */
const TASK = "webhook deliveries";
/** The maximum of concurrent attempts. Further deliveries stay in the store and cost no socket. */
const CONCURRENCY_MAX = 256;
const STORE_RETRY_MS = 1_000;

export type Outbox = ReturnType<typeof createOutbox>;

export function createOutbox(deps: OutboxDeps) {
  const { store, clock, sender, tasks, onAttempt } = deps;
  const unitOfWork = new UnitOfWork(deps);
  /** Webhooks with a running chain of attempts; true if their rows changed since the chain last read them. */
  const chains = new Map<string, boolean>();
  /** The timer of each webhook that waits for its next due delivery. */
  const timers = new Map<string, Timer>();
  /** Webhooks that wait until fewer attempts are in flight. */
  const waiting = new Set<string>();
  /** Deliveries that a chaos rule holds back. */
  const held = new Set<string>();
  let inFlight = 0;
  let stopped = false;

  /** Starts the chains of all webhooks with pending deliveries. */
  async function resume(): Promise<void> {
    const pending = await store.page(deliveries, "pending", ["pending"], ALL_RECORDS);
    for (const { webhook_id } of pending) notify(webhook_id);
  }

  /** Reports that the webhook's rows changed. */
  function notify(webhookId: string): void {
    if (stopped) return;
    const isRunning = chains.has(webhookId);
    chains.set(webhookId, true);
    if (!isRunning) tasks.run(TASK, () => runChain(webhookId));
  }

  /** Makes the webhook's due attempts one after the other. An unsaved result is saved before the next attempt. */
  async function runChain(webhookId: string, unsaved?: AttemptResult): Promise<void> {
    let result = unsaved;
    try {
      do {
        if (result) await recordResult(result);
        chains.set(webhookId, false);
        result = await sendNext(webhookId);
      } while (result || chains.get(webhookId));
      chains.delete(webhookId);
    } catch (error) {
      setTimer(webhookId, clock.now() + STORE_RETRY_MS, () => runChain(webhookId, result));
      throw error;
    }
  }

  const recordResult = (result: AttemptResult): Promise<void> =>
    unitOfWork.run((ctx) => recordAttempt(ctx, result));

  function setTimer(webhookId: string, at: Instant, run: () => Promise<void>): void {
    const timer = clock.schedule(at, TASK, () => tasks.run(TASK, run));
    timers.set(webhookId, timer);
    if (stopped) timer.cancel();
  }

  /** Makes the webhook's first due attempt, or sets its timer. Returns the result to record. */
  async function sendNext(webhookId: string): Promise<AttemptResult | undefined> {
    timers.get(webhookId)?.cancel();
    timers.delete(webhookId);
    const range = { offset: 0, limit: held.size + 1 };
    const rows = await store.page(deliveries, "queue", [webhookId], range);
    const delivery = rows.find(({ id }) => !held.has(id));
    if (delivery === undefined || stopped) return undefined;
    const webhook = await store.get(webhooks, webhookId);
    const due = dueTime(delivery);
    if (!isDeliverable(delivery, webhook))
      await unitOfWork.run((ctx) => cancelUndeliverable(ctx, webhookId));
    else if (due > clock.now()) setTimer(webhookId, due, async () => notify(webhookId));
    else if (inFlight === CONCURRENCY_MAX) waiting.add(webhookId);
    else return attempt(delivery, webhook);
    return undefined;
  }

  async function attempt(delivery: DeliveryRecord, webhook: WebhookRecord) {
    inFlight += 1;
    const result = await makeAttempt(deps, delivery, webhook).finally(() => {
      inFlight -= 1;
      for (const webhookId of waiting) notify(webhookId);
      waiting.clear();
    });
    if ("again" in result) {
      held.add(delivery.id);
      void result.again.then(() => held.delete(delivery.id) && notify(webhook.id));
      notify(webhook.id);
      return undefined;
    }
    // An attempt aborted by `stop` has no result, but a success that arrived before it counts.
    if (stopped && !isSuccess(result.attempt)) return undefined;
    onAttempt(result);
    return result;
  }

  /** Aborts the attempts in flight; their deliveries are sent after the next start. */
  function stop(): void {
    stopped = true;
    for (const timer of timers.values()) timer.cancel();
    sender.close();
  }

  return { resume, notify, stop };
}
