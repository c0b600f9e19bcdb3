// The running clock: what time it tells whatever the system's clock does, and its one timer, which stands for the
// earliest entry, whatever came before or is taken back.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
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

const START = Date.UTC(2026, 0, 1);

/**
 * A running clock over a system clock and a monotonic one, both moved by hand; the timers follow the monotonic one. `due`
 * schedules what then stands in `ran`.
 */
function running(t: TestContext) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const time = { system: START, monotonic: 5_000 };
  const clock = new AdjustableClock(undefined, { system: () => time.system, monotonic: () => time.monotonic });
  t.after(() => clock.close());
  const pass = (by_ms: number) => {
    time.monotonic += by_ms;
    t.mock.timers.tick(by_ms);
  };
  const ran: (string | number)[] = [];
  const due = (wait_ms: number, name: string | number = wait_ms) =>
    clock.schedule(clock.now() + wait_ms, "entry", () => void ran.push(name));
  return { clock, time, pass, ran, due };
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
  const { time, pass, ran, due } = running(t);
  due(2_000, "first");
  time.system -= HOUR_MS;
  due(2_000, "second");
  pass(1_999);
  assert.deepEqual(ran, []);
  pass(1);
  assert.deepEqual(ran, ["first", "second"]);
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
  const { pass, ran, due } = running(t);
  const late = due(101, "cancelled");
  const entries = Array.from({ length: 1_000 }, (_, number) => due(100, number));
  for (const entry of [...entries.slice(0, 500), ...entries.slice(0, 500), late]) entry.cancel();
  pass(100);
  assert.deepEqual(
    ran,
    Array.from({ length: 500 }, (_, at) => at + 500),
  );
  for (const entry of entries) entry.cancel();
  pass(1);
  assert.equal(ran.length, 500);
});

test("clock: a timer that comes too early waits for the rest", (t) => {
  const { time, pass, ran, due } = running(t);
  due(1_000);
  time.monotonic += 990;
  t.mock.timers.tick(1_000);
  assert.deepEqual(ran, []);
  pass(10);
  assert.deepEqual(ran, [1_000]);
});

test("clock: each entry keeps its place, whatever is put before or behind it", (t) => {
  const { pass, ran, due } = running(t);
  for (const wait_ms of [30, 10, 40, 20, 50, 20]) due(wait_ms);
  for (let passed = 0; passed < 50; passed += 10) pass(10);
  assert.deepEqual(ran, [10, 20, 20, 30, 40, 50]);
});

test("clock: while it is frozen nothing comes, and afterwards what has become due", (t) => {
  const { clock, pass, ran, due } = running(t);
  due(100);
  clock.freeze();
  pass(HOUR_MS);
  clock.resume();
  pass(99);
  assert.deepEqual(ran, []);
  pass(1);
  assert.deepEqual(ran, [100]);
});

test("clock: what lies before the time that it is set to comes at once, and what lies behind in its time", (t) => {
  const { clock, pass, ran, due } = running(t);
  due(HOUR_MS, "soon");
  due(2 * HOUR_MS, "late");
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
  const { clock, pass, ran, due } = running(t);
  clock.schedule(clock.now() + 100, "first", async () => {
    pass(100);
    await Promise.resolve();
    ran.push("first");
  });
  due(100, "second");
  await clock.advance(100);
  assert.deepEqual(ran, ["first", "second"]);
});

test("clock: what is due in two months waits, though a timer of Node's cannot be so long", (t) => {
  const clock = new AdjustableClock();
  t.after(() => clock.close());
  const warned = t.mock.method(process, "emitWarning", () => {});
  clock.schedule(clock.now() + 60 * 24 * HOUR_MS, "late", () => assert.fail("two months have not passed"));
  assert.equal(warned.mock.callCount(), 0);
});
