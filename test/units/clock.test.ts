// The running clock: its time whatever the system clock does, and when its scheduled entries run.
import assert from "node:assert/strict";
import { createHook } from "node:async_hooks";
import { type TestContext, test } from "node:test";
import { AdjustableClock, after, within } from "../../src/lib/clock.ts";
import { seededRandom } from "../../src/lib/ids.ts";
import { turns } from "../support/wait.ts";

const HOUR_MS = 3_600_000;

const START = Date.UTC(2026, 0, 1);

/**
 * A running clock over a system clock and a monotonic clock, both moved by hand; timers follow the monotonic clock.
 * `due` schedules an entry that adds its name to `ran`.
 */
function running(t: TestContext) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const time = { system: START, monotonic: 5_000 };
  const after = (by_ms: number, run: () => void) => {
    const timer = setTimeout(run, by_ms);
    return { cancel: () => clearTimeout(timer) };
  };
  const clock = new AdjustableClock(undefined, {
    system: () => time.system,
    monotonic: () => time.monotonic,
    after,
  });
  t.after(() => clock.close());
  const pass = (by_ms: number) => {
    time.monotonic += by_ms;
    time.system += by_ms;
    t.mock.timers.tick(by_ms);
  };
  const ran: (string | number)[] = [];
  const due = (wait_ms: number, name: string | number = wait_ms) =>
    clock.schedule(clock.now() + wait_ms, "entry", () => void ran.push(name));
  return { clock, time, pass, ran, due };
}

