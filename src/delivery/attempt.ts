// One attempt of a delivery from its rows to its outcome (spec part 6, receiving endpoint and signature; contract, part
// 6): everything about the webhook is read again, the stored bytes are signed and sent. What came of it is only answered
// here; writing it down is `recordAttempt`'s.
import { cancelled, settle, succeeded, turnOf } from "../domain/deliveries.ts";
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
import { secretsOf } from "../domain/webhooks.ts";
import { type Clock, type Instant, iso } from "../kit/clock.ts";
import { decide } from "../kit/decisions.ts";
import { serviceSignature, standardSignature } from "../kit/signature.ts";
import { jitterOf, nextAttempt } from "./schedule.ts";
import type { Outcome, Post, Sender } from "./sender.ts";

export interface AttemptParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly sender: Sender;
  /** The waits between attempts. */
  readonly retryWaits_ms: readonly number[];
  readonly userAgent: string;
}

/** An attempt that was made and is to be recorded. */
export interface Sent extends Made {
  readonly post: Post;
}

interface Rows {
  readonly delivery: DeliveryRecord;
  readonly webhook: WebhookRecord;
  readonly event: EventRecord;
}

/** Attempts the delivery. Answers undefined where there was nothing to send any more. */
export async function makeAttempt(parts: AttemptParts, deliveryId: string): Promise<Sent | undefined> {
  const rows = await readRows(parts.store, deliveryId);
  if (!rows) return undefined;
  const start = parts.clock.now();
  const post = compose(rows, start, parts.userAgent);
  const outcome = await parts.sender.send(post);
  return conclude(parts, rows, post, start, outcome);
}

/** A delivery whose webhook no longer wants it is cancelled on the spot. */
async function readRows(store: Store, id: string): Promise<Rows | undefined> {
  const delivery = await store.get(deliveries, id);
  if (!delivery || delivery.queue === null) return undefined;
  const webhook = await store.get(webhooks, delivery.webhook_id);
  const event = await store.get(events, delivery.event_id);
  if (webhook && event && (webhook.active || delivery.test)) return { delivery, webhook, event };
  await store.transact(async (tx) => {
    const row = await tx.get(deliveries, id);
    if (row && row.queue !== null) await settle(tx, cancelled(row));
  });
  return undefined;
}

/** Beside X-Service-Signature, which the specification shows. */
const NAMES = decide(
  "6.delivery-headers",
  {
    event: "X-Service-Event",
    delivery: "X-Service-Delivery",
    attempt: "X-Service-Attempt",
    id: "webhook-id",
    timestamp: "webhook-timestamp",
    signature: "webhook-signature",
  },
  {
    open: "which further headers a delivery carries",
    why: "a receiver can sort and count without reading the body; the last three are what libraries for Standard Webhooks verify",
  },
);

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
      [NAMES.event]: event.type,
      [NAMES.delivery]: delivery.id,
      [NAMES.attempt]: String(delivery.attempts.length + 1),
      [NAMES.id]: event.id,
      [NAMES.timestamp]: String(timestamp_s),
      [NAMES.signature]: standardSignature(event.id, timestamp_s, body, secretsOf(webhook, iso(now))),
    },
  };
}

function conclude(
  { clock, retryWaits_ms }: AttemptParts,
  { delivery }: Rows,
  post: Post,
  start: Instant,
  outcome: Outcome,
): Sent {
  const now = clock.now();
  const attempt: Attempt = {
    number: delivery.attempts.length + 1,
    trigger: turnOf(delivery.queue ?? "").turn === "manual" ? "manual" : "schedule",
    at: iso(start),
    duration_ms: now - start,
    response_status: outcome.status,
    response_body: outcome.body,
    error: outcome.error,
  };
  const retryAt = succeeded(attempt) ? null : whenNext(delivery, outcome, now, retryWaits_ms);
  return { deliveryId: delivery.id, url: post.url, post, attempt, retryAt };
}

function whenNext(
  delivery: DeliveryRecord,
  { status, retryAfter }: Outcome,
  now: Instant,
  waits_ms: readonly number[],
) {
  const attempt = delivery.attempts.filter(({ trigger }) => trigger === "schedule").length + 1;
  const fraction = jitterOf(delivery.id, attempt);
  const next = nextAttempt({ attempt, now, fraction, status, retryAfter }, waits_ms);
  return next === undefined ? null : iso(next);
}
