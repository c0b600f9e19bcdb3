// Delivery state machine (spec part 6; contract, parts 3 and 6): state transitions, queue positions, and the result of
// an attempt. This module neither sends nor waits.
import { decide } from "../former-decisions.ts";
import { type Instant, parseIso, toIso } from "../lib/clock.ts";
import type { Attempt, DeliveryRecord, EventRecord, EventType, WebhookRecord } from "./model.ts";
import { deliveries, events, webhooks } from "./model.ts";
import { ALL_RECORDS, type Reader, type Tx } from "./store.ts";
import type { TxContext } from "./unit-of-work.ts";

/**
 * Queue positions, compared as text: manual attempts first, because a person waits for them, then by due time. A retry
 * has a mark after the time; everything else is due at once.
 */
const [PRIORITY_MANUAL, PRIORITY_BY_TIME] = ["0", "1"];
const RETRY_MARK = "r";

export const isRetry = ({ queue_position: queue }: DeliveryRecord): boolean =>
  queue?.endsWith(RETRY_MARK) === true;

/** Returns the due time, or infinity if nothing is to be sent. */
export const dueTime = ({ queue_position: queue }: DeliveryRecord): Instant =>
  queue === null ? Number.POSITIVE_INFINITY : parseIso(queue.slice(1).replace(RETRY_MARK, ""));

/**
 * Returns the queue that new deliveries of the webhook join. Disabling a webhook starts a new queue, at a cost
 * independent of its length. Enabling it again revives none of the old deliveries.
 */
export const currentQueueId = ({ id, queue_generation: times_off = 0 }: WebhookRecord): string =>
  times_off === 0 ? id : `${id}.${times_off}`;
export const webhookIdOfQueue = (queue: string): string => queue.replace(/\..*/, "");

/** Creates a delivery that is due at once. */
export function createDelivery(
  ctx: TxContext,
  webhook: WebhookRecord,
  event: EventRecord,
): DeliveryRecord {
  return {
    id: ctx.ids.next("dlv_"),
    webhook_id: webhook.id,
    event_id: event.id,
    event_type: event.type,
    status: "pending",
    attempts: [],
    timestamps_s: [],
    next_attempt_at: ctx.timestamp,
    created_at: ctx.timestamp,
    account_id: webhook.account_id,
    manual: false,
    test: false,
    queue_position: PRIORITY_BY_TIME + ctx.timestamp,
    queue_id: currentQueueId(webhook),
  };
}

/** Creates a test delivery: one attempt, ahead of the queue, whatever the webhook subscribes to. */
export const createTestDelivery = (
  ctx: TxContext,
  webhook: WebhookRecord,
  sample: EventRecord,
): DeliveryRecord => ({
  ...createDelivery(ctx, webhook, sample),
  test: true,
  manual: true,
  queue_position: PRIORITY_MANUAL + ctx.timestamp,
});

/** Requests one manual attempt at once and keeps the next scheduled attempt. */
export function requestRedelivery(
  delivery: DeliveryRecord,
  webhook: WebhookRecord,
  at: string,
): DeliveryRecord {
  const queue_id = currentQueueId(webhook);
  const queued = delivery.queue_id === queue_id;
  if (queued && delivery.manual) return delivery;
  const next_attempt_at = queued ? delivery.next_attempt_at : null;
  return {
    ...delivery,
    status: "pending",
    next_attempt_at,
    manual: true,
    queue_position: PRIORITY_MANUAL + at,
    queue_id,
  };
}

const SETTLED = {
  next_attempt_at: null,
  manual: false,
  queue_position: null,
  queue_id: null,
} as const;

/** Cancels a delivery. One that arrived before stays succeeded, even if a redelivery was requested. */
const toCancelled = (delivery: DeliveryRecord): DeliveryRecord => ({
  ...delivery,
  ...SETTLED,
  status: delivery.attempts.some(isSuccess) ? "succeeded" : decide("3.delivery-cancelled"),
});

/** 410 Gone (RFC 9110 15.5.11) disables the webhook at once, without a retry. */
const GONE = 410;

