// The running clock: what time it tells whatever the system's clock does, and its one timer, which stands for the
// earliest entry, whatever came before or is taken back.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { rateLimiter } from "../../src/domain/limits.ts";
import { AdjustableClock, isDateTime } from "../../src/kit/clock.ts";

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

const START = Date.UTC(2026, 0, 1);

/** A running clock over a system clock and a monotonic one, both moved by hand; the timers follow the monotonic one. */
function running(t: TestContext) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const time = { system: START, monotonic: 5_000 };
  const clock = new AdjustableClock(undefined, { system: () => time.system, monotonic: () => time.monotonic });
  t.after(() => clock.close());
  const pass = (by_ms: number) => {
    time.monotonic += by_ms;
    t.mock.timers.tick(by_ms);
  };
  return { clock, time, pass };
}

test("clock: it follows the time that passes, wherever the system's clock is set meanwhile", (t) => {
  const { clock, time, pass } = running(t);
  assert.equal(clock.now(), START);
  for (const change_ms of [-HOUR_MS, 2 * HOUR_MS]) {
    time.system += change_ms;
    const before = clock.now();
    pass(1_500);
    assert.equal(clock.now(), before + 1_500);
  }
});

test("clock: what is due in two seconds comes in two seconds, though the system's clock is set back by an hour", (t) => {
  const { clock, time, pass } = running(t);
  const ran: string[] = [];
  clock.schedule(clock.now() + 2_000, "a retry", () => void ran.push("first"));
  time.system -= HOUR_MS;
  clock.schedule(clock.now() + 2_000, "another", () => void ran.push("second"));
  pass(1_999);
  assert.deepEqual(ran, []);
  pass(1);
  assert.deepEqual(ran, ["first", "second"]);
});

test("clock: with the system's clock set back by an hour a rate window ends when it would have", (t) => {
  const { clock, time, pass } = running(t);
  const limiter = rateLimiter(clock, 1);
  limiter.count("acc_1");
  time.system -= HOUR_MS;
  assert.deepEqual(limiter.count("acc_1"), { remaining: 0, reset_s: 60, exceeded: true });
  pass(60_000);
  assert.equal(limiter.count("acc_1")?.exceeded, false);
});

test("clock: it goes on from the time that it is set to, and rewinds to the system's", (t) => {
  const { clock, time, pass } = running(t);
  clock.set(START - HOUR_MS);
  pass(10);
  assert.equal(clock.now(), START - HOUR_MS + 10);
  clock.freeze();
  pass(HOUR_MS);
  clock.resume();
  pass(5);
  assert.equal(clock.now(), START - HOUR_MS + 15);
  time.system = START + 7;
  clock.rewind();
  assert.equal(clock.now(), START + 7);
});

test("clock: what is due at one time begins at once, in the order in which it came, without what was cancelled", (t) => {
  const { clock, pass } = running(t);
  const ran: number[] = [];
  const numbers = Array.from({ length: 1_000 }, (_, at) => at);
  const at = clock.now() + 100;
  const late = clock.schedule(at + 1, "late", () => assert.fail("it was cancelled"));
  const entries = numbers.map((number) => clock.schedule(at, "one of many", () => void ran.push(number)));
  for (const entry of [...entries.slice(0, 500), ...entries.slice(0, 500), late]) entry.cancel();
  pass(100);
  assert.deepEqual(ran, numbers.slice(500));
  for (const entry of entries) entry.cancel();
  pass(1);
});

test("clock: a timer that comes too early waits for the rest", (t) => {
  const { clock, time, pass } = running(t);
  const ran: string[] = [];
  clock.schedule(clock.now() + 1_000, "entry", () => void ran.push("entry"));
  time.monotonic += 990;
  t.mock.timers.tick(1_000);
  assert.deepEqual(ran, []);
  pass(10);
  assert.deepEqual(ran, ["entry"]);
});

test("clock: each entry keeps its place, whatever is put before or behind it", (t) => {
  const { clock, pass } = running(t);
  const ran: number[] = [];
  for (const wait_ms of [30, 10, 40, 20, 50, 20])
    clock.schedule(clock.now() + wait_ms, "entry", () => void ran.push(wait_ms));
  for (let passed = 0; passed < 50; passed += 10) pass(10);
  assert.deepEqual(ran, [10, 20, 20, 30, 40, 50]);
});

test("clock: while it is frozen nothing comes, and afterwards what has become due", (t) => {
  const { clock, pass } = running(t);
  const ran: string[] = [];
  clock.schedule(clock.now() + 100, "entry", () => void ran.push("entry"));
  clock.freeze();
  pass(HOUR_MS);
  assert.deepEqual(ran, []);
  clock.resume();
  pass(99);
  assert.deepEqual(ran, []);
  pass(1);
  assert.deepEqual(ran, ["entry"]);
});

test("clock: what lies before the time that it is set to comes at once, and what lies behind in its time", (t) => {
  const { clock, pass } = running(t);
  const ran: string[] = [];
  clock.schedule(clock.now() + HOUR_MS, "soon", () => void ran.push("soon"));
  clock.schedule(clock.now() + 2 * HOUR_MS, "late", () => void ran.push("late"));
  clock.set(clock.now() + HOUR_MS);
  pass(1);
  assert.deepEqual(ran, ["soon"]);
});

test("clock: advanced, a frozen one stands at the new time, and a running one runs on from there", async (t) => {
  const { clock, pass } = running(t);
  await clock.advance(HOUR_MS);
  pass(10);
  assert.equal(clock.now(), START + HOUR_MS + 10);
  clock.freeze();
  await clock.advance(HOUR_MS);
  pass(10);
  assert.equal(clock.now(), START + 2 * HOUR_MS + 10);
});

test("clock: while a running one is advanced, each entry is awaited before the next, whatever time passes meanwhile", async (t) => {
  const { clock, pass } = running(t);
  const ran: string[] = [];
  clock.schedule(clock.now() + 100, "first", async () => {
    pass(100);
    await Promise.resolve();
    ran.push("first");
  });
  clock.schedule(clock.now() + 100, "second", () => void ran.push("second"));
  await clock.advance(100);
  assert.deepEqual(ran, ["first", "second"]);
});

test("clock: what is due in two months waits, though a timer of Node's cannot be so long", async (t) => {
  const clock = new AdjustableClock();
  t.after(() => clock.close());
  const warned = t.mock.method(process, "emitWarning", () => {});
  clock.schedule(clock.now() + 60 * 24 * HOUR_MS, "late", () => assert.fail("two months have not passed"));
  assert.equal(warned.mock.callCount(), 0);
});

test("clock: a date, or a time with its zone, needs no guessing", () => {
  for (const text of ["2026-01-01", "2026-01-01T20:00Z", "2026-01-01T20:00:00.5+20:00", "2026-01-01T19:59:59-09:59"])
    assert.ok(isDateTime(text), text);
  for (const text of [
    "2026-02-29",
    "2026-01-01T24:00Z",
    "2026-01-01T20:00",
    "2026-01-01T20:60Z",
    "2026-01-01T20:00+24:00",
  ])
    assert.ok(!isDateTime(text), text);
});
