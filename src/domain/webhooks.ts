// Webhooks (spec part 2; 2.webhook-fields, 4.webhook-endpoints): subscriptions, delivery log, manual redelivery and
// test deliveries. Redelivery and test only store a pending delivery, which the outbox sends after the response.
import { type Infer, object, optional } from "../lib/schema.ts";
import { createCrudService, paginate, paginationParameters, toNewRecord } from "./crud.ts";
import { AppError, type FieldError, notFound } from "./errors.ts";
import {
  cancelUndeliverable,
  createDelivery,
  isDeliverable,
  putDelivery,
  recordSample,
  requestRedelivery,
} from "./events.ts";
import {
  type AccountRecord,
  deliveries,
  deliveryStatus,
  type EventType,
  eventType,
  type WebhookRecord,
  webhook,
  webhooks,
} from "./model.ts";
import type { Reader } from "./store.ts";
import type { AccountContext, TxContext, UnitOfWork, WithOptionalId } from "./unit-of-work.ts";

/** Returns the rule of the address policy that a URL violates, if any. */
export type CheckUrl = (url: string) => string | undefined;

/** Returns the error if the address policy forbids the URL of a webhook. */
export function findUrlErrors(
  { url }: Partial<Infer<typeof webhook.createBody>>,
  checkUrl: CheckUrl,
): readonly FieldError[] {
  const detail = url && checkUrl(url);
  return detail ? [{ pointer: "#/url", detail }] : [];
}

export const testBody = object({ type: eventType });

/** 40 letters and digits are the base64 of 30 bytes, a key that Standard Webhooks libraries accept unchanged. */
const createSecret = ({ ids }: TxContext): string => `whsec_${ids.secret().slice(0, 40)}`;

export async function createWebhook(
  ctx: AccountContext,
  draft: WithOptionalId<Infer<typeof webhook.createBody>>,
) {
  const record: WebhookRecord = {
    ...toNewRecord(ctx, "wh_", draft),
    disabled_reason: null,
    secret: draft.secret ?? createSecret(ctx),
  };
  await ctx.tx.put(webhooks, record);
  return record;
}

export const webhookService = createCrudService(webhooks, "webhook", webhook, {
  onCreate: createWebhook,
  onUpdate: updateWebhook,
  async onDelete(ctx, { id }) {
    ctx.publish("webhookStopped", id);
  },
});

/** Disabling a webhook cancels its pending deliveries; enabling it clears the disabled reason. */
async function updateWebhook(ctx: TxContext, after: WebhookRecord, before: WebhookRecord) {
  if (after.active === before.active) return after;
  if (after.active) {
    // The workers may not have cancelled them yet, and enabling the webhook must not revive them.
    await cancelUndeliverable(ctx, before.id);
  } else {
    ctx.publish("webhookStopped", before.id);
  }
  return { ...after, disabled_reason: null };
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

/** Requests a manual attempt. Returns the delivery unchanged if its webhook is disabled, unless it is a test. */
export const redeliver = (
  unitOfWork: UnitOfWork,
  account: AccountRecord,
  webhookId: string,
  id: string,
) =>
  webhookService.withRecord(unitOfWork, account, webhookId, async (ctx, webhook) => {
    const delivery = await getDelivery(ctx.tx, webhookId, id);
    if (delivery instanceof AppError || !isDeliverable(delivery, webhook)) return delivery;
    return putDelivery(ctx, requestRedelivery(delivery, ctx.timestamp));
  });

export const sendTest = (
  unitOfWork: UnitOfWork,
  account: AccountRecord,
  webhookId: string,
  type: EventType,
) =>
  webhookService.withRecord(unitOfWork, account, webhookId, async (ctx, webhook) =>
    putDelivery(ctx, createDelivery(ctx, webhook, await recordSample(ctx, type), true)),
  );
