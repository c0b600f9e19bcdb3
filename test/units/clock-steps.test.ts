// The machine's clock steps forward or back under a running service (contract, part 10): due work runs once, and every
// wait keeps its length. Time is moved by hand; everything else is as in a service.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { RETRY_WAITS_MS } from "../../src/delivery/outbox.ts";
import { type DispatchResult, failure, type Sender } from "../../src/delivery/sender.ts";
import { collections } from "../../src/domain/collections.ts";
import { recordEvent } from "../../src/domain/events.ts";
import { accounts, type DeliveryRecord, deliveries } from "../../src/domain/model.ts";
import { FIRST_RECORD } from "../../src/domain/store.ts";
import { createNotifications, UnitOfWork } from "../../src/domain/unit-of-work.ts";
import { redeliver, webhookService } from "../../src/domain/webhooks.ts";
import { createRateLimiter } from "../../src/http/access.ts";
import { type AdjustableClock, parseIso } from "../../src/lib/clock.ts";
import { systemRandom, TimeOrderedIds } from "../../src/lib/ids.ts";
import { TaskTracker } from "../../src/lib/tasks.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { createChaos } from "../../src/testing/faults.ts";
import { createWorkers } from "../../src/workers.ts";
import { createMachine, HOUR_MS, START } from "../support/machine.ts";
import { accountOf, kept } from "../support/outbox-world.ts";

/** Sets up a webhook whose receiver responds with these statuses, then repeats the last one. */
async function delivering(t: TestContext, ...statuses: readonly number[]) {
  const { clock, pass, step } = createMachine();
  const store = memoryStore();
  await store.open(collections);
  const account = accountOf("acc_1");
  await store.transact((tx) => tx.put(accounts, account));
  const ids = new TimeOrderedIds(clock, systemRandom);
  const parts = { store, clock, ids, notifications: createNotifications() };
  const unit = new UnitOfWork(parts);
  const errors: unknown[] = [];
  const background = new TaskTracker((error) => errors.push(error));
  let sent = 0;
  let duringSend = async () => {};
  const sender: Sender = {
    close: () => {},
    async send(): Promise<DispatchResult> {
      const response_status = statuses[sent] ?? statuses.at(-1) ?? 200;
      sent += 1;
      await duringSend();
      return { ...failure("status"), response_status };
    },
  };
  const chaos = createChaos({ unit: parts, effects: new Map() });
  const workers = createWorkers({
    ...parts,
    tasks: background,
    sender: chaos.wrap(sender),
    retryWaits_ms: RETRY_WAITS_MS,
    timestamp: () => clock.now(),
    onAttempt: () => {},
  });
  await workers.start();
  t.after(async () => {
    await workers.stop();
    clock.close();
    assert.deepEqual(errors, []);
  });
  const draft = {
    url: "http://127.0.0.1:9/",
    events: ["app.created" as const],
    secret: "secret",
    active: true,
  };
  const { id } = kept(await webhookService.create(unit, account, draft));
  const emit = async () => {
    await unit.run((w) => recordEvent({ ...w, account }, "app.created", { n: 1 }));
    await background.idle();
  };
  const row = async () => kept((await store.page(deliveries, "webhook", [id], FIRST_RECORD))[0]);
  return {
    clock,
    step,
    chaos,
    emit,
    /** Requests a manual attempt, during which the machine's clock is set. */
    async redeliverWithStep(by_ms: number) {
      duringSend = async () => {
        step(by_ms);
        clock.now();
        await store.transact(async () => undefined); // the rows have moved by then
      };
      kept(await redeliver(unit, account, id, (await row()).id));
      await background.idle();
    },
    row,
    sent: () => sent,
    /** Passes this much real time and waits until due work is done. */
    async passes(by_ms: number) {
      pass(by_ms);
      await background.idle();
    },
  };
}

const waitOf = ({ next_attempt_at }: DeliveryRecord, clock: AdjustableClock) =>
  parseIso(next_attempt_at ?? assert.fail()) - clock.now();

test("steps: a retry that is due after a step forward goes out once, within a second", async (t) => {
  const it = await delivering(t, 500);
  await it.emit();
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
  await it.emit();
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
  await it.emit();
  const wait_ms = waitOf(await it.row(), it.clock);
  await it.redeliverWithStep(-HOUR_MS);
  assert.equal(it.sent(), 2);
  assert.equal(waitOf(await it.row(), it.clock), wait_ms);
});

test("steps: a chaos delay keeps its length after a step back", async (t) => {
  const it = await delivering(t, 200);
  it.chaos.add({ effect: "delay", delayMs: 60_000 });
  await it.emit();
  it.step(-HOUR_MS);
  await it.passes(59_999);
  assert.equal(it.sent(), 0);
  await it.passes(1);
  assert.equal(it.sent(), 1);
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
