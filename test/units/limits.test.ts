// The rate limiter over a long time (contract, part 8): an account or a deployment that nobody asks for any more costs no
// memory. How it counts is held at the wire.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { RATE_WINDOW_S, rateLimiter } from "../../src/http/limits.ts";
import { AdjustableClock } from "../../src/kit/clock.ts";
import { heapInUse } from "../support/costs.ts";
import { outboxWorld } from "../support/outbox-world.ts";

test("a window that is over is forgotten, whoever it was for", async () => {
  const clock = new AdjustableClock(0);
  const limiter = rateLimiter(clock, 1);
  const before = heapInUse();
  for (let n = 0; n < 100_000; n += 1) {
    if (n % 1_000 === 0) await clock.advance(RATE_WINDOW_S * 1_000);
    limiter.count(`deployment dep_${n}`);
  }
  assert.ok(heapInUse() - before < 4e6);
  assert.equal((await limiter.count("deployment dep_99999"))?.exceeded, true, "the last of them still stand");
});

test("a window that lies ahead, since the clock was set back, is none, and holds up no other", async () => {
  const clock = new AdjustableClock(3_600_000);
  const limiter = rateLimiter(clock, 1);
  limiter.count("acc_1");
  clock.set(0);
  for (const account of ["acc_2", "acc_1"]) {
    const { exceeded, reset_s } = (await limiter.count(account)) ?? {};
    assert.deepEqual([exceeded, reset_s], [false, RATE_WINDOW_S]);
  }
  await clock.advance(RATE_WINDOW_S * 1_000);
  assert.equal((await limiter.count("acc_2"))?.exceeded, false);
});

/** So many processes on one store, each with a limiter of its own; `ask` goes round among them and answers who got in. */
async function fleet(t: TestContext, processes: number, limit: number) {
  const { store } = await outboxWorld();
  const clock = new AdjustableClock(0);
  const writes = t.mock.method(store, "transact").mock;
  const limiters = Array.from({ length: processes }, () => rateLimiter(clock, limit, store));
  const ask = async (times: number) => {
    const asked = Array.from({ length: times }, async (_, n) => limiters[n % processes]?.count("acc_1"));
    const rates = await Promise.all(asked);
    return rates.filter((rate) => rate?.exceeded === false).length;
  };
  return { ask, clock, written: () => writes.callCount() };
}

test("30 are 30 for processes whose clocks differ by a minute, and nobody is told to wait for longer than that", async () => {
  const { store } = await outboxWorld();
  const [ahead, behind] = [60_000, 0].map((at) => rateLimiter(new AdjustableClock(at), 30, store));
  let passed = 0;
  for (let n = 0; n < 90; n += 1) {
    const rate = await (n % 2 === 0 ? ahead : behind)?.count("acc_1");
    passed += rate?.exceeded ? 0 : 1;
    assert.ok(rate && rate.reset_s <= RATE_WINDOW_S, `${rate?.reset_s}`);
  }
  assert.equal(passed, 30);
});

test("of a large limit they never have more than all of it, and few requests write", async (t) => {
  const { ask, clock, written } = await fleet(t, 4, 6_000);
  assert.equal(await ask(8_000), 6_000);
  assert.ok(written() < 200, `${written()}`);
  await clock.advance(RATE_WINDOW_S * 1_000);
  assert.equal(await ask(8_000), 6_000, "again in the next window");
});

test("a process that finds the window used up does not ask the store again", async (t) => {
  const { ask, written } = await fleet(t, 2, 10);
  await ask(20);
  const before = written();
  await ask(100);
  assert.equal(written(), before);
});