export const isSuccess = (attempt: Attempt): boolean =>
  attempt.response_status !== null &&
  attempt.response_status >= 200 &&
  attempt.response_status < 300;

/**
 * Returns the delivery after an attempt. `retryAt` is the next scheduled attempt after a failure, or null if there is
 * none. Changes made during the attempt are kept: a failure does not revive a cancelled delivery, and a manual attempt
 * requested meanwhile is still sent.
 */
function afterAttempt(
  delivery: DeliveryRecord,
  { attempt, timestamp_s, retryAt }: AttemptResult,
): DeliveryRecord {
  const timestamps_s = [...delivery.timestamps_s, timestamp_s];
  const logged = { ...delivery, attempts: [...delivery.attempts, attempt], timestamps_s };
  if (attempt.trigger === "schedule" && delivery.manual)
    return { ...logged, next_attempt_at: isSuccess(attempt) ? null : retryAt };
  if (isSuccess(attempt)) return { ...logged, ...SETTLED, status: "succeeded" };
  if (delivery.queue_position === null) return logged;
  const next = attempt.trigger === "manual" && delivery.next_attempt_at === null ? null : retryAt;
  if (next !== null && !delivery.test && attempt.response_status !== GONE) {
    const mark =
      next > attempt.at || logged.attempts.some((each) => each.trigger === "schedule")
        ? RETRY_MARK
        : "";
    return {
      ...logged,
      manual: false,
      next_attempt_at: next,
      queue_position: PRIORITY_BY_TIME + next + mark,
    };
  }
  return {
    ...logged,
    ...SETTLED,
    status: logged.attempts.some(isSuccess) ? "succeeded" : "failed",
  };
}

/**
 * Stores a delivery and publishes the change. Deletes an event that was retained only for its last pending delivery.
 */
export async function putDelivery(
  { tx, publish }: TxContext,
  delivery: DeliveryRecord,
): Promise<DeliveryRecord> {
  await tx.put(deliveries, delivery);
  publish("queue", delivery.queue_id ?? delivery.webhook_id);
  publish("delivery", delivery.id);
  const event =
    delivery.queue_position === null ? await tx.get(events, delivery.event_id) : undefined;
  if (event && event.list_key === null && !event.sample_account_id)
    await deleteIfSettled(tx, event);
  return delivery;
}

/** Deletes the event and its deliveries unless one is still pending; returns whether it did. */
export async function deleteIfSettled(tx: Tx, event: EventRecord): Promise<boolean> {
  const all = await tx.page(deliveries, "event", [event.id], ALL_RECORDS);
  if (all.some(({ queue_position: queue }) => queue !== null)) return false;
  for (const { id } of all) await tx.remove(deliveries, id);
  await tx.remove(events, event.id);
  return true;
}

/** Moves a disabled or deleted webhook to a new queue and publishes the old one, for the outbox to cancel. */
export function startNextQueue(ctx: TxContext, webhook: WebhookRecord): WebhookRecord {
  ctx.publish("queue", currentQueueId(webhook));
  return { ...webhook, queue_generation: (webhook.queue_generation ?? 0) + 1 };
}

export const isDeliverable = (
  delivery: DeliveryRecord,
  webhook: WebhookRecord | undefined,
): boolean =>
  webhook !== undefined &&
  delivery.queue_id === currentQueueId(webhook) &&
  (webhook.active || delivery.test);

/** Five days without a success disable the webhook. The owner sees the reason and can enable it again. */
const FAILING_AFTER_MS = 5 * 86_400_000;

export interface AttemptResult {
  readonly deliveryId: string;
  readonly type: EventType;
  /** URL of the attempt; the result affects the webhook's health only while it has this URL. */
  readonly url: string;
  readonly attempt: Attempt;
  /** `webhook-timestamp` of the attempt. */
  readonly timestamp_s: number;
  /** Time of the next scheduled attempt after a failure. */
  readonly retryAt: string | null;
}

/**
 * Records an attempt with its consequences. Does nothing if the delivery was deleted, or if an earlier call already
 * recorded the attempt but got no confirmation.
 */
