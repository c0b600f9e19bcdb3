// Webhooks (spec part 2; contract, parts 2, 4 and 6): who is told of what, and where; their delivery log, and the two ways
// to send by hand: the same delivery again, or a sample. Both only queue a row; the answer never waits for it. What waits
// for a webhook that is deleted or switched off is the outbox's to cancel, as sending is.
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

/** So long `webhook-signature` carries both secrets, so that a receiver can change over without a gap. */
const ROTATION_MS = 24 * 3_600_000;

export const testBody = object({ type: eventType });

/** 40 letters and digits are the base64 of 30 bytes: a key that libraries for Standard Webhooks take as it stands. */
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
  onDelete: ({ tx }, webhook) => startNextQueue(tx, webhook),
});

/** Switched off, it leaves what waits behind; switched on again, it forgets why it was off. */
async function updateWebhook(ctx: TxContext, after: WebhookRecord, before: WebhookRecord) {
  const { url, active, secret } = before;
  const switched = after.active !== active;
  const rotated = { old_secret: secret, old_secret_until: toIso(ctx.now + ROTATION_MS) };
  return {
    ...(active && switched ? startNextQueue(ctx.tx, after) : after),
    updated_at: ctx.timestamp,
    ...(after.secret !== secret && rotated),
    ...(switched && { disabled_reason: null }),
    // Neither a new address nor one that was switched on again answers for the failures before.
    ...((switched || after.url !== url) && { first_failure_at: null }),
  };
}

interface Sent {
  /** Of the attempt. */
  readonly number: number;
  /** When, on the service's clock. */
  readonly at: Instant;
  readonly timestamp_s: number;
}

/** The headers of an attempt; the last three are for libraries of Standard Webhooks. */
export function deliveryHeaders(
  webhook: WebhookRecord,
  event: EventRecord,
  id: string,
  sent: Sent,
) {
  const { number, at, timestamp_s } = sent;
  const { secret, old_secret, old_secret_until } = webhook;
  const both = old_secret !== null && old_secret_until !== null && toIso(at) < old_secret_until;
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
    "webhook-signature": standardSignature(
      event.id,
      timestamp_s,
      event.body,
      both ? [secret, old_secret] : [secret],
    ),
  };
}

export const deliveryQuery = object({ ...paginationParameters, status: optional(deliveryStatus) });

/** Whose webhook it is, the row has asked. */
export const listDeliveries = (
  reader: Reader,
  id: string,
  { status, ...range }: Infer<typeof deliveryQuery>,
) => paginate(reader, deliveries, status ? "webhook_status" : "webhook", [id, status], range);

export async function getDelivery(reader: Reader, webhookId: string, id: string) {
  const delivery = await reader.get(deliveries, id);
  return delivery?.webhook_id === webhookId ? delivery : notFound("delivery");
}

/** Queues the delivery once more, ahead of what waits; it stays as it is where its webhook is off and nothing is sent. */
export const redeliver = (
  unit: UnitOfWork,
  account: AccountRecord,
  webhookId: string,
  id: string,
) =>
  webhookService.withRecord(unit, account, webhookId, async (ctx, webhook) => {
    const delivery = await getDelivery(ctx.tx, webhookId, id);
    if (delivery instanceof AppError || !(webhook.active || delivery.test)) return delivery;
    return putDelivery(ctx.tx, requestRedelivery(delivery, webhook, ctx.timestamp));
  });

export const sendTest = (
  unit: UnitOfWork,
  account: AccountRecord,
  webhookId: string,
  type: EventType,
) =>
  webhookService.withRecord(unit, account, webhookId, async (ctx, webhook) =>
    putDelivery(ctx.tx, createTestDelivery(ctx, webhook, await recordSample(ctx, account, type))),
  );
