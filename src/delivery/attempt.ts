// Makes one attempt of a delivery and computes when the next is due (spec part 6, receiving endpoint and signature; the
// retry schedule: contract, part 6). The rows are read again after the claim, and the stored bytes are signed and sent.
// The result is only returned here; `recordAttempt` stores it. Nothing here waits: due times are pure functions of the
// attempt, the time and the receiver's Retry-After.
import { createHash } from "node:crypto";
import { type AttemptResult, dueTime, isDeliverable } from "../domain/deliveries.ts";
import { type Attempt, deliveries, events, webhooks } from "../domain/model.ts";
import type { Store } from "../domain/store.ts";
import { deliveryHeaders } from "../domain/webhooks.ts";
import { decide } from "../former-decisions.ts";
import { type Clock, type Instant, parseDuration, parseIso, toIso } from "../lib/clock.ts";
import { RANDOM_LENGTH } from "../lib/ids.ts";
import type { Deferred, Sender, WebhookRequest } from "./sender.ts";

export interface AttemptDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly sender: Sender;
  /** The time for the `webhook-timestamp` header. */
  readonly timestamp: () => Instant;
  /** The waits between attempts. */
  readonly retryWaits_ms: readonly number[];
}

/** Attempts the delivery. Returns undefined if it is finished, no longer deliverable, or not yet due. */
export async function makeAttempt(
  deps: AttemptDeps,
  deliveryId: string,
): Promise<AttemptResult | Deferred | undefined> {
  const { store, clock, sender, retryWaits_ms } = deps;
  const start = clock.now();
  const delivery = await store.get(deliveries, deliveryId);
  // Another process may have sent the delivery since it became due.
  if (!delivery || dueTime(delivery) > start) return undefined;
  const webhook = await store.get(webhooks, delivery.webhook_id);
  const event = await store.get(events, delivery.event_id);
  if (!webhook || !event || !isDeliverable(delivery, webhook)) return undefined;
  const { url } = webhook;
  const number = delivery.attempts.length + 1;
  const timestamp_s = Math.floor(deps.timestamp() / 1_000);
  const postWith = (body: string): WebhookRequest => {
    const headers = deliveryHeaders(webhook, { ...event, body }, deliveryId, {
      number,
      at: start,
      timestamp_s,
    });
    return { url, headers, body };
  };
  const outcome = await sender.send(postWith(event.body), delivery, postWith);
  if ("again" in outcome) return outcome;
  const { retryAfter, ...answer } = outcome;
  const now = clock.now();
  const attempt: Attempt = {
    number,
    trigger: delivery.manual ? "manual" : "schedule",
    at: toIso(start),
    // The clock may have been set back meanwhile.
    duration_ms: Math.max(now - start, 0),
    ...answer,
  };
  // Manual attempts do not count. The value is unused after a success.
  const scheduled = delivery.attempts.filter(({ trigger }) => trigger === "schedule").length + 1;
  const fraction = calculateJitter(deliveryId.slice(-RANDOM_LENGTH), scheduled);
  const asked = { now, status: answer.response_status, retryAfter };
  const [planned, wait_ms] = [delivery.next_attempt_at, requestedDelay_ms(asked)];
  const next = delivery.manual
    ? planned && Math.max(parseIso(planned), wait_ms && now + wait_ms)
    : calculateRetryDelay({ attempt: scheduled, fraction, ...asked }, retryWaits_ms);
  return {
    deliveryId,
    url,
    type: event.type,
    attempt,
    timestamp_s,
    retryAt: next ? toIso(next) : null,
  };
}

/** The wait after each failed attempt of the schedule; the last entry precedes the last attempt. */
export const RETRY_WAITS_MS: readonly number[] = decide("6.retry-schedule").map(
  (wait: string) => parseDuration(wait) ?? 0,
);

/** Spreads retries by 20% either way, so that a recovered receiver does not get all of them at once. */
const JITTER = 0.2;

/** Retry-After can only lengthen a wait, up to 24 hours, the longest of the schedule. */
const RETRY_AFTER_MAX_MS = 24 * 3_600_000;
/** Spec part 8: the time an endpoint has to respond to a delivery. */
export const RESPONSE_TIMEOUT_MS = 30_000;

interface RetryInput {
  readonly now: Instant;
  readonly status: number | null;
  /** The value of the response's Retry-After header. */
  readonly retryAfter: string | null;
}

interface Failure extends RetryInput {
  /** The number of scheduled attempts made, including this one. */
  readonly attempt: number;
  /** In [0, 1): the position of the wait within the jitter. */
  readonly fraction: number;
}

/** The delay that Retry-After asks for on 429 and 503, in milliseconds. */
function requestedDelay_ms({ now, status, retryAfter }: RetryInput): number {
  const isAsked = retryAfter !== null && (status === 429 || status === 503);
  return Math.min((isAsked && parseRetryAfter(retryAfter, now)) || 0, RETRY_AFTER_MAX_MS);
}

/** Returns the due time of the next attempt; undefined after the last. */
export function calculateRetryDelay(
  failure: Failure,
  waits_ms: readonly number[],
): Instant | undefined {
  const { attempt, now, fraction } = failure;
  const wait_ms = waits_ms[attempt - 1];
  if (wait_ms === undefined) return undefined;
  const jittered_ms = Math.round(wait_ms * (1 - JITTER + 2 * JITTER * fraction));
  return now + Math.max(jittered_ms, requestedDelay_ms(failure));
}

/**
 * The position of an attempt within the jitter. It depends only on the random part of the delivery's id and the
 * attempt number. It therefore repeats with the id, whatever the time and the order of responses.
 */
const calculateJitter = (random: string, attempt: number): number =>
  createHash("sha256").update(`${random} ${attempt}`).digest().readUInt32BE() / 2 ** 32;

/** Parses Retry-After into milliseconds: whole seconds or an HTTP date (RFC 9110 10.2.3, 5.6.7). */
export function parseRetryAfter(header: string, now: Instant): number | undefined {
  const value = header.trim();
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(value)) return undefined;
  // The oldest of the three date forms has no zone and means UTC.
  const at = parseIso(value.endsWith("GMT") ? value : `${value} GMT`);
  return Number.isNaN(at) ? undefined : Math.max(at - now, 0);
}

/** One year: longer than any useful wait, and far from the limit of dates. */
const WAIT_MAX_MS = 365 * 86_400_000;

/** Parses a schedule such as "5s,5m,1h" into milliseconds; undefined if it is invalid. */
export function parseRetrySchedule(text: string): readonly number[] | undefined {
  const waits = text
    .split(",")
    .map((wait) => parseDuration(wait.trim()) ?? Number.POSITIVE_INFINITY);
  return waits.length <= 100 && waits.every((wait) => wait <= WAIT_MAX_MS) ? waits : undefined;
}
