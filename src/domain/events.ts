// Events and their deliveries (spec part 6; 6.emitted-by, 3.delivery-cancelled). An event is written in the transaction
// of its change, with one delivery for every active webhook subscribed to its type. Test deliveries get sample events.
// Attempts, retries and cancellations change the delivery's state. This module only writes rows; the outbox sends them.
import { type Instant, parseIso, toIso } from "../lib/clock.ts";
import { type Infer, object, optional } from "../lib/schema.ts";
import { serviceSignature, standardSignature } from "../lib/signature.ts";
import { VERSION } from "../lib/version.ts";
import { paginate, paginationParameters } from "./crud.ts";
import { notFound } from "./errors.ts";
import type {
  AccountRecord,
  Attempt,
  DeliveryRecord,
  EventRecord,
  EventType,
  WebhookRecord,
} from "./model.ts";
import { deliveries, events, eventType, webhooks } from "./model.ts";
import { ALL_RECORDS, type Range, type Reader, type Tx, type Values } from "./store.ts";
import type { AccountContext, TxContext } from "./unit-of-work.ts";

/** The specification's example of this type has no account; that of app.deployed has one (spec part 6). */
export const EVENTS_WITHOUT_ACCOUNT: ReadonlySet<EventType> = new Set(["user.interaction"]);

/** Events kept per account, and sample events besides. */
const EVENTS_KEPT = 10_000;
/** The older events that a new event checks again, so that its cost does not grow with pending deliveries. */
const RECHECKED_MAX = 100;

/** Records an event about `object` and creates a delivery for every webhook subscribed to its type. */
export async function recordEvent(
  ctx: AccountContext,
  type: EventType,
  object: object,
): Promise<EventRecord> {
  const event = await putEvent(ctx, type, object, false);
  for (const webhook of await ctx.tx.page(webhooks, "account", [ctx.account.id], ALL_RECORDS))
    if (webhook.active && webhook.events.includes(type))
      await putDelivery(ctx, createDelivery(ctx, webhook, event));
  return event;
}

/** Records the sample event of a test delivery: real in form, but in no list. */
export const recordSample = (ctx: AccountContext, type: EventType) =>
  putEvent(ctx, type, sampleObject(ctx, type), true);

/** Stores the event with the envelope that webhooks receive. */
async function putEvent(
  ctx: AccountContext,
  type: EventType,
  object: object,
  is_sample: boolean,
): Promise<EventRecord> {
  const { id: account_id, name } = ctx.account;
  const envelope = {
    id: ctx.ids.next("evt_"),
    type,
    created: ctx.timestamp,
    data: { object },
    account: EVENTS_WITHOUT_ACCOUNT.has(type) ? undefined : { id: account_id, name },
  };
  const event: EventRecord = {
    id: envelope.id,
    type,
    created: ctx.timestamp,
    body: JSON.stringify(envelope),
    account_id,
    is_sample,
    request_id: ctx.requestId,
  };
  await ctx.tx.put(events, event);
  ctx.publish("eventRecorded", event.id);
  await deleteOldest(ctx.tx, [account_id, is_sample]);
  return event;
}

/** Deletes the oldest events beyond the limit with their deliveries, unless one of these is pending. */
async function deleteOldest(tx: Tx, list: Values): Promise<void> {
  const excess = (await tx.count(events, "account", list)) - EVENTS_KEPT;
  if (excess <= 0) return;
  // Older ones, whose deliveries may have ended since, and the event that has just passed the limit.
  const limit = Math.min(excess, RECHECKED_MAX);
  const older = await tx.page(events, "account", list, { offset: 0, limit });
  const passed =
    excess > limit ? await tx.page(events, "account", list, { offset: excess - 1, limit: 1 }) : [];
  for (const { id } of [...older, ...passed]) {
    const deliveriesOfEvent = await tx.page(deliveries, "event", [id], ALL_RECORDS);
    if (deliveriesOfEvent.some(({ status }) => status === "pending")) continue;
    for (const delivery of deliveriesOfEvent) await tx.remove(deliveries, delivery.id);
    await tx.remove(events, id);
  }
}

export const eventQuery = object({ ...paginationParameters, type: optional(eventType) });

export const listEvents = (
  reader: Reader,
  { id }: AccountRecord,
  { type, ...range }: Infer<typeof eventQuery>,
) => paginate(reader, events, type ? "account_type" : "account", [id, false, type], range);

export async function getEvent(reader: Reader, account: AccountRecord, id: string) {
  const event = await reader.get(events, id);
  return event?.account_id === account.id && !event.is_sample ? event : notFound("event");
}

