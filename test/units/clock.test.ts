// The one timer of the running clock: it stands for the earliest entry, whatever came before or is taken back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AdjustableClock } from "../../src/kit/clock.ts";

const HOUR_MS = 3_600_000;
const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

test("clock: what is scheduled before all others is not late", { timeout: 5_000 }, async (t) => {
  const clock = new AdjustableClock();
  t.after(() => clock.close());
  const before = timers();
  clock.schedule(clock.now() + HOUR_MS, "late", () => assert.fail("an hour has not passed"));
  clock.schedule(clock.now() + 2 * HOUR_MS, "later still", () => assert.fail("nor have two"));
  assert.equal(timers(), before + 1);
  await new Promise<void>((resolve) => clock.schedule(clock.now(), "at once", resolve));
  clock.close();
  assert.equal(timers(), before);
});

test("clock: with the last entry taken back the timer is gone, and with another it stays", (t) => {
  const clock = new AdjustableClock();
  t.after(() => clock.close());
  const before = timers();
  const first = clock.schedule(clock.now() + HOUR_MS, "first", () => {});
  const second = clock.schedule(clock.now() + 2 * HOUR_MS, "second", () => {});
  second.cancel();
  assert.equal(timers(), before + 1);
  first.cancel();
  assert.equal(timers(), before);
});
