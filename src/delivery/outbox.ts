// The outbox (spec part 6; 6.retry-schedule, 6.webhook-concurrency): makes the due attempts and stores each result. The
// rows are authoritative, so a crash loses nothing and interrupted deliveries are sent again. It cannot be restarted
// after `stop`. Due times are pure functions of the attempt, the time and the receiver's Retry-After.
import { hash } from "node:crypto";
import {
  type AttemptResult,
  cancelUndeliverable,
  deliveryHeaders,
  dueTime,
  failDelivery,
  isDeliverable,
  isSuccess,
  recordAttempt,
} from "../domain/events.ts";
import {
  type Attempt,
  type DeliveryRecord,
  deliveries,
  type EventRecord,
  events,
  type WebhookRecord,
  webhooks,
} from "../domain/model.ts";
import { ALL_RECORDS } from "../domain/store.ts";
import { UnitOfWork, type UnitOfWorkDeps } from "../domain/unit-of-work.ts";
import { type Instant, parseDuration, parseIso, type Timer, toIso } from "../lib/clock.ts";
import { RANDOM_LENGTH } from "../lib/ids.ts";
import type { TaskTracker } from "../lib/tasks.ts";
import type { RetryLater, Sender, WebhookRequest } from "./sender.ts";

const HOUR_MS = 3_600_000;
/** The longest wait of a custom schedule: one year, far from the limit of dates. */
const WAIT_MAX_MS = 365 * 24 * HOUR_MS;
/** Spec part 8: the time an endpoint has to respond to a delivery. */
export const RESPONSE_TIMEOUT_MS = 30_000;
/** The wait after each failed attempt of the schedule; the last entry precedes the last attempt. */
export const RETRY_WAITS_MS = parseRetrySchedule("5s,5m,30m,2h,5h,10h,14h,20h,24h") ?? [];
/** Spreads retries by 20% either way, so that a recovered receiver does not get all of them at once. */
const JITTER = 0.2;
/** Retry-After can only lengthen a wait, up to the longest of the schedule. */
const RETRY_AFTER_MAX_MS = 24 * HOUR_MS;

export interface OutboxDeps extends UnitOfWorkDeps {
  readonly sender: Sender;
  /** The time for the `webhook-timestamp` header. */
  readonly timestamp: () => Instant;
  /** The waits between attempts. */
  readonly retryWaits_ms: readonly number[];
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
  const heldBack = new Set<string>();
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
    const range = { offset: 0, limit: heldBack.size + 1 };
    const rows = await store.page(deliveries, "queue", [webhookId], range);
    const delivery = rows.find(({ id }) => !heldBack.has(id));
    if (delivery === undefined || stopped) return undefined;
    const webhook = await store.get(webhooks, webhookId);
    const event = await store.get(events, delivery.event_id);
    const due = dueTime(delivery);
    if (!isDeliverable(delivery, webhook))
      await unitOfWork.run((ctx) => cancelUndeliverable(ctx, webhookId));
    else if (event === undefined) await unitOfWork.run((ctx) => failDelivery(ctx, delivery.id));
    else if (due > clock.now()) setTimer(webhookId, due, async () => notify(webhookId));
    else if (inFlight === CONCURRENCY_MAX) waiting.add(webhookId);
    else return attempt(delivery, webhook, event);
    return undefined;
  }

  async function attempt(delivery: DeliveryRecord, webhook: WebhookRecord, event: EventRecord) {
    inFlight += 1;
    const result = await makeAttempt(deps, delivery, webhook, event).finally(() => {
      inFlight -= 1;
      for (const webhookId of waiting) notify(webhookId);
      waiting.clear();
    });
    if ("after" in result) {
      heldBack.add(delivery.id);
      void result.after.then(() => heldBack.delete(delivery.id) && notify(webhook.id));
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

/** Makes one attempt. The result is only returned here; `recordAttempt` stores it. */
async function makeAttempt(
  deps: OutboxDeps,
  delivery: DeliveryRecord,
  webhook: WebhookRecord,
  event: EventRecord,
): Promise<AttemptResult | RetryLater> {
  const { clock, sender } = deps;
  const start = clock.now();
  const number = delivery.attempts.length + 1;
  const timestamp_s = Math.floor(deps.timestamp() / 1_000);
  const buildSignedRequest = (body: string): WebhookRequest => ({
    url: webhook.url,
    headers: deliveryHeaders(webhook, { ...event, body }, delivery.id, { number, timestamp_s }),
    body,
  });
  const outcome = await sender.send(buildSignedRequest(event.body), delivery, buildSignedRequest);
  if ("after" in outcome) return outcome;
  const { retryAfter, ...response } = outcome;
  const now = clock.now();
  const attempt: Attempt = {
    number,
    trigger: delivery.manual ? "manual" : "schedule",
    at: toIso(start),
    // The clock may have been set back meanwhile.
    duration_ms: Math.max(now - start, 0),
    ...response,
  };
  const isBusy = [429, 503].includes(response.response_status ?? 0);
  const requested_ms = isBusy ? parseRetryAfter(retryAfter ?? "", now) : 0;
  return {
    deliveryId: delivery.id,
    url: webhook.url,
    type: event.type,
    attempt,
    timestamp_s,
    retryAt: nextAttemptAt(delivery, deps.retryWaits_ms, now, requested_ms),
  };
}

/** Returns the time of the next scheduled attempt if this one failed; null if there is none. */
function nextAttemptAt(
  { id, attempts }: DeliveryRecord,
  waits_ms: readonly number[],
  now: Instant,
  requested_ms: number,
): string | null {
  const scheduled = attempts.filter(({ trigger }) => trigger === "schedule").length;
  const wait_ms = waits_ms[scheduled];
  if (wait_ms === undefined) return null;
  // From the random part of the id, so that it repeats with a random seed, whatever the time.
  const random = id.slice(-RANDOM_LENGTH);
  const fraction = hash("sha256", `${random} ${scheduled}`, "buffer").readUInt32BE() / 2 ** 32;
  const jittered_ms = Math.round(wait_ms * (1 - JITTER + 2 * JITTER * fraction));
  return toIso(now + Math.max(jittered_ms, requested_ms));
}

/** Parses Retry-After into milliseconds: whole seconds or an HTTP date (RFC 9110 10.2.3); 0 if it is neither. */
export function parseRetryAfter(header: string, now: Instant): number {
  const delay_ms = /^\d+$/.test(header) ? Number(header) * 1_000 : parseIso(header) - now;
  return Math.min(Math.max(delay_ms || 0, 0), RETRY_AFTER_MAX_MS);
}

/** Parses a schedule such as "5s,5m,1h" into milliseconds; undefined if it is invalid. */
export function parseRetrySchedule(text: string): readonly number[] | undefined {
  const waits = text
    .split(",")
    .map((wait) => parseDuration(wait.trim()) ?? Number.POSITIVE_INFINITY);
  return waits.every((wait) => wait <= WAIT_MAX_MS) ? waits : undefined;
}
