// The rate limiter over a long time (contract, part 8): idle accounts and deployments use no memory. Its counting
// is tested over HTTP.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createRateLimiter, RATE_WINDOW_S } from "../../src/http/rate-limit.ts";
import { AdjustableClock } from "../../src/lib/clock.ts";
import { heapInUse } from "../support/costs.ts";
import { outboxWorld } from "../support/outbox-world.ts";

test("an expired rate window is removed from memory", async () => {
  const clock = new AdjustableClock(0);
  const limiter = createRateLimiter(clock, 1);
  const before = await heapInUse();
  for (let n = 0; n < 100_000; n += 1) {
    if (n % 1_000 === 0) await clock.advance(RATE_WINDOW_S * 1_000);
    limiter.count(`deployment dep_${n}`);
  }
  assert.ok((await heapInUse()) - before < 4e6);
  assert.equal(
    (await limiter.count("deployment dep_99999"))?.exceeded,
    true,
    "the last of them still stand",
  );
});

test("a rate window in the future, after the clock was set back, is ignored and does not affect other accounts", async () => {
  const clock = new AdjustableClock(3_600_000);
  const limiter = createRateLimiter(clock, 1);
  limiter.count("acc_1");
  clock.set(0);
  for (const account of ["acc_2", "acc_1"]) {
    const { exceeded, reset_s } = (await limiter.count(account)) ?? {};
    assert.deepEqual([exceeded, reset_s], [false, RATE_WINDOW_S]);
  }
  await clock.advance(RATE_WINDOW_S * 1_000);
  assert.equal((await limiter.count("acc_2"))?.exceeded, false);
});

test("processes whose clocks differ by a minute share one limit of 30, and no client waits longer than a window", async () => {
  const { store } = await outboxWorld();
  const [ahead, behind] = [60_000, 0].map((at) =>
    createRateLimiter(new AdjustableClock(at), 30, store),
  );
  // In the first run every second request goes to the first process, in the second run only one does.
  for (const turn of [2, 90]) {
    let passed = 0;
    for (let n = 0; n < 90; n += 1) {
      const rate = await (n % turn === 0 ? ahead : behind)?.count(`acc_${turn}`);
      passed += rate?.exceeded ? 0 : 1;
      assert.ok(rate && rate.reset_s <= RATE_WINDOW_S, `${rate?.reset_s}`);
    }
    assert.equal(passed, 30);
  }
});

test("four processes share a large limit exactly, with few writes, and no write once the window is used up", async (t) => {
  const { store } = await outboxWorld();
  const clock = new AdjustableClock(0);
  const { mock } = t.mock.method(store, "transact");
  const limiters = Array.from({ length: 4 }, () => createRateLimiter(clock, 6_000, store));
  /** Sends this many requests across the limiters in turn; returns the number allowed. */
  const ask = async (times: number) => {
    const asked = Array.from({ length: times }, async (_, n) => limiters[n % 4]?.count("acc_1"));
    return (await Promise.all(asked)).filter((rate) => rate?.exceeded === false).length;
  };
  assert.equal(await ask(8_000), 6_000);
  const writes = mock.callCount();
  assert.ok(writes < 200, `${writes}`);
  await ask(100);
  assert.equal(mock.callCount(), writes);
  await clock.advance(RATE_WINDOW_S * 1_000);
  assert.equal(await ask(8_000), 6_000, "again in the next window");
});
