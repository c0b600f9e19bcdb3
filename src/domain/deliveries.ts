// A delivery's life (spec part 6; contract, parts 3 and 6): pure steps from one record to the next, where it stands in
// its webhook's queue, and what an attempt makes of it and of the webhook. Nothing is sent here and nothing waits here.
import { decide } from "../decisions.ts";
import { type Instant, parseIso, toIso } from "../lib/clock.ts";
import type { Attempt, DeliveryRecord, EventRecord, EventType, WebhookRecord } from "./model.ts";
import { deliveries, events, TOPIC, webhooks } from "./model.ts";
import { ALL_RECORDS, type Reader, type Tx } from "./store.ts";
import type { TxContext } from "./unit-of-work.ts";

/**
 * A place in a queue, compared as text: manual attempts first, since a person waits for them, then by due time. A retry is
 * marked behind the time; everything else is due at once.
 */
const [PRIORITY_MANUAL, PRIORITY_BY_TIME] = ["0", "1"];
const RETRY_MARK = "r";

export const isRetry = ({ queue_position: queue }: DeliveryRecord): boolean =>
  queue?.endsWith(RETRY_MARK) === true;

/** When it is to be sent; never, where nothing is. */
export const dueTime = ({ queue_position: queue }: DeliveryRecord): Instant =>
  queue === null ? Number.POSITIVE_INFINITY : parseIso(queue.slice(1).replace(RETRY_MARK, ""));

/**
 * The queue that the webhook's deliveries now join. A webhook that is switched off leaves its queue and all that waits
 * in it: so switching off costs the same whatever waits, and switching on again brings nothing of it back.
 */
export const currentQueueId = ({ id, queue_generation: times_off = 0 }: WebhookRecord): string =>
  times_off === 0 ? id : `${id}.${times_off}`;
/** Whose queue it is. */
export const webhookIdOfQueue = (queue: string): string => queue.replace(/\..*/, "");

/** The delivery of an event, to be attempted at once. */
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

/** The delivery of a sample event: once, ahead of what waits, and whatever the webhook subscribes to. */
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

/** Asked for by hand: one attempt at once. What the schedule still has in store for the delivery is kept beside it. */
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

/** Nobody wants it any more, and nothing went wrong; what arrived once stays a success, even if asked for again. */
const toCancelled = (delivery: DeliveryRecord): DeliveryRecord => ({
  ...delivery,
  ...SETTLED,
  status: delivery.attempts.some(isSuccess) ? "succeeded" : decide("3.delivery-cancelled"),
});

/** The receiver wants nothing more (RFC 9110 15.5.11): its webhook is switched off at once, and nothing is retried. */
const GONE = 410;

export const isSuccess = (attempt: Attempt): boolean =>
  attempt.response_status !== null &&
  attempt.response_status >= 200 &&
  attempt.response_status < 300;

/**
 * The delivery after an attempt. `retryAt` is when the schedule goes on after a failure, null where it has ended.
 * What happened while the attempt ran stands: a delivery cancelled meanwhile is not revived by a failure, and one asked
 * for by hand meanwhile is still sent once more.
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

/** Writes a delivery and tells that it has changed. An event that was kept only for it goes with its last one. */
export async function putDelivery(tx: Tx, delivery: DeliveryRecord): Promise<DeliveryRecord> {
  await tx.put(deliveries, delivery);
  tx.publish(TOPIC.queue, delivery.queue_id ?? delivery.webhook_id);
  tx.publish(TOPIC.delivery, delivery.id);
  const event =
    delivery.queue_position === null ? await tx.get(events, delivery.event_id) : undefined;
  if (event && event.list_key === null && !event.sample_account_id)
    await deleteIfSettled(tx, event);
  return delivery;
}

/** Removes the event and its deliveries unless one of them is still to be sent; true if removed. */
export async function deleteIfSettled(tx: Tx, event: EventRecord): Promise<boolean> {
  const all = await tx.page(deliveries, "event", [event.id], ALL_RECORDS);
  if (all.some(({ queue_position: queue }) => queue !== null)) return false;
  for (const { id } of all) await tx.remove(deliveries, id);
  await tx.remove(events, event.id);
  return true;
}

