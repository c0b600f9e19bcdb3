// Makes one attempt of a delivery and computes when the next is due (spec part 6, receiving endpoint and signature; the
// retry schedule: contract, part 6). The result is only returned here; `recordAttempt` stores it. Due times are pure
// functions of the attempt, the time and the receiver's Retry-After.
import { createHash } from "node:crypto";
import { type AttemptResult, deliveryHeaders } from "../domain/events.ts";
import { type Attempt, type DeliveryRecord, events, type WebhookRecord } from "../domain/model.ts";
import type { Store } from "../domain/store.ts";
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
  const isBusy = [429, 503].includes(response.response_status ?? 0);
  const requested_ms = isBusy ? parseRetryAfter(retryAfter ?? "", now) : 0;
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
  { id, attempts, manual, next_attempt_at }: DeliveryRecord,
  waits_ms: readonly number[],
  now: Instant,
  requested_ms: number,
): string | null {
  if (manual) return next_attempt_at;
  const scheduled = attempts.filter(({ trigger }) => trigger === "schedule").length;
  const wait_ms = waits_ms[scheduled];
  if (wait_ms === undefined) return null;
  // From the random part of the id, so that it repeats with a random seed, whatever the time.
  const random = id.slice(-RANDOM_LENGTH);
  const hash = createHash("sha256").update(`${random} ${scheduled}`).digest();
  const fraction = hash.readUInt32BE() / 2 ** 32;
  const jittered_ms = Math.round(wait_ms * (1 - JITTER + 2 * JITTER * fraction));
  return toIso(now + Math.max(jittered_ms, requested_ms));
}

/** Parses Retry-After into milliseconds: whole seconds or an HTTP date (RFC 9110 10.2.3); 0 if it is neither. */
export function parseRetryAfter(header: string, now: Instant): number {
  const delay_ms = /^\d+$/.test(header) ? Number(header) * 1_000 : parseIso(header) - now;
  return Math.min(Math.max(delay_ms || 0, 0), RETRY_AFTER_MAX_MS);
}

/** Parses a schedule such as "5s,5m,1h" into milliseconds; undefined if it is invalid. */
export function parseRetrySchedule(text: string): readonly number[] | undefined {
  const waits = text
    .split(",")
    .map((wait) => parseDuration(wait.trim()) ?? Number.POSITIVE_INFINITY);
  return waits.every((wait) => wait <= WAIT_MAX_MS) ? waits : undefined;
}
