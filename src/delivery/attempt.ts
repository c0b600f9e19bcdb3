// One attempt of a delivery from its rows to its outcome (spec part 6, receiving endpoint and signature; contract, part
// 6): everything about it is read again once it is claimed, the stored bytes are signed and sent. What came of it is only
// answered here; writing it down is `recordAttempt`'s.
import { dueAt, isWanted, succeeded } from "../domain/deliveries.ts";
import { deliveryHeaders } from "../domain/delivery-request.ts";
import {
  type Attempt,
  type DeliveryRecord,
  deliveries,
  type EventRecord,
  events,
  type WebhookRecord,
  webhooks,
} from "../domain/model.ts";
import type { Made } from "../domain/outcomes.ts";
import type { Store } from "../domain/store.ts";
import { type Clock, type Instant, iso } from "../kit/clock.ts";
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

function compose({ delivery, webhook, event }: Rows, at: Instant, userAgent: string): Post {
  const number = delivery.attempts.length + 1;
  const headers = deliveryHeaders({ webhook, event, deliveryId: delivery.id, number, at }, userAgent);
  return { url: webhook.url, body: event.body, headers };
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