export const listDeliveriesOfEvent = (reader: Reader, event: EventRecord, range: Range) =>
  paginate(reader, deliveries, "event", [event.id], range);

/** Returns a sample `data.object` in the exact form of a real one. Its ids are new and belong to nothing. */
export function sampleObject(
  { ids, timestamp }: Pick<AccountContext, "ids" | "timestamp">,
  type: EventType,
): object {
  const app = { id: ids.next("app_"), title: "Sales overview" };
  const times = { created_at: timestamp, updated_at: timestamp };
  switch (type) {
    case "app.created":
    case "app.updated":
    case "app.deleted":
      return {
        ...app,
        description: "Revenue by region and month",
        theme: "light",
        public: false,
        ...times,
      };
    case "app.deployed": {
      const id = ids.next("dep_");
      const url = `https://sales.example.com/sites/${id}/`;
      return { ...app, deployment: { id, url, status: "live", deployed_at: timestamp } };
    }
    case "data.processed":
      return {
        id: ids.next("ds_"),
        name: "Orders",
        type: "csv",
        app_id: null,
        status: "ready",
        columns: [
          { name: "region", type: "string" },
          { name: "revenue", type: "number" },
          { name: "ordered_at", type: "datetime" },
        ],
        row_count: 1_284,
        error: null,
        ...times,
      };
    case "user.interaction":
      return {
        app_id: app.id,
        user_id: ids.next("usr_"),
        interaction_type: "chart_click",
        chart_id: "revenue-by-month",
        data_point: { x: "2026-03", y: 48_250, category: "North" },
      };
  }
}

/** Manual attempts come first, because a person waits for them. */
const PRIORITY_MANUAL = 0;
const PRIORITY_BY_TIME = 1;

/** 410 Gone (RFC 9110 15.5.11) disables the webhook at once, without a retry. */
const GONE = 410;

/** Creates a delivery that is due at once. A test is one manual attempt, whatever the webhook subscribes to. */
export function createDelivery(
  ctx: TxContext,
  webhook: WebhookRecord,
  event: EventRecord,
  test = false,
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
    manual: test,
    test,
    priority: test ? PRIORITY_MANUAL : PRIORITY_BY_TIME,
    due_at: ctx.timestamp,
  };
}

/** Returns the headers of an attempt; the last three are for Standard Webhooks libraries. */
export function deliveryHeaders(
  { secret }: WebhookRecord,
  event: EventRecord,
  deliveryId: string,
  attempt: { readonly number: number; readonly timestamp_s: number },
) {
  const { number, timestamp_s } = attempt;
  return {
    "Content-Type": "application/json",
    "Content-Length": String(Buffer.byteLength(event.body)),
    "User-Agent": `AppHostingService/${VERSION}`,
    "X-Service-Signature": serviceSignature(event.body, secret),
    "X-Service-Event": event.type,
    "X-Service-Delivery": deliveryId,
    "X-Service-Attempt": String(number),
    "webhook-id": event.id,
    "webhook-timestamp": String(timestamp_s),
    "webhook-signature": standardSignature(event.id, timestamp_s, event.body, secret),
  };
}

/** Requests one manual attempt at once, unless one is pending, and keeps the next scheduled attempt. */
export function requestRedelivery(delivery: DeliveryRecord, timestamp: string): DeliveryRecord {
  if (delivery.manual) return delivery;
  return {
    ...delivery,
    status: "pending",
    manual: true,
    priority: PRIORITY_MANUAL,
    due_at: timestamp,
  };
}

/** Returns the time from which a pending delivery may be sent. */
export const dueTime = ({ due_at }: DeliveryRecord): Instant => parseIso(due_at ?? "");

export const isSuccess = ({ response_status: status }: Pick<Attempt, "response_status">): boolean =>
  status !== null && status >= 200 && status < 300;

export const isDeliverable = (
  delivery: DeliveryRecord,
  webhook: WebhookRecord | undefined,
): webhook is WebhookRecord => webhook !== undefined && (webhook.active || delivery.test);

/** Ends a delivery. It has succeeded if any attempt has. */
const finishDelivery = (
  delivery: DeliveryRecord,
  status: "failed" | "cancelled",
): DeliveryRecord => ({
  ...delivery,
  status: delivery.attempts.some(isSuccess) ? "succeeded" : status,
  next_attempt_at: null,
  manual: false,
  priority: PRIORITY_BY_TIME,
  due_at: null,
});

export interface AttemptResult {
  readonly deliveryId: string;
  readonly type: EventType;
  readonly url: string;
  readonly attempt: Attempt;
  /** `webhook-timestamp` of the attempt. */
  readonly timestamp_s: number;
  /** Time of the next scheduled attempt if this one of the schedule failed. */
  readonly retryAt: string | null;
}

