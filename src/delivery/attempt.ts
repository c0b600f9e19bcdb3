// One attempt of a delivery from its rows to its outcome (spec part 6, receiving endpoint and signature; contract, part
// 6): everything about it is read again once it is claimed, the stored bytes are signed and sent. What came of it is only
// answered here; writing it down is `recordAttempt`'s.

import type { Made } from "../domain/deliveries.ts";
import { dueAt, isWanted, succeeded } from "../domain/deliveries.ts";
import {
  type Attempt,
  type DeliveryRecord,
  deliveries,
  type EventRecord,
  events,
  type WebhookRecord,
  webhooks,
} from "../domain/model.ts";
import type { Store } from "../domain/store.ts";
import { secretsOf } from "../domain/webhooks.ts";
import { type Clock, type Instant, iso } from "../kit/clock.ts";
import { serviceSignature, standardSignature } from "../kit/signature.ts";
import { jitterOf, nextAttempt } from "./schedule.ts";
import type { NotNow, Outcome, Post, Sender } from "./sender.ts";

export interface AttemptParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly sender: Sender;
  /** The waits between attempts. */
  readonly retryWaits_ms: readonly number[];
  readonly userAgent: string;
}

interface Rows {
  readonly delivery: DeliveryRecord;
  readonly webhook: WebhookRecord;
  readonly event: EventRecord;
}

/** Attempts the delivery. Answers undefined where it is not to be sent: it is over, no longer wanted, or not yet due. */
export async function makeAttempt(parts: AttemptParts, deliveryId: string): Promise<Made | NotNow | undefined> {
  const { store, clock, sender, userAgent } = parts;
  const start = clock.now();
  const rows = await readRows(store, deliveryId, start);
  if (!rows) return undefined;
  const outcome = await sender.send(compose(rows, start, userAgent), rows.delivery);
  return "again" in outcome ? outcome : conclude(parts, rows, start, outcome);
}

/** Another process may have sent it since it was seen to be due. */
async function readRows(store: Store, id: string, now: Instant): Promise<Rows | undefined> {
  const delivery = await store.get(deliveries, id);
  if (!delivery || dueAt(delivery) > now) return undefined;
  const webhook = await store.get(webhooks, delivery.webhook_id);
  const event = await store.get(events, delivery.event_id);
  return webhook && event && isWanted(delivery, webhook) ? { delivery, webhook, event } : undefined;
}

/** The last three are what libraries for Standard Webhooks verify. */
function compose({ delivery, webhook, event }: Rows, now: Instant, userAgent: string): Post {
  const { body } = event;
  const timestamp_s = Math.floor(now / 1_000);
  return {
    url: webhook.url,
    body,
    headers: {
      "Content-Type": "application/json",
      "Content-Length": String(Buffer.byteLength(body)),
      "User-Agent": userAgent,
      "X-Service-Signature": serviceSignature(body, webhook.secret),
      "X-Service-Event": event.type,
      "X-Service-Delivery": delivery.id,
      "X-Service-Attempt": String(delivery.attempts.length + 1),
      "webhook-id": event.id,
      "webhook-timestamp": String(timestamp_s),
      "webhook-signature": standardSignature(event.id, timestamp_s, body, secretsOf(webhook, iso(now))),
    },
  };
}

function conclude(
  { clock, retryWaits_ms }: AttemptParts,
  { delivery, webhook }: Rows,
  start: Instant,
  outcome: Outcome,
): Made {
  const now = clock.now();
  const attempt: Attempt = {
    number: delivery.attempts.length + 1,
    trigger: delivery.manual ? "manual" : "schedule",
    at: iso(start),
    duration_ms: now - start,
    response_status: outcome.status,
    response_body: outcome.body,
    error: outcome.error,
  };
  const made = delivery.attempts.filter(({ trigger }) => trigger === "schedule").length + 1;
  const failure = { attempt: made, now, fraction: jitterOf(delivery.id, made), ...outcome };
  const next = succeeded(attempt) ? undefined : nextAttempt(failure, retryWaits_ms);
  return { deliveryId: delivery.id, url: webhook.url, attempt, retryAt: next === undefined ? null : iso(next) };
}
