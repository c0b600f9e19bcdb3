// The running clock: its time whatever the system clock does, and when its scheduled entries run.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AdjustableClock, after } from "../../src/lib/clock.ts";
import { seededRandom } from "../../src/lib/ids.ts";
import { createMachine, HOUR_MS, START } from "../support/machine.ts";

/** `schedule` adds an entry that adds its wait to `ran`. */
function createClock() {
  const machine = createMachine();
  const { clock } = machine;
  const ran: (string | number)[] = [];
  const schedule = (wait_ms: number) =>
    clock.schedule(clock.now() + wait_ms, "entry", () => void ran.push(wait_ms));
  return { ...machine, ran, schedule };
}

test("clock: entries run at their time and in order through any sequence of schedule, cancel, freeze, set and advance", async () => {
  const { clock, step, time, pass, ran } = createClock();
  const random = seededRandom("clock");
  const pick = (below: number) => random(2).readUInt16BE() % below;
  // A model of the clock: its time, and the pending entries in order of scheduling.
  let now = START;
  let isFrozen = false;
  let waiting: { readonly at: number; readonly name: number; cancel(): void }[] = [];
  const expected: number[] = [];
  /** The model's time before it moves on. */
  let least = now;
  const runDue = () => {
    const due = waiting.filter(({ at }) => at <= now).sort((a, b) => a.at - b.at);
    waiting = waiting.filter(({ at }) => at > now);
    expected.push(...due.map(({ name }) => name));
  };
  const passTime = (by_ms: number) => {
    pass(by_ms);
    if (isFrozen) return;
    now += by_ms;
    runDue();
  };
  const actions = [
    (name: number) => {
      const at = now + pick(5) * 10;
      const entry = clock.schedule(at, "entry", () => {
        assert.ok(clock.now() >= least, "time goes back");
        ran.push(name);
      });
      waiting.push({ at, name, ...entry });
    },
    () => {
      const [entry] = waiting.splice(pick(waiting.length + 1), 1);
      entry?.cancel();
      entry?.cancel();
    },
    () => passTime(pick(30)),
    () => {
      // The running clock follows the machine's, and waits keep their length after a step back.
      const by_ms = (pick(3) - 1) * HOUR_MS;
      step(by_ms);
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
      runDue();
    },
  ];
  for (let action = 0; action < 5_000; action += 1) {
    // Half of the actions schedule an entry; a timer takes at least a millisecond.
    await actions[Math.max(0, pick(2 * actions.length) - actions.length)]?.(action);
    least = now;
    passTime(1);
    assert.deepEqual([clock.now(), ran], [now, expected]);
    expected.length = ran.length = 0;
  }
  time.system = START + 7;
  clock.rewind();
  assert.equal(clock.now(), START + 7);
});

test("clock: advance awaits each entry before the next, however much real time passes meanwhile", async () => {
  const { clock, pass, ran, schedule } = createClock();
  clock.schedule(clock.now() + 100, "first", async () => {
    pass(100);
    await Promise.resolve();
    ran.push("first");
  });
  schedule(100);
  await clock.advance(100);
  assert.deepEqual(ran, ["first", 100]);
});

test("clock: an entry that is due after a step forward runs once, within a second, without a call to now", () => {
  const { step, pass, ran, schedule } = createClock();
  const [soon, later] = [5 * 60_000, 2 * HOUR_MS];
  schedule(soon);
  schedule(later);
  pass(60_000);
  step(HOUR_MS);
  pass(1_000);
  assert.deepEqual(ran, [soon]);
  pass(HOUR_MS - 61_001);
  assert.deepEqual(ran, [soon]);
  pass(1);
  assert.deepEqual(ran, [soon, later]);
});

test("clock: after a step back scheduled entries keep their wait, and listeners are notified once", () => {
  const { clock, step, pass, ran, schedule } = createClock();
  const received: number[] = [];
  clock.onSetBack((by_ms) => void received.push(by_ms));
  schedule(5 * 60_000);
  pass(60_000);
  step(-HOUR_MS);
  pass(4 * 60_000 - 1);
  assert.deepEqual([ran, received], [[], [HOUR_MS]]);
  assert.equal(clock.now(), START - HOUR_MS + 5 * 60_000 - 1);
  pass(1);
  assert.deepEqual([ran, received], [[5 * 60_000], [HOUR_MS]]);
});

test("clock: a frozen clock ignores the machine's clock and resumes from its own time", () => {
  const { clock, step, pass } = createClock();
  clock.onSetBack(() => assert.fail("it stands still"));
  clock.freeze();
  step(-HOUR_MS);
  assert.equal(clock.now(), START);
  clock.resume();
  pass(7);
  assert.equal(clock.now(), START + 7);
});

test("clock: a pause of the process between two readings of the machine's clocks does not count as a correction", () => {
  let [passed_ms, pause_ms] = [0, 0];
  const system = () => {
    const time = START + passed_ms;
    passed_ms += pause_ms;
    pause_ms = 0;
    return time;
  };
  const clock = new AdjustableClock(undefined, { system, monotonic: () => passed_ms, after });
  clock.onSetBack(() => assert.fail("nothing was set"));
  pause_ms = 10_000;
  assert.equal(clock.now(), START + 10_000);
});
