// The running clock: what time it tells whatever the system's clock does, and when what it is given to do comes.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { AdjustableClock } from "../../src/kit/clock.ts";
import { seededRandom } from "../../src/kit/ids.ts";

const HOUR_MS = 3_600_000;

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

test("clock: whatever is scheduled, cancelled, frozen, set and advanced, entries come in their time and order", async (t) => {
  const { clock, time, pass, ran } = running(t);
  const random = seededRandom("clock");
  const pick = (below: number) => random(2).readUInt16BE() % below;
  /** The clock as a plain list: what it tells, and what is still to come, in the order in which it came. */
  let now = START;
  let isFrozen = false;
  let waiting: { readonly at: number; readonly name: number; cancel(): void }[] = [];
  const expected: number[] = [];
  /** What it tells before it moves on. */
  let least = now;
  const comes = () => {
    const ripe = waiting.filter(({ at }) => at <= now).sort((one, other) => one.at - other.at);
    waiting = waiting.filter(({ at }) => at > now);
    expected.push(...ripe.map(({ name }) => name));
  };
  const passes = (by_ms: number) => {
    pass(by_ms);
    if (!isFrozen) now += by_ms;
    if (!isFrozen) comes();
  };
  const deeds = [
    (name: number) => {
      const wait_ms = pick(5) * 10;
      const entry = clock.schedule(now + wait_ms, "entry", () => {
        assert.ok(clock.now() >= least, "time goes back");
        ran.push(name);
      });
      waiting.push({ at: now + wait_ms, name, ...entry });
    },
    () => {
      const [one] = waiting.splice(pick(waiting.length + 1), 1);
      one?.cancel();
      one?.cancel();
    },
    () => passes(pick(30)),
    () => {
      time.system += (pick(3) - 1) * HOUR_MS;
    },
    () => {
      isFrozen = !isFrozen;
      if (isFrozen) clock.freeze();
      else clock.resume();
    },
    () => {
      now += pick(40) - 20;
      clock.set(now);
    },
    async () => {
      const by_ms = pick(30);
      least = now;
      await clock.advance(by_ms);
      now += by_ms;
      comes();
    },
  ];
  for (let deed = 0; deed < 5_000; deed += 1) {
    // Half of them schedule something, and a timer takes a millisecond at least.
    await deeds[Math.max(0, pick(2 * deeds.length) - deeds.length)]?.(deed);
    least = now;
    passes(1);
    assert.deepEqual([clock.now(), ran], [now, expected]);
    expected.length = ran.length = 0;
  }
  time.system = START + 7;
  clock.rewind();
  assert.equal(clock.now(), START + 7);
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

test("clock: frozen or let run while it is advanced, it stands or runs from the end of that", async (t) => {
  const { clock, pass } = running(t);
  for (const [ask, then_ms] of Object.entries({ freeze: 100, resume: 207 })) {
    clock.schedule(clock.now() + 50, "asked", () => (ask === "freeze" ? clock.freeze() : clock.resume()));
    await clock.advance(100);
    pass(7);
    assert.equal(clock.now(), START + then_ms, ask);
  }
});

test("clock: what is due in two months waits, though a timer of Node's cannot be so long", (t) => {
  const clock = new AdjustableClock();
  t.after(() => clock.close());
  const warned = t.mock.method(process, "emitWarning", () => {});
  clock.schedule(clock.now() + 60 * 24 * HOUR_MS, "late", () => assert.fail("two months have not passed"));
  assert.equal(warned.mock.callCount(), 0);
});
