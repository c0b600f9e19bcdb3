// The delivery log of a webhook by API (spec part 6 shows it in the dashboard only; contract, parts 4 and 6), and the two
// ways to send by hand: the same delivery again, or a sample. Both only queue a row; the answer never waits for it.
import { object, oneOf, optional } from "../kit/schema.ts";
import type { Caller } from "./access.ts";
import { askedAgain, putDelivery, testDelivery } from "./deliveries.ts";
import { recordSample } from "./events.ts";
import { type Page, pageOf, spanParameters } from "./lists.ts";
import {
  DELIVERY_STATUSES,
  type DeliveryRecord,
  type DeliveryStatus,
  deliveries,
  type EventType,
  type WebhookRecord,
} from "./model.ts";
import { notFound, Refusal } from "./refusal.ts";
import type { Reader, Span } from "./store.ts";
import { getWebhook } from "./webhooks.ts";
import type { Unit, Work } from "./work.ts";

/** The query of GET /webhooks/{webhook_id}/deliveries. */
export const deliveryQuery = object({ ...spanParameters, status: optional(oneOf(DELIVERY_STATUSES)) });

export async function listDeliveries(
  reader: Reader,
  caller: Caller,
  webhookId: string,
  status: DeliveryStatus | undefined,
  span: Span,
): Promise<Page<DeliveryRecord> | Refusal> {
  const webhook = await getWebhook(reader, caller, webhookId);
  if (webhook instanceof Refusal) return webhook;
  return status === undefined
    ? pageOf(reader, deliveries, "webhook", [webhookId], span)
    : pageOf(reader, deliveries, "webhook_status", [webhookId, status], span);
}

export async function getDelivery(reader: Reader, caller: Caller, webhookId: string, id: string) {
  const webhook = await getWebhook(reader, caller, webhookId);
  return webhook instanceof Refusal ? webhook : deliveryOf(reader, webhook, id);
}

async function deliveryOf(reader: Reader, webhook: WebhookRecord, id: string): Promise<DeliveryRecord | Refusal> {
  const delivery = await reader.get(deliveries, id);
  return delivery?.webhook_id === webhook.id ? delivery : notFound("delivery");
}

/** Queues the delivery once more, ahead of what waits. What the schedule has in store for it stays beside that. */
export const redeliver = (unit: Unit, caller: Caller, webhookId: string, id: string) =>
  queued(unit, caller, webhookId, async (w, webhook) => {
    const delivery = await deliveryOf(w.tx, webhook, id);
    return delivery instanceof Refusal ? delivery : askedAgain(delivery, webhook, w.at);
  });

/** Queues a sample event of the type for this webhook alone. */
export const sendTest = (unit: Unit, caller: Caller, webhookId: string, type: EventType) =>
  queued(unit, caller, webhookId, async (w, webhook) =>
    testDelivery(w, webhook, await recordSample(w, caller.account, type)),
  );

const queued = (
  unit: Unit,
  caller: Caller,
  webhookId: string,
  made: (w: Work, webhook: WebhookRecord) => Promise<DeliveryRecord | Refusal>,
) =>
  unit.transact(async (w) => {
    const webhook = await getWebhook(w.tx, caller, webhookId);
    const delivery = webhook instanceof Refusal ? webhook : await made(w, webhook);
    if (!(delivery instanceof Refusal)) await putDelivery(w.tx, delivery);
    return delivery;
  });
