// Webhooks (spec part 2; contract, parts 2, 4 and 6): subscriptions, delivery log, manual redelivery and test
// deliveries. Redelivery and test only queue a row; the response does not wait for the attempt. The outbox sends
// deliveries and cancels those of deleted or disabled webhooks.
import { type Instant, toIso } from "../lib/clock.ts";
import { type Infer, object, optional } from "../lib/schema.ts";
import { serviceSignature, standardSignature } from "../lib/signature.ts";
import { VERSION } from "../lib/version.ts";
import { createCrudService, paginate, paginationParameters } from "./crud.ts";
import {
  createTestDelivery,
  putDelivery,
  requestRedelivery,
  startNextQueue,
} from "./deliveries.ts";
import { AppError, notFound } from "./errors.ts";
import { recordSample } from "./events.ts";
import type { AccountRecord, EventRecord, EventType, WebhookRecord } from "./model.ts";
import { deliveries, deliveryStatus, eventType, webhook, webhooks } from "./model.ts";
import type { Reader } from "./store.ts";
import type { TxContext, UnitOfWork, WithOptionalId } from "./unit-of-work.ts";

/** Period in which `webhook-signature` carries both secrets, so that a receiver can switch without a gap. */
const ROTATION_MS = 24 * 3_600_000;

export const testBody = object({ type: eventType });

/** 40 letters and digits are the base64 of 30 bytes, a key that Standard Webhooks libraries accept unchanged. */
const newSecret = ({ ids }: TxContext): string => `whsec_${ids.secret().slice(0, 40)}`;

export async function createWebhook(
  ctx: TxContext,
  account_id: string,
  request: WithOptionalId<Infer<typeof webhook.createBody>>,
) {
  const { id = ctx.ids.next("wh_"), secret = newSecret(ctx), ...draft } = request;
  const untried = {
    disabled_reason: null,
    old_secret: null,
    old_secret_until: null,
    first_failure_at: null,
  };
  const times = { created_at: ctx.timestamp, updated_at: ctx.timestamp };
  const record: WebhookRecord = { id, ...draft, ...untried, secret, ...times, account_id };
  await ctx.tx.put(webhooks, record);
  return record;
}

export const webhookService = createCrudService(webhooks, "webhook", webhook, {
  onCreate: createWebhook,
  onUpdate: updateWebhook,
  onDelete: startNextQueue,
});

/** Disabling a webhook abandons its queued deliveries; enabling it again clears the disabled reason. */
async function updateWebhook(ctx: TxContext, after: WebhookRecord, before: WebhookRecord) {
  const { url, active, secret } = before;
  const switched = after.active !== active;
  const rotated = { old_secret: secret, old_secret_until: toIso(ctx.now + ROTATION_MS) };
  return {
    ...(active && switched ? startNextQueue(ctx, after) : after),
    updated_at: ctx.timestamp,
    ...(after.secret !== secret && rotated),
    ...(switched && { disabled_reason: null }),
    // A new URL or an enabled webhook starts without the earlier failures.
    ...((switched || after.url !== url) && { first_failure_at: null }),
  };
}

interface Sent {
  /** Number of the attempt. */
  readonly number: number;
  /** Time on the service's clock. */
  readonly at: Instant;
  readonly timestamp_s: number;
}

/** Returns the headers of an attempt; the last three are for Standard Webhooks libraries. */
export function deliveryHeaders(
  webhook: WebhookRecord,
  event: EventRecord,
  id: string,
  sent: Sent,
) {
  const { number, timestamp_s } = sent;
  const { secret } = webhook;
  return {
    "Content-Type": "application/json",
    "Content-Length": String(Buffer.byteLength(event.body)),
    "User-Agent": `AppHostingService/${VERSION}`,
    "X-Service-Signature": serviceSignature(event.body, secret),
    "X-Service-Event": event.type,
    "X-Service-Delivery": id,
    "X-Service-Attempt": String(number),
    "webhook-id": event.id,
    "webhook-timestamp": String(timestamp_s),
    "webhook-signature": standardSignature(event.id, timestamp_s, event.body, secret),
  };
}

export const deliveryQuery = object({ ...paginationParameters, status: optional(deliveryStatus) });

/** Lists the webhook's deliveries. The route has already checked that the caller owns the webhook. */
export const listDeliveries = (
  reader: Reader,
  id: string,
  { status, ...range }: Infer<typeof deliveryQuery>,
) => paginate(reader, deliveries, status ? "webhook_status" : "webhook", [id, status], range);

export async function getDelivery(reader: Reader, webhookId: string, id: string) {
  const delivery = await reader.get(deliveries, id);
  return delivery?.webhook_id === webhookId ? delivery : notFound("delivery");
}

/**
 * Queues the delivery again, ahead of the queue. Returns it unchanged if the webhook is disabled and the delivery is
 * not a test.
 */
export const redeliver = (
  unit: UnitOfWork,
  account: AccountRecord,
  webhookId: string,
  id: string,
) =>
  webhookService.withRecord(unit, account, webhookId, async (ctx, webhook) => {
    const delivery = await getDelivery(ctx.tx, webhookId, id);
    if (delivery instanceof AppError || !(webhook.active || delivery.test)) return delivery;
    return putDelivery(ctx, requestRedelivery(delivery, webhook, ctx.timestamp));
  });

export const sendTest = (
  unit: UnitOfWork,
  account: AccountRecord,
  webhookId: string,
  type: EventType,
) =>
  webhookService.withRecord(unit, account, webhookId, async (ctx, webhook) =>
    putDelivery(ctx, createTestDelivery(ctx, webhook, await recordSample(ctx, account, type))),
  );
