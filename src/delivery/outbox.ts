// The outbox (spec part 6; contract, part 6): makes the due attempts and stores each result. The rows are authoritative,
// so a crash loses nothing and interrupted deliveries are sent again. It cannot be restarted after `stop`.
import {
  type AttemptResult,
  cancelUndeliverable,
  dueDeliveries,
  dueTime,
  isDeliverable,
  isSuccess,
  recordAttempt,
} from "../domain/deliveries.ts";
import { deliveries, webhooks } from "../domain/model.ts";
import { isStoreError } from "../domain/store.ts";
import { UnitOfWork, type UnitOfWorkDeps } from "../domain/unit-of-work.ts";
import type { TaskTracker } from "../lib/tasks.ts";
import { type AttemptDeps, makeAttempt } from "./attempt.ts";
import { createDueTimer } from "./due-timer.ts";
import { Semaphore } from "./semaphore.ts";

export interface OutboxDeps extends AttemptDeps, UnitOfWorkDeps {
  readonly tasks: TaskTracker;
  readonly onAttempt: (result: AttemptResult) => void;
  readonly onError: (error: unknown, during: string) => void;
}

const TASK = "webhook deliveries";
/** The maximum of concurrent attempts. Further deliveries stay in the store and cost no socket. */
const CONCURRENCY_MAX = 256;
const STORE_RETRY_MS = 1_000;

export type Outbox = ReturnType<typeof createOutbox>;

export function createOutbox(deps: OutboxDeps) {
  const { store, clock, sender, tasks, onAttempt, onError } = deps;
  const unitOfWork = new UnitOfWork(deps);
  const slots = new Semaphore(CONCURRENCY_MAX);
  /** Webhooks with a running chain of attempts; true if their rows changed since the chain last read them. */
  const chains = new Map<string, boolean>();
  /** Deliveries that a chaos rule holds back. */
  const held = new Set<string>();
  const timer = createDueTimer(store, clock, TASK, () => tasks.run(TASK, resume));
  let stopped = false;
  let unavailable = false;

  /** Starts the chains of all webhooks with deliveries due by `time` and sets the timer. */
  async function resume(time = clock.now()): Promise<void> {
    try {
      for (const { webhook_id } of await dueDeliveries(store, time)) notify(webhook_id);
      await timer.reset();
    } catch (error) {
      retryLater(error, () => resume(time));
    }
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
        if (result) await record(result);
        result = undefined;
        chains.set(webhookId, false);
        result = await slots.run(() => sendNext(webhookId));
      } while (result || chains.get(webhookId));
      chains.delete(webhookId);
    } catch (error) {
      retryLater(error, () => runChain(webhookId, result));
    }
  }

  /** Makes the webhook's first due attempt and returns the result to record. */
  async function sendNext(webhookId: string): Promise<AttemptResult | undefined> {
    await timer.reset(webhookId);
    const range = { offset: 0, limit: held.size + 1 };
    const rows = await store.page(deliveries, "queue", [webhookId], range);
    const delivery = rows.find(({ id }) => !held.has(id));
    if (delivery === undefined || stopped) return undefined;
    const webhook = await store.get(webhooks, webhookId);
    if (!isDeliverable(delivery, webhook)) {
      await unitOfWork.run((ctx) => cancelUndeliverable(ctx, webhookId));
      return undefined;
    }
    if (dueTime(delivery) > clock.now()) return timer.set(delivery);
    const result = await makeAttempt(deps, delivery, webhook);
    if ("again" in result) {
      held.add(delivery.id);
      void result.again.then(() => held.delete(delivery.id) && notify(webhookId));
      chains.set(webhookId, true);
      return undefined;
    }
    // An attempt aborted by `stop` has no result, but a success that arrived before it counts.
    if (stopped && !isSuccess(result.attempt)) return undefined;
    onAttempt(result);
    return result;
  }

  async function record(result: AttemptResult): Promise<void> {
    await unitOfWork.run((ctx) => recordAttempt(ctx, result));
    unavailable = false;
  }

  /** Reports a failure of the store, an outage only once, and repeats the work after a pause. */
  function retryLater(error: unknown, work: () => Promise<void>): void {
    if (stopped) return;
    const isOutage = isStoreError(error, "StorageUnavailable");
    if (!isOutage || !unavailable) onError(error, TASK);
    unavailable ||= isOutage;
    clock.schedule(clock.now() + STORE_RETRY_MS, TASK, async () => {
      if (!stopped) await tasks.run(TASK, work);
    });
  }

  /** Aborts the attempts in flight; their deliveries are sent after the next start. */
  function stop(): void {
    stopped = true;
    timer.stop();
    sender.close();
  }

  return { resume, notify, stop };
}