export async function recordAttempt(ctx: TxContext, result: AttemptResult): Promise<void> {
  const { tx, now } = ctx;
  const delivery = await tx.get(deliveries, result.deliveryId);
  const { number, at } = result.attempt;
  if (!delivery || delivery.attempts.some((each) => each.number === number && each.at === at))
    return;
  await putDelivery(ctx, afterAttempt(delivery, result));
  const webhook = await tx.get(webhooks, delivery.webhook_id);
  if (webhook?.url !== result.url) return;
  const updatedWebhook = updateWebhookHealth(webhook, delivery, result.attempt, now);
  if (updatedWebhook === webhook) return;
  await tx.put(
    webhooks,
    updatedWebhook.active === webhook.active ? updatedWebhook : startNextQueue(ctx, updatedWebhook),
  );
}

/** Returns the webhook with updated health, or the same object if nothing changes. */
function updateWebhookHealth(
  webhook: WebhookRecord,
  { test }: DeliveryRecord,
  attempt: Attempt,
  now: Instant,
): WebhookRecord {
  const { active, first_failure_at: failing_since } = webhook;
  if (isSuccess(attempt))
    return failing_since === null ? webhook : { ...webhook, first_failure_at: null };
  const at = toIso(now);
  const off = { active: false, updated_at: at, first_failure_at: failing_since ?? at };
  if (active && attempt.response_status === GONE)
    return { ...webhook, ...off, disabled_reason: "gone" };
  // A test delivery does not start the five days, because an event may come long after.
  if (failing_since === null) return test ? webhook : { ...webhook, first_failure_at: at };
  const expired = now - parseIso(failing_since) >= FAILING_AFTER_MS;
  return active && expired ? { ...webhook, ...off, disabled_reason: "failing" } : webhook;
}

/** Small, so that no other transaction waits long. */
const CANCEL_BATCH_SIZE = 50;

export async function cancelUndeliverable(ctx: TxContext, queue: string): Promise<void> {
  const { tx } = ctx;
  const rows = await tx.page(deliveries, "queue", [queue], { offset: 0, limit: CANCEL_BATCH_SIZE });
  const webhook = rows[0] && (await tx.get(webhooks, rows[0].webhook_id));
  for (const row of rows)
    if (!isDeliverable(row, webhook)) await putDelivery(ctx, toCancelled(row));
}

/** Postpones a delivery, for fault injection in tests. */
export async function postpone(ctx: TxContext, id: string, until: string): Promise<void> {
  const row = await ctx.tx.get(deliveries, id);
  if (!row || row.queue_position === null) return;
  const next_attempt_at = row.manual ? row.next_attempt_at : until;
  await putDelivery(ctx, {
    ...row,
    next_attempt_at,
    queue_position: PRIORITY_BY_TIME + until + RETRY_MARK,
  });
}

/** Moves pending deliveries back by as much as the clock was set back, so that each wait keeps its length. */
export async function moveBack(ctx: TxContext, by_ms: number): Promise<void> {
  const moved = (at: string) => toIso(parseIso(at) - by_ms);
  for (const row of await ctx.tx.page(deliveries, "waiting", ["pending"], ALL_RECORDS)) {
    const { next_attempt_at, queue_position: queue } = row;
    if (queue === null) continue;
    const next = next_attempt_at === null ? null : moved(next_attempt_at);
    const place = queue.charAt(0) + toIso(dueTime(row) - by_ms) + (isRetry(row) ? RETRY_MARK : "");
    await putDelivery(ctx, { ...row, next_attempt_at: next, queue_position: place });
  }
}

/** Returns the due deliveries of all webhooks. */
export async function dueDeliveries(
  reader: Reader,
  now: Instant,
): Promise<readonly DeliveryRecord[]> {
  const found: DeliveryRecord[] = [];
  const limit = 100;
  for (;;) {
    const rows = await reader.page(deliveries, "waiting", ["pending"], {
      offset: found.length,
      limit,
    });
    // Only retries can have a future due time; nothing after the first of those is due.
    const due = rows.filter((row) => !isRetry(row) || dueTime(row) <= now);
    found.push(...due);
    if (due.length < limit) return found;
  }
}