test("clock: entries run at their time and in order through any sequence of schedule, cancel, freeze, set and advance", async (t) => {
  const { clock, time, pass, ran } = running(t);
  const random = seededRandom("clock");
  const pick = (below: number) => random(2).readUInt16BE() % below;
  /** A model of the clock as a plain list: its time, and the pending entries in order of scheduling. */
  let now = START;
  let isFrozen = false;
  let waiting: { readonly at: number; readonly name: number; cancel(): void }[] = [];
  const expected: number[] = [];
  /** The model's time before it moves on. */
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
  const actions = [
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
      // Sets the machine's clock: the running clock follows, and waits keep their length after a step back.
      const by_ms = (pick(3) - 1) * HOUR_MS;
      time.system += by_ms;
      if (isFrozen) return;
      now += by_ms;
      least = Math.min(least, now);
      if (by_ms < 0) waiting = waiting.map((each) => ({ ...each, at: each.at + by_ms }));
      assert.equal(clock.now(), now);
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
  for (let action = 0; action < 5_000; action += 1) {
    // Half of the actions schedule an entry; a timer takes at least a millisecond.
    await actions[Math.max(0, pick(2 * actions.length) - actions.length)]?.(action);
    least = now;
    passes(1);
    assert.deepEqual([clock.now(), ran], [now, expected]);
    expected.length = ran.length = 0;
  }
  time.system = START + 7;
  clock.rewind();
  assert.equal(clock.now(), START + 7);
});

test("clock: a timer that fires too early waits for the rest", (t) => {
  const { time, pass, ran, due } = running(t);
  due(1_000);
  time.monotonic += 990;
  t.mock.timers.tick(1_000);
  assert.deepEqual(ran, []);
  pass(10);
  assert.deepEqual(ran, [1_000]);
});

test("clock: advance awaits each entry before the next, however much real time passes meanwhile", async (t) => {
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

test("clock: freeze and resume during an advance take effect at its end", async (t) => {
  const { clock, pass } = running(t);
  for (const [ask, then_ms] of Object.entries({ freeze: 100, resume: 207 })) {
    clock.schedule(clock.now() + 50, "asked", () =>
      ask === "freeze" ? clock.freeze() : clock.resume(),
    );
    await clock.advance(100);
    pass(7);
    assert.equal(clock.now(), START + then_ms, ask);
  }
});

test("clock: an entry due in two months waits, although Node's timers cannot be that long", (t) => {
  const clock = new AdjustableClock();
  t.after(() => clock.close());
  const warned = t.mock.method(process, "emitWarning", () => {});
  clock.schedule(clock.now() + 60 * 24 * HOUR_MS, "late", () =>
    assert.fail("two months have not passed"),
  );
  assert.equal(warned.mock.callCount(), 0);
});

/** Tests the boundary: rounding and short pauses must not count as corrections of the machine's clock. */
test("clock: a running clock follows the machine's clock when they differ by more than a quarter of a second", (t) => {
  const { clock, time } = running(t);
  for (const [step_ms, by_ms] of [
    [250, 0],
    [1, 251],
    [-250, 251],
    [-1, 0],
    [HOUR_MS, HOUR_MS],
    [-2 * HOUR_MS, -HOUR_MS],
  ] as const) {
    time.system += step_ms;
    assert.equal(clock.now(), START + by_ms, `${step_ms} ms`);
  }
});

test("clock: an entry that is due after a step forward runs once, within a second, without a call to now", (t) => {
  const { time, pass, ran, due } = running(t);
  due(5 * 60_000, "retry");
  due(2 * HOUR_MS, "later");
  pass(60_000);
  time.system += HOUR_MS;
  pass(999);
  pass(1);
  assert.deepEqual(ran, ["retry"]);
  pass(HOUR_MS - 61_001);
  assert.deepEqual(ran, ["retry"]);
  pass(1);
  assert.deepEqual(ran, ["retry", "later"]);
});

test("clock: after a step back scheduled entries keep their wait, and listeners are notified once", (t) => {
  const { clock, time, pass, ran, due } = running(t);
  const received: number[] = [];
  const end = clock.onSetBack((by_ms) => void received.push(by_ms));
  due(5 * 60_000);
  pass(60_000);
  time.system -= HOUR_MS;
  pass(4 * 60_000 - 1);
  assert.deepEqual([ran, received], [[], [HOUR_MS]]);
  assert.equal(clock.now(), START - HOUR_MS + 5 * 60_000 - 1);
  pass(1);
  assert.deepEqual([ran, received], [[5 * 60_000], [HOUR_MS]]);
  end();
  time.system -= HOUR_MS;
  clock.now();
  time.system += 5 * HOUR_MS;
  clock.now();
  assert.deepEqual(received, [HOUR_MS]);
});

test("clock: a frozen clock ignores the machine's clock and resumes from its own time", (t) => {
  const { clock, time, pass } = running(t);
  clock.onSetBack(() => assert.fail("it stands still"));
  clock.freeze();
  time.system -= HOUR_MS;
  assert.equal(clock.now(), START);
  clock.resume();
  pass(7);
  assert.equal(clock.now(), START + 7);
});

test("clock: a pause of the process between the readings of the two clocks does not count as a correction", () => {
  let [passed_ms, pause_ms] = [0, 0];
  const monotonic = () => {
    const read_ms = passed_ms;
    passed_ms += pause_ms;
    pause_ms = 0;
    return read_ms;
  };
  // Afterwards the clocks are a millisecond apart, as rounding can cause.
  const system = () => START + passed_ms - Math.min(passed_ms, 1);
  const clock = new AdjustableClock(undefined, { system, monotonic, after });
  clock.onSetBack(() => assert.fail("nothing was set"));
  pause_ms = 10_000;
  assert.equal(clock.now(), START + 10_000);
});

test("timers: within returns whether the promise resolved in time, and leaves no timer", async (t) => {
  const timers = new Set<number>();
  const hook = createHook({
    init: (id, type) => void (type === "Timeout" && timers.add(id)),
    destroy: (id) => void timers.delete(id),
  }).enable();
  t.after(() => hook.disable());
  const alive = after(60_000, () => {});
  assert.equal(await within(60_000, Promise.resolve()), true);
  assert.equal(await within(Number.POSITIVE_INFINITY, Promise.resolve()), true);
  for (const for_ms of [1, 0, -5]) assert.equal(await within(for_ms, new Promise(() => {})), false);
  await assert.rejects(within(60_000, Promise.reject(new Error("it failed"))), /it failed/);
  alive.cancel();
  await turns(5);
  assert.deepEqual([...timers], []);
});
