// When a delivery is tried again (spec part 6: not shown; contract, part 6): pure functions of the attempt, the time and
// what the receiver asked for; and what holds for deliveries unless a flag says otherwise. Nothing here waits.
import { createHash } from "node:crypto";
import { decide } from "../decisions.ts";
import { duration, type Instant } from "../kit/clock.ts";

/** The wait after each failed attempt; after the last there is no other. */
export const RETRY_WAITS_MS: readonly number[] = decide("6.retry-schedule").map((wait: string) => duration(wait) ?? 0);

/** A receiver that comes back is not met by all deliveries at once. */
const JITTER = 0.2;

/** Retry-After can only lengthen a wait, and no further than the longest of the schedule. */
const RETRY_AFTER_MAX_MS = 24 * 3_600_000;
/** Spec part 8: the time that an endpoint has to answer a delivery. */
export const ANSWER_MS = 30_000;

export interface Failure {
  /** How many attempts of the schedule were made, this one included. */
  readonly attempt: number;
  readonly now: Instant;
  /** In [0, 1): where within the jitter the wait falls. */
  readonly fraction: number;
  readonly status: number | null;
  /** The value of the answer's Retry-After. */
  readonly retryAfter: string | null;
}

/** When the attempt after a failed one is due; undefined after the last. */
export function nextAttempt(failure: Failure, waits_ms: readonly number[]): Instant | undefined {
  const wait_ms = waits_ms[failure.attempt - 1];
  if (wait_ms === undefined) return undefined;
  const jittered_ms = Math.round(wait_ms * (1 - JITTER + 2 * JITTER * failure.fraction));
  return failure.now + Math.max(jittered_ms, askedFor_ms(failure));
}

function askedFor_ms({ status, retryAfter, now }: Failure): number {
  if (retryAfter === null || (status !== 429 && status !== 503)) return 0;
  return Math.min(retryAfter_ms(retryAfter, now) ?? 0, RETRY_AFTER_MAX_MS);
}

/**
 * Where in the jitter an attempt falls: taken from the delivery's id, which is random, so that it repeats whenever the
 * ids do, in whatever order the receivers answer.
 */
export const jitterOf = (deliveryId: string, attempt: number): number =>
  createHash("sha256").update(`${deliveryId} ${attempt}`).digest().readUInt32BE() / 2 ** 32;

/** How long a Retry-After asks to wait: whole seconds or an HTTP date (RFC 9110 10.2.3, 5.6.7). */
export function retryAfter_ms(header: string, now: Instant): number | undefined {
  const value = header.trim();
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(value)) return undefined;
  // The oldest of the three forms names no zone and means UTC.
  const at = Date.parse(value.endsWith("GMT") ? value : `${value} GMT`);
  return Number.isNaN(at) ? undefined : Math.max(at - now, 0);
}

/** "5s,5m,1h" in milliseconds; undefined for anything else. */
export function retrySchedule(text: string): readonly number[] | undefined {
  const waits = text.split(",").map((wait) => duration(wait.trim()));
  return waits.length <= 100 && waits.every((wait) => wait !== undefined) ? waits : undefined;
}
