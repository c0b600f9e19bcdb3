// The rate limiter over a long time (contract, part 8): an account or a deployment that nobody asks for any more costs no
// memory. How it counts is held at the wire.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createRateLimiter, RATE_WINDOW_S } from "../../src/http/rate-limit.ts";
import { AdjustableClock } from "../../src/lib/clock.ts";
import { heapInUse } from "../support/costs.ts";
import { outboxWorld } from "../support/outbox-world.ts";

test("a window that is over is forgotten, whoever it was for", async () => {
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

test("a window that lies ahead, since the clock was set back, is none, and holds up no other", async () => {
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

test("30 are 30 for processes whose clocks differ by a minute, and nobody is told to wait for longer than that", async () => {
  const { store } = await outboxWorld();
  const [ahead, behind] = [60_000, 0].map((at) =>
    createRateLimiter(new AdjustableClock(at), 30, store),
  );
  // By turns, and where one has asked but once.
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

test("of a large limit four processes never have more than all of it; few requests write, and none in a window used up", async (t) => {
  const { store } = await outboxWorld();
  const clock = new AdjustableClock(0);
  const { mock } = t.mock.method(store, "transact");
  const limiters = Array.from({ length: 4 }, () => createRateLimiter(clock, 6_000, store));
  /** How many get in of so many who ask one limiter after the other. */
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
