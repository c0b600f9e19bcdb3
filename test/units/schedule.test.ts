// The retry schedule: its waits and their jitter, Retry-After, and schedules given as durations.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  calculateRetryDelay,
  parseRetryAfter,
  parseRetrySchedule,
  RETRY_WAITS_MS,
  requestedDelay,
} from "../../src/delivery/attempt.ts";

const S = 1_000;
const H = 3_600 * S;
const NOW = Date.UTC(2026, 0, 1);

test("6.retry-schedule: nine waits lie between the ten attempts of a delivery", () => {
  const waits = [5 * S, 300 * S, 1_800 * S, 2 * H, 5 * H, 10 * H, 14 * H, 20 * H, 24 * H];
  assert.deepEqual(RETRY_WAITS_MS, waits);
});

test("6.retry-schedule.jitter: jitter shortens a wait by at most a fifth and lengthens it by less than a fifth", () => {
  assert.equal(calculateRetryDelay(5 * S, 0, 0), 4 * S);
  assert.equal(calculateRetryDelay(5 * S, 0.5, 0), 5 * S);
  assert.equal(calculateRetryDelay(5 * S, 1 - 2 ** -24, 0), 6 * S);
  assert.equal(calculateRetryDelay(24 * H, 0, 0), 19.2 * H);
});

test("6.retry-schedule.retry-after: Retry-After on 429 and 503 can only lengthen a wait, up to 24 h", () => {
  const waits = {
    1: 5 * S,
    120: 120 * S,
    86400: 24 * H,
    86401: 24 * H,
    ["9".repeat(400)]: 24 * H,
    soon: 5 * S,
  };
  const delay = (status: number | null, retryAfter: string | null) =>
    calculateRetryDelay(5 * S, 0.5, requestedDelay(status, retryAfter, NOW));
  for (const [retryAfter, wait_ms] of Object.entries(waits))
    for (const status of [503, 429])
      assert.equal(delay(status, retryAfter), wait_ms, `${status} ${retryAfter}`);
  for (const status of [500, null]) assert.equal(delay(status, "120"), 5 * S);
  assert.equal(delay(503, null), 5 * S);
});

test("Retry-After accepts seconds and the three forms of an HTTP date, in UTC", () => {
  process.env.TZ = "Asia/Tokyo"; // any zone other than UTC
  const at = Date.UTC(1994, 10, 6, 8, 49, 0);
  const forms = [
    "Sun, 06 Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-94 08:49:37 GMT",
    "Sun Nov  6 08:49:37 1994",
  ];
  for (const text of ["37", ...forms]) assert.equal(parseRetryAfter(text, at), 37 * S, text);
  assert.equal(parseRetryAfter("Sun, 06 Nov 1994 08:49:37 GMT", NOW), 0);
  for (const bad of [
    "",
    "-1",
    "1.5",
    "1e3",
    "tomorrow",
    "1994-11-06",
    "Sun, 99 Nov 1994 99:00:00 GMT",
  ])
    assert.equal(parseRetryAfter(bad, NOW), undefined, bad);
});

test("a retry schedule is parsed from durations", () => {
  assert.deepEqual(parseRetrySchedule("5s, 5m,1h"), [5 * S, 300 * S, H]);
  assert.deepEqual(parseRetrySchedule("10ms,365d"), [10, 365 * 24 * H]);
  const many = (count: number) => Array(count).fill("1s").join();
  assert.equal(parseRetrySchedule(many(100))?.length, 100);
  for (const bad of ["", "5", "5s,", "5s;5m", "-5s", "1.5s", "366d", "99999999999d", many(101)])
    assert.equal(parseRetrySchedule(bad), undefined, bad);
});
