// Retry-After, and retry schedules given as durations. test/units/outbox has the default schedule and its jitter.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRetryAfter, parseRetrySchedule } from "../../src/delivery/outbox.ts";

const S = 1_000;
const H = 3_600 * S;
const NOW = Date.UTC(2026, 0, 6, 8, 49, 0);

test("6.retry-schedule.retry-after: Retry-After is seconds or an HTTP date, 24 h at most, and otherwise ignored", () => {
  for (const [header, wait_ms] of [
    ["37", 37 * S],
    ["Tue, 06 Jan 2026 08:49:37 GMT", 37 * S],
    ["Tue, 06 Jan 2026 08:48:00 GMT", 0],
    ["86401", 24 * H],
    ["9".repeat(400), 24 * H],
    ...["", "-1", "1e3", "tomorrow", "Tue, 99 Jan 2026 99:00:00 GMT"].map((bad) => [bad, 0]),
  ] as const)
    assert.equal(parseRetryAfter(String(header), NOW), wait_ms, String(header));
});

test("a retry schedule is parsed from durations of a year at most", () => {
  assert.deepEqual(parseRetrySchedule("5s, 5m,1h"), [5 * S, 300 * S, H]);
  assert.deepEqual(parseRetrySchedule("10ms,365d"), [10, 365 * 24 * H]);
  for (const bad of ["", "5", "5s,", "5s;5m", "-5s", "1.5s", "366d"])
    assert.equal(parseRetrySchedule(bad), undefined, bad);
});
