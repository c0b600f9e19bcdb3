// The running clock: its time whatever the system clock does, and when its scheduled entries run. When the machine's
// clock steps forward or back under a service, due work runs once, and every wait keeps its length. Time is moved by hand.
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { type TestContext, test } from "node:test";
import { failure, type Sender } from "../../src/delivery/sender.ts";
import type { DeliveryRecord } from "../../src/domain/model.ts";
import { redeliver } from "../../src/domain/webhooks.ts";
import { createRateLimiter } from "../../src/http/access.ts";
import { AdjustableClock, after, parseIso } from "../../src/lib/clock.ts";
import { createMachine, HOUR_MS, START } from "../support/machine.ts";
import { kept, outboxWorld } from "../support/outbox-world.ts";

/** `schedule` adds an entry that adds its wait to `ran`. */
function createClock() {
  const machine = createMachine();
  const { clock } = machine;
  const ran: (string | number)[] = [];
  const schedule = (wait_ms: number) =>
    clock.schedule(clock.now() + wait_ms, "entry", () => void ran.push(wait_ms));
  return { ...machine, ran, schedule };
}

test("clock: entries run at their time and in order, however it is frozen, resumed, set and advanced", async () => {
  const { clock, pass, ran, schedule, time } = createClock();
  const assertNow = (after_ms: number, ...waits_ms: number[]) =>
    assert.deepEqual([clock.now() - START, ran], [after_ms, waits_ms]);
  for (const wait_ms of [20, 10, 30]) schedule(wait_ms);
  clock.freeze();
  pass(50);
  assertNow(0);
  clock.resume();
  pass(9);
  assertNow(9);
  pass(1);
  assertNow(10, 10);
  const { cancel } = schedule(5);
  cancel();
  cancel();
  clock.set(START + 25);
  pass(1);
  assertNow(26, 10, 20);
  clock.freeze();
  await clock.advance(3);
  assertNow(29, 10, 20);
  schedule(1);
  await clock.advance(1);
  assertNow(30, 10, 20, 30, 1);
  clock.set(START - 5);
  clock.resume();
  schedule(5);
  pass(4);
  assertNow(-1, 10, 20, 30, 1);
  await clock.advance(100);
  assertNow(99, 10, 20, 30, 1, 5);
  clock.schedule(START + 100, null, () => clock.freeze());
  await clock.advance(1);
  pass(9);
  assertNow(100, 10, 20, 30, 1, 5);
  clock.onSetBack(() => assert.fail("a rewind is no correction"));
  time.system = START - HOUR_MS;
  clock.rewind();
  assertNow(-HOUR_MS, 10, 20, 30, 1, 5);
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

test("clock: a running clock runs on if an entry throws during an advance", async () => {
  const { clock, pass } = createClock();
  clock.schedule(clock.now() + 50, "entry", () => Promise.reject(new Error("broken")));
  await assert.rejects(clock.advance(100), /broken/);
  pass(10);
  assert.equal(clock.now(), START + 110);
});

test("clock: there is one timer at most, even if the machine's clock is set just before an entry is scheduled", () => {
  const { clock, step, timers, schedule } = createClock();
  const { cancel } = schedule(1_000);
  const at = clock.now();
  cancel();
  step(-HOUR_MS);
  clock.schedule(at, "entry", () => {});
  assert.equal(timers.size, 1);
  clock.close();
  assert.equal(timers.size, 0);
});

test("clock: setting the machine's own clock back notifies listeners once", async (t) => {
  let set_ms = 0;
  const { now } = Date;
  t.mock.method(Date, "now", () => now() + set_ms);
  // A copy of the module, which captures this Date.now.
  const copy = "../../src/lib/clock.ts?copy";
  const clock: AdjustableClock = new (await import(copy)).AdjustableClock();
  const received: number[] = [];
  clock.onSetBack((by_ms) => void received.push(Math.round(by_ms / HOUR_MS)));
  set_ms = -HOUR_MS;
  for (let reads = 0; reads < 3; reads += 1) assert.ok(Math.abs(clock.now() - Date.now()) < 1_000);
  assert.deepEqual(received, [1]);
  clock.close();
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

/** Sets up a webhook whose receiver responds with these statuses, then repeats the last one. */
async function delivering(t: TestContext, ...statuses: readonly number[]) {
  const { clock, pass, step } = createMachine();
  let sent = 0;
  let duringSend = async () => {};
  const sender: Sender = {
    close: () => {},
    async send() {
      const response_status = statuses[sent] ?? statuses.at(-1) ?? 200;
      sent += 1;
      await duringSend();
      return { ...failure("status"), response_status };
    },
  };
  const world = await outboxWorld({ clock, sender });
  t.after(async () => {
    await world.stop();
    clock.close();
    assert.deepEqual(world.errors, []);
  });
  const webhook = await world.webhook("http://127.0.0.1:9/");
  await world.emit();
  await world.idle();
  return {
    clock,
    step,
    row: async () => kept((await world.log(webhook))[0]),
    sent: () => sent,
    /** Requests a manual attempt, during which the machine's clock is set. */
    async redeliverWithStep(by_ms: number) {
      duringSend = async () => {
        step(by_ms);
        clock.now();
        await world.store.transact(async () => undefined); // the rows have moved by then
      };
      const [first] = await world.log(webhook);
      kept(await redeliver(world.unitOfWork, world.account, webhook.id, kept(first).id));
      await world.idle();
    },
    /** Passes this much real time and waits until due work is done. */
    async passes(by_ms: number) {
      pass(by_ms);
      await world.idle();
    },
  };
}

const waitOf = ({ next_attempt_at }: DeliveryRecord, clock: AdjustableClock) =>
  parseIso(next_attempt_at ?? assert.fail()) - clock.now();

test("steps: a retry that is due after a step forward goes out once, within a second", async (t) => {
  const it = await delivering(t, 500);
  await it.passes(10_000);
  assert.equal(it.sent(), 2);
  it.step(8 * HOUR_MS);
  await it.passes(1_000);
  assert.equal(it.sent(), 3, "the retry after 5 minutes");
  await it.passes(20 * 60_000);
  assert.equal(it.sent(), 3, "the next waits its half hour from there");
  const last = (await it.row()).attempts.at(-1);
  assert.ok(Math.abs(parseIso(last?.at ?? "") - START - 8 * HOUR_MS - 10_000) <= 1_000);
});

test("steps: a step back keeps a retry's wait, as next_attempt_at shows", async (t) => {
  const it = await delivering(t, 500, 500, 200);
  await it.passes(10_000);
  const wait_ms = waitOf(await it.row(), it.clock);
  it.step(-HOUR_MS);
  await it.passes(1_000);
  assert.equal(it.clock.now(), START - HOUR_MS + 11_000);
  assert.equal(waitOf(await it.row(), it.clock), wait_ms - 1_000);
  await it.passes(wait_ms - 1_001);
  assert.equal(it.sent(), 2);
  await it.passes(1);
  assert.equal(it.sent(), 3);
  assert.equal((await it.row()).status, "succeeded");
});

test("steps: a step back during a manual attempt keeps the wait of the scheduled retry", async (t) => {
  const it = await delivering(t, 500);
  const wait_ms = waitOf(await it.row(), it.clock);
  await it.redeliverWithStep(-HOUR_MS);
  assert.equal(it.sent(), 2);
  assert.equal(waitOf(await it.row(), it.clock), wait_ms);
});

test("steps: a step back that a unit of work notices moves the due times outside of it", async (t) => {
  const { clock, step } = createMachine();
  const { store, unitOfWork, idle } = await outboxWorld({ clock });
  const inside = new AsyncLocalStorage<boolean>();
  const contexts: unknown[] = [];
  const { transact } = store;
  t.mock.method(store, "transact", (work: Parameters<typeof transact>[0]) => {
    contexts.push(inside.getStore());
    return inside.run(true, () => transact(work));
  });
  step(-HOUR_MS);
  await unitOfWork.run(async () => undefined);
  await idle();
  assert.deepEqual(new Set(contexts), new Set([undefined]));
});

test("steps: a rate window keeps its length after a step back, and a step forward ends it", async () => {
  const { clock, pass, step } = createMachine();
  const limiter = createRateLimiter(clock, 1);
  const count = async () => {
    const { exceeded, reset_s } = (await limiter.count("acc_1")) ?? {};
    return [exceeded, reset_s];
  };
  assert.deepEqual(await count(), [false, 60]);
  pass(20_000);
  step(-HOUR_MS);
  assert.deepEqual(await count(), [true, 40]);
  pass(39_999);
  assert.deepEqual(await count(), [true, 1]);
  pass(1);
  assert.deepEqual(await count(), [false, 60]);
  step(HOUR_MS);
  assert.deepEqual(await count(), [false, 60]);
});