/**
 * Returns the delivery after an attempt. Changes made during the attempt are kept: a failure does not revive a
 * cancelled delivery, and a manual attempt requested during a scheduled one is still made.
 */
function afterAttempt(delivery: DeliveryRecord, result: AttemptResult): DeliveryRecord {
  const { attempt, timestamp_s } = result;
  const logged = {
    ...delivery,
    attempts: [...delivery.attempts, attempt],
    timestamps_s: [...delivery.timestamps_s, timestamp_s],
  };
  const isOver = isSuccess(attempt) || delivery.next_attempt_at === null;
  const retryAt = attempt.trigger === "manual" ? delivery.next_attempt_at : result.retryAt;
  const next_attempt_at = isOver ? null : retryAt;
  const isGone = attempt.response_status === GONE;
  if (attempt.trigger === "schedule" && delivery.manual && !isGone)
    return { ...logged, next_attempt_at };
  if (delivery.due_at === null && !isSuccess(attempt)) return logged;
  if (next_attempt_at === null || delivery.test || isGone) return finishDelivery(logged, "failed");
  return {
    ...logged,
    next_attempt_at,
    manual: false,
    priority: PRIORITY_BY_TIME,
    due_at: next_attempt_at,
  };
}

/** Stores a delivery and publishes the change. */
export async function putDelivery({ tx, publish }: TxContext, delivery: DeliveryRecord) {
  await tx.put(deliveries, delivery);
  publish("queueChanged", delivery.webhook_id);
  publish("deliveryChanged", delivery.id);
  return delivery;
}

/** Records an attempt with its consequences, unless the delivery was deleted meanwhile. */
export async function recordAttempt(ctx: TxContext, result: AttemptResult): Promise<void> {
  const { tx } = ctx;
  const delivery = await tx.get(deliveries, result.deliveryId);
  if (delivery === undefined) return;
  await putDelivery(ctx, afterAttempt(delivery, result));
  if (result.attempt.response_status !== GONE) return;
  const webhook = await tx.get(webhooks, delivery.webhook_id);
  if (!webhook?.active) return;
  await tx.put(webhooks, {
    ...webhook,
    active: false,
    disabled_reason: "gone",
    updated_at: ctx.timestamp,
  });
  ctx.publish("webhookStopped", webhook.id);
}

/** Cancels the pending deliveries of a disabled or deleted webhook. */
export async function cancelUndeliverable(ctx: TxContext, webhookId: string): Promise<void> {
  const webhook = await ctx.tx.get(webhooks, webhookId);
  for (const delivery of await ctx.tx.page(deliveries, "queue", [webhookId], ALL_RECORDS))
    if (!isDeliverable(delivery, webhook))
      await putDelivery(ctx, finishDelivery(delivery, "cancelled"));
}

/** Ends a delivery that cannot be sent, because the data lack its event. */
export async function failDelivery(ctx: TxContext, id: string): Promise<void> {
  const delivery = await ctx.tx.get(deliveries, id);
  if (delivery) await putDelivery(ctx, finishDelivery(delivery, "failed"));
}

/** Postpones a delivery, for fault injection in tests. */
export async function postpone(ctx: TxContext, id: string, until: string): Promise<void> {
  const delivery = await ctx.tx.get(deliveries, id);
  if (!delivery || delivery.due_at === null) return;
  const next_attempt_at = delivery.manual ? delivery.next_attempt_at : until;
  await putDelivery(ctx, {
    ...delivery,
    next_attempt_at,
    priority: PRIORITY_BY_TIME,
    due_at: until,
  });
}

/** Moves pending deliveries back by as much as the clock was set back, so that each wait keeps its length. */
export async function shiftPendingDeliveries(ctx: TxContext, by_ms: number): Promise<void> {
  const shiftTime = (time: string | null) => time && toIso(parseIso(time) - by_ms);
  for (const delivery of await ctx.tx.page(deliveries, "pending", ["pending"], ALL_RECORDS))
    await putDelivery(ctx, {
      ...delivery,
      next_attempt_at: shiftTime(delivery.next_attempt_at),
      due_at: shiftTime(delivery.due_at),
    });
}

/** Returns the deliveries of all webhooks that are due by `time`, in the order of their due times. */
export async function listDueDeliveries(reader: Reader, time: Instant) {
  const pending = await reader.page(deliveries, "pending", ["pending"], ALL_RECORDS);
  return pending.filter((delivery) => dueTime(delivery) <= time);
}