/** The webhook in its next queue, where it is switched off; what waits in this one is the outbox's to cancel. */
export function startNextQueue(tx: Tx, webhook: WebhookRecord): WebhookRecord {
  tx.publish(TOPIC.queue, currentQueueId(webhook));
  return { ...webhook, queue_generation: (webhook.queue_generation ?? 0) + 1 };
}

export const isDeliverable = (
  delivery: DeliveryRecord,
  webhook: WebhookRecord | undefined,
): boolean =>
  webhook !== undefined &&
  delivery.queue_id === currentQueueId(webhook) &&
  (webhook.active || delivery.test);

/** Five days without one success: the webhook is switched off, says so, and can be switched on again. */
const FAILING_AFTER_MS = 5 * 86_400_000;

export interface AttemptResult {
  readonly deliveryId: string;
  readonly type: EventType;
  /** Where it was sent: what the answer says is about this address only. */
  readonly url: string;
  readonly attempt: Attempt;
  /** Its `webhook-timestamp`. */
  readonly timestamp_s: number;
  /** When the schedule would go on after a failure. */
  readonly retryAt: string | null;
}

/**
 * Writes the attempt and all that follows from it; nothing where the delivery is no longer kept, or where it was written
 * before and the one who wrote it did not get to know.
 */
export async function recordAttempt(tx: Tx, result: AttemptResult, now: Instant): Promise<void> {
  const delivery = await tx.get(deliveries, result.deliveryId);
  const { number, at } = result.attempt;
  if (!delivery || delivery.attempts.some((each) => each.number === number && each.at === at))
    return;
  await putDelivery(tx, afterAttempt(delivery, result));
  const webhook = await tx.get(webhooks, delivery.webhook_id);
  if (webhook?.url !== result.url) return;
  const updatedWebhook = updateWebhookHealth(webhook, delivery, result.attempt, now);
  if (updatedWebhook === webhook) return;
  await tx.put(
    webhooks,
    updatedWebhook.active === webhook.active ? updatedWebhook : startNextQueue(tx, updatedWebhook),
  );
}

/** The webhook in the light of an attempt; the same object where nothing changes. */
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
  // With a test delivery alone the five days do not begin: an event may come long after.
  if (failing_since === null) return test ? webhook : { ...webhook, first_failure_at: at };
  const expired = now - parseIso(failing_since) >= FAILING_AFTER_MS;
  return active && expired ? { ...webhook, ...off, disabled_reason: "failing" } : webhook;
}

/** So few that nobody waits long for the transaction to end. */
const CANCEL_BATCH_SIZE = 50;

export async function cancelUndeliverable(tx: Tx, queue: string): Promise<void> {
  const rows = await tx.page(deliveries, "queue", [queue], { offset: 0, limit: CANCEL_BATCH_SIZE });
  const webhook = rows[0] && (await tx.get(webhooks, rows[0].webhook_id));
  for (const row of rows) if (!isDeliverable(row, webhook)) await putDelivery(tx, toCancelled(row));
}

/** Not before then, as a test wants it. */
export async function postpone(tx: Tx, id: string, until: string): Promise<void> {
  const row = await tx.get(deliveries, id);
  if (!row || row.queue_position === null) return;
  const next_attempt_at = row.manual ? row.next_attempt_at : until;
  await putDelivery(tx, {
    ...row,
    next_attempt_at,
    queue_position: PRIORITY_BY_TIME + until + RETRY_MARK,
  });
}

/** Moves all that waits back with a clock that was set back by so much, so that each wait keeps its length. */
export async function moveBack(tx: Tx, by_ms: number): Promise<void> {
  const moved = (at: string) => toIso(parseIso(at) - by_ms);
  for (const row of await tx.page(deliveries, "waiting", ["pending"], ALL_RECORDS)) {
    const { next_attempt_at, queue_position: queue } = row;
    if (queue === null) continue;
    const next = next_attempt_at === null ? null : moved(next_attempt_at);
    const place = queue.charAt(0) + toIso(dueTime(row) - by_ms) + (isRetry(row) ? RETRY_MARK : "");
    await putDelivery(tx, { ...row, next_attempt_at: next, queue_position: place });
  }
}

/** The deliveries of all webhooks that are due and not attempted. */
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
    // Only retries may not be due yet, by whosever clock; behind the first of them nothing else is due.
    const due = rows.filter((row) => !isRetry(row) || dueTime(row) <= now);
    found.push(...due);
    if (due.length < limit) return found;
  }
}
