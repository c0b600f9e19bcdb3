// The rate limiter over a long time (contract, part 8): an account or a deployment that nobody asks for any more costs no
// memory. How it counts is held at the wire.
import assert from "node:assert/strict";
import { test } from "node:test";
import { RATE_WINDOW_S, rateLimiter } from "../../src/domain/limits.ts";
import { AdjustableClock } from "../../src/kit/clock.ts";
import { heapInUse } from "../support/heap.ts";

test("a window that is over is forgotten, whoever it was for", async () => {
  const clock = new AdjustableClock(0);
  const limiter = rateLimiter(clock, 1);
  const before = heapInUse();
  for (let n = 0; n < 100_000; n += 1) {
    if (n % 1_000 === 0) await clock.advance(RATE_WINDOW_S * 1_000);
    limiter.count(`deployment dep_${n}`);
  }
  assert.ok(heapInUse() - before < 4e6);
  assert.equal(limiter.count("deployment dep_99999")?.exceeded, true, "the last of them still stand");
});

test("a window that lies ahead, since the clock was set back, is none, and holds up no other", async () => {
  const clock = new AdjustableClock(3_600_000);
  const limiter = rateLimiter(clock, 1);
  limiter.count("acc_1");
  clock.set(0);
  for (const account of ["acc_2", "acc_1"]) {
    const { exceeded, reset_s } = limiter.count(account) ?? {};
    assert.deepEqual([exceeded, reset_s], [false, RATE_WINDOW_S]);
  }
  await clock.advance(RATE_WINDOW_S * 1_000);
  assert.equal(limiter.count("acc_2")?.exceeded, false);
});
