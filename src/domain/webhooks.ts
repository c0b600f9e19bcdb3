// Webhooks (spec part 2; contract, parts 2, 4 and 6): who is told of what, and where; their delivery log, and the two ways
// to send by hand: the same delivery again, or a sample. Both only queue a row; the answer never waits for it. What waits
// for a webhook that is deleted or switched off is the outbox's to cancel, as sending is.
import { type Instant, iso } from "../kit/clock.ts";
import { type Infer, object, optional } from "../kit/schema.ts";
import { serviceSignature, standardSignature } from "../kit/signature.ts";
import { VERSION } from "../kit/version.ts";
import { askedAgain, leavingQueue, putDelivery, testDelivery } from "./deliveries.ts";
import { recordSample } from "./events.ts";
import { owned, pageOf, spanParameters } from "./lists.ts";
import type { AccountRecord, EventRecord, EventType, WebhookRecord } from "./model.ts";
import { deliveries, deliveryStatus, eventType, webhook, webhooks } from "./model.ts";
import { notFound, Refusal } from "./refusal.ts";
import type { Reader } from "./store.ts";
import type { Seeded, Unit, Work } from "./work.ts";

/** So long `webhook-signature` carries both secrets, so that a receiver can change over without a gap. */
const ROTATION_MS = 24 * 3_600_000;

export const testRequest = object({ type: eventType });

/** 40 letters and digits are the base64 of 30 bytes: a key that libraries for Standard Webhooks take as it stands. */
const newSecret = ({ ids }: Work): string => `whsec_${ids.secret().slice(0, 40)}`;

export async function addWebhook(w: Work, account_id: string, given: Seeded<Infer<typeof webhook.draft>>) {
  const { id = w.ids.next("wh_"), secret = newSecret(w), ...draft } = given;
  const untried = { disabled_reason: null, old_secret: null, old_secret_until: null, failing_since: null };
  const times = { created_at: w.at, updated_at: w.at };
  const made: WebhookRecord = { id, ...draft, ...untried, secret, ...times, account_id };
  await w.tx.put(webhooks, made);
  return made;
}

export const own = owned(webhooks, "webhook", webhook, {
  adding: addWebhook,
  changing,
  removing: ({ tx }, webhook) => leavingQueue(tx, webhook),
});

/** Switched off, it leaves what waits behind; switched on again, it forgets why it was off. */
async function changing(w: Work, after: WebhookRecord, before: WebhookRecord) {
  const { url, active, secret } = before;
  const switched = after.active !== active;
  const rotated = { old_secret: secret, old_secret_until: iso(w.now + ROTATION_MS) };
  return {
    ...(active && switched ? leavingQueue(w.tx, after) : after),
    updated_at: w.at,
    ...(after.secret !== secret && rotated),
    ...(switched && { disabled_reason: null }),
    // Neither a new address nor one that was switched on again answers for the failures before.
    ...((switched || after.url !== url) && { failing_since: null }),
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
export function deliveryHeaders(webhook: WebhookRecord, event: EventRecord, id: string, sent: Sent) {
  const { number, at, timestamp_s } = sent;
  const { secret, old_secret, old_secret_until } = webhook;
  const both = old_secret !== null && old_secret_until !== null && iso(at) < old_secret_until;
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
    "webhook-signature": standardSignature(event.id, timestamp_s, event.body, both ? [secret, old_secret] : [secret]),
  };
}

export const deliveryQuery = object({ ...spanParameters, status: optional(deliveryStatus) });

/** Whose webhook it is, the row has asked. */
export const listDeliveries = (reader: Reader, id: string, { status, ...span }: Infer<typeof deliveryQuery>) =>
  pageOf(reader, deliveries, status ? "webhook_status" : "webhook", [id, status], span);

export async function getDelivery(reader: Reader, webhookId: string, id: string) {
  const delivery = await reader.get(deliveries, id);
  return delivery?.webhook_id === webhookId ? delivery : notFound("delivery");
}

/** Queues the delivery once more, ahead of what waits; it stays as it is where its webhook is off and nothing is sent. */
export const redeliver = (unit: Unit, account: AccountRecord, webhookId: string, id: string) =>
  own.act(unit, account, webhookId, async (w, webhook) => {
    const delivery = await getDelivery(w.tx, webhookId, id);
    if (delivery instanceof Refusal || !(webhook.active || delivery.test)) return delivery;
    return putDelivery(w.tx, askedAgain(delivery, webhook, w.at));
  });

export const sendTest = (unit: Unit, account: AccountRecord, webhookId: string, type: EventType) =>
  own.act(unit, account, webhookId, async (w, webhook) =>
    putDelivery(w.tx, testDelivery(w, webhook, await recordSample(w, account, type))),
  );
