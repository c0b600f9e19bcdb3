// The rate limiter where the clock goes back (contract, part 10). Its counting is tested over HTTP.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createRateLimiter, RATE_WINDOW_S } from "../../src/http/access.ts";
import { AdjustableClock } from "../../src/lib/clock.ts";

test("a rate window that lies ahead of a restored time is replaced, and does not affect other accounts", async () => {
  const clock = new AdjustableClock(3_600_000);
  const limiter = createRateLimiter(clock, 1);
  limiter.count("acc_1");
  clock.set(0);
  for (const account of ["acc_2", "acc_1"]) {
    const { exceeded, reset_s } = limiter.count(account) ?? {};
    assert.deepEqual([exceeded, reset_s], [false, RATE_WINDOW_S]);
  }
  assert.equal(limiter.count("acc_2")?.exceeded, true);
  await clock.advance(RATE_WINDOW_S * 1_000);
  assert.equal(limiter.count("acc_2")?.exceeded, false);
});
