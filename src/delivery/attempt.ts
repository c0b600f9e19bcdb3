// One attempt of a delivery from its rows to its outcome (spec part 6, receiving endpoint and signature; contract, part
// 6): everything about it is read again once it is claimed, the stored bytes are signed and sent. What came of it is only
// answered here; writing it down is `recordAttempt`'s.
import type { Made } from "../domain/deliveries.ts";
import { dueAt, isWanted } from "../domain/deliveries.ts";
import type { Attempt, EventRecord } from "../domain/model.ts";
import { deliveries, events, webhooks } from "../domain/model.ts";
import type { Store } from "../domain/store.ts";
import { deliveryHeaders } from "../domain/webhooks.ts";
import { type Clock, iso } from "../kit/clock.ts";
import { jitterOf, nextAttempt } from "./schedule.ts";
import type { NotNow, Sender } from "./sender.ts";

export interface AttemptParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly sender: Sender;
  /** The waits between attempts. */
  readonly retryWaits_ms: readonly number[];
}

export interface Sent extends Made {
  readonly type: EventRecord["type"];
}

/** Attempts the delivery. Answers undefined where it is not to be sent: it is over, no longer wanted, or not yet due. */
export async function makeAttempt(parts: AttemptParts, deliveryId: string): Promise<Sent | NotNow | undefined> {
  const { store, clock, sender, retryWaits_ms } = parts;
  const start = clock.now();
  const delivery = await store.get(deliveries, deliveryId);
  // Another process may have sent it since it was seen to be due.
  if (!delivery || dueAt(delivery) > start) return undefined;
  const webhook = await store.get(webhooks, delivery.webhook_id);
  const event = await store.get(events, delivery.event_id);
  if (!webhook || !event || !isWanted(delivery, webhook)) return undefined;
  const { url } = webhook;
  const number = delivery.attempts.length + 1;
  const headers = deliveryHeaders(webhook, event, deliveryId, number, start);
  const outcome = await sender.send({ url, headers, body: event.body }, delivery);
  if ("again" in outcome) return outcome;
  const { status, retryAfter } = outcome;
  const now = clock.now();
  const attempt: Attempt = {
    number,
    trigger: delivery.manual ? "manual" : "schedule",
    at: iso(start),
    duration_ms: now - start,
    response_status: status,
    response_body: outcome.body,
    error: outcome.error,
  };
  // Those by hand do not count. Where it succeeded nobody asks.
  const scheduled = delivery.attempts.filter(({ trigger }) => trigger === "schedule").length + 1;
  const failure = { attempt: scheduled, now, fraction: jitterOf(deliveryId, scheduled), status, retryAfter };
  const next = nextAttempt(failure, retryWaits_ms);
  return { deliveryId, url, type: event.type, attempt, retryAt: next === undefined ? null : iso(next) };
}
