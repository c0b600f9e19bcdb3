// The delivery log of a webhook by API (spec part 6 shows it in the dashboard only; contract, parts 4 and 6), and the two
// ways to send by hand: the same delivery again, or a sample. Both only queue a row; the answer never waits for it.
import { object, oneOf, optional } from "../kit/schema.ts";
import type { Caller } from "./access.ts";
import { askedAgain, putDelivery, testDelivery } from "./deliveries.ts";
import { recordSample } from "./events.ts";
import { type Page, pageOf, spanParameters } from "./lists.ts";
import { DELIVERY_STATUSES, type DeliveryRecord, type DeliveryStatus, deliveries, type EventType } from "./model.ts";
import { notFound, Refusal } from "./refusal.ts";
import { sampleObject } from "./samples.ts";
import type { Reader, Span } from "./store.ts";
import { getWebhook } from "./webhooks.ts";
import type { Unit } from "./work.ts";

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

export async function getDelivery(
  reader: Reader,
  caller: Caller,
  webhookId: string,
  id: string,
): Promise<DeliveryRecord | Refusal> {
  const webhook = await getWebhook(reader, caller, webhookId);
  if (webhook instanceof Refusal) return webhook;
  const delivery = await reader.get(deliveries, id);
  return delivery?.webhook_id === webhookId ? delivery : notFound("delivery");
}

/** Queues the delivery once more, ahead of what waits. What the schedule has in store for it stays beside that. */
export const redeliver = (unit: Unit, caller: Caller, webhookId: string, id: string) =>
  unit.transact<DeliveryRecord>(async (w) => {
    const webhook = await getWebhook(w.tx, caller, webhookId);
    if (webhook instanceof Refusal) return webhook;
    const delivery = await getDelivery(w.tx, caller, webhookId, id);
    if (delivery instanceof Refusal) return delivery;
    const asked = askedAgain(delivery, webhook, w.at);
    await putDelivery(w.tx, asked);
    return asked;
  });

/** Queues a sample event of the type for this webhook alone. */
export const sendTest = (unit: Unit, caller: Caller, webhookId: string, type: EventType) =>
  unit.transact<DeliveryRecord>(async (w) => {
    const webhook = await getWebhook(w.tx, caller, webhookId);
    if (webhook instanceof Refusal) return webhook;
    const sample = await recordSample(w, caller.account, type, sampleObject(w, type));
    const delivery = testDelivery(w, webhook, sample);
    await putDelivery(w.tx, delivery);
    return delivery;
  });
