// Makes one attempt of a delivery and computes when the next is due (spec part 6, receiving endpoint and signature; the
// retry schedule: contract, part 6). The result is only returned here; `recordAttempt` stores it. Due times are pure
// functions of the attempt, the time and the receiver's Retry-After.
import { createHash } from "node:crypto";
import type { AttemptResult } from "../domain/deliveries.ts";
import { type Attempt, type DeliveryRecord, events, type WebhookRecord } from "../domain/model.ts";
import type { Store } from "../domain/store.ts";
import { deliveryHeaders } from "../domain/webhooks.ts";
import { type Clock, type Instant, parseDuration, parseIso, toIso } from "../lib/clock.ts";
import { RANDOM_LENGTH } from "../lib/ids.ts";
import type { Deferred, Sender, WebhookRequest } from "./sender.ts";

const HOUR_MS = 3_600_000;
/** The longest wait of a custom schedule: one year, far from the limit of dates. */
const WAIT_MAX_MS = 365 * 24 * HOUR_MS;
/** Spec part 8: the time an endpoint has to respond to a delivery. */
export const RESPONSE_TIMEOUT_MS = 30_000;
/** The wait after each failed attempt of the schedule; the last entry precedes the last attempt. */
export const RETRY_WAITS_MS = parseRetrySchedule("5s,5m,30m,2h,5h,10h,14h,20h,24h") ?? [];
/** Spreads retries by 20% either way, so that a recovered receiver does not get all of them at once. */
const JITTER = 0.2;
/** Retry-After can only lengthen a wait, up to the longest of the schedule. */
const RETRY_AFTER_MAX_MS = 24 * HOUR_MS;

export interface AttemptDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly sender: Sender;
  /** The time for the `webhook-timestamp` header. */
  readonly timestamp: () => Instant;
  /** The waits between attempts. */
  readonly retryWaits_ms: readonly number[];
}

export async function makeAttempt(
  deps: AttemptDeps,
  delivery: DeliveryRecord,
  webhook: WebhookRecord,
): Promise<AttemptResult | Deferred> {
  const { store, clock, sender } = deps;
  const event = await store.get(events, delivery.event_id);
  if (event === undefined) throw new Error(`The store holds ${delivery.id} without its event`);
  const start = clock.now();
  const number = delivery.attempts.length + 1;
  const timestamp_s = Math.floor(deps.timestamp() / 1_000);
  const signedRequest = (body: string): WebhookRequest => ({
    url: webhook.url,
    headers: deliveryHeaders(webhook, { ...event, body }, delivery.id, { number, timestamp_s }),
    body,
  });
  const outcome = await sender.send(signedRequest(event.body), delivery, signedRequest);
  if ("again" in outcome) return outcome;
  const { retryAfter, ...response } = outcome;
  const now = clock.now();
  const attempt: Attempt = {
    number,
    trigger: delivery.manual ? "manual" : "schedule",
    at: toIso(start),
    // The clock may have been set back meanwhile.
    duration_ms: Math.max(now - start, 0),
    ...response,
  };
  const requested_ms = requestedDelay(response.response_status, retryAfter, now);
  return {
    deliveryId: delivery.id,
    url: webhook.url,
    type: event.type,
    attempt,
    timestamp_s,
    retryAt: nextAttemptAt(delivery, deps.retryWaits_ms, now, requested_ms),
  };
}

/** Returns the time of the next scheduled attempt if this one failed; null if there is none. */
function nextAttemptAt(
  { id, attempts, manual, next_attempt_at: planned }: DeliveryRecord,
  waits_ms: readonly number[],
  now: Instant,
  requested_ms: number,
): string | null {
  if (manual) {
    // The planned attempt stays, unless Retry-After postpones it.
    const requested = toIso(now + requested_ms);
    return planned !== null && requested_ms > 0 && requested > planned ? requested : planned;
  }
  const scheduled = attempts.filter(({ trigger }) => trigger === "schedule").length;
  const wait_ms = waits_ms[scheduled];
  if (wait_ms === undefined) return null;
  const fraction = jitterFraction(id, scheduled + 1);
  return toIso(now + calculateRetryDelay(wait_ms, fraction, requested_ms));
}

/** Returns the milliseconds until the next attempt; `fraction` in [0, 1) is the position within the jitter. */
export function calculateRetryDelay(
  wait_ms: number,
  fraction: number,
  requested_ms: number,
): number {
  const jittered_ms = Math.round(wait_ms * (1 - JITTER + 2 * JITTER * fraction));
  return Math.max(jittered_ms, requested_ms);
}

/** Depends only on the random part of the id and the attempt, so that it repeats whatever the time. */
function jitterFraction(deliveryId: string, attempt: number): number {
  const random = deliveryId.slice(-RANDOM_LENGTH);
  return createHash("sha256").update(`${random} ${attempt}`).digest().readUInt32BE() / 2 ** 32;
}

/** Returns the milliseconds that Retry-After asks for on 429 and 503, otherwise 0. */
export function requestedDelay(
  status: number | null,
  retryAfter: string | null,
  now: Instant,
): number {
  if (retryAfter === null || (status !== 429 && status !== 503)) return 0;
  return Math.min(parseRetryAfter(retryAfter, now) ?? 0, RETRY_AFTER_MAX_MS);
}

/** Parses Retry-After into milliseconds: whole seconds or an HTTP date (RFC 9110 10.2.3, 5.6.7). */
export function parseRetryAfter(header: string, now: Instant): number | undefined {
  const value = header.trim();
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(value)) return undefined;
  // The oldest of the three date forms has no zone and means UTC.
  const time = parseIso(value.endsWith("GMT") ? value : `${value} GMT`);
  return Number.isNaN(time) ? undefined : Math.max(time - now, 0);
}

/** Parses a schedule such as "5s,5m,1h" into milliseconds; undefined if it is invalid. */
export function parseRetrySchedule(text: string): readonly number[] | undefined {
  const waits = text
    .split(",")
    .map((wait) => parseDuration(wait.trim()) ?? Number.POSITIVE_INFINITY);
  return waits.length <= 100 && waits.every((wait) => wait <= WAIT_MAX_MS) ? waits : undefined;
}
