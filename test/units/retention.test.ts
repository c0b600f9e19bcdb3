// Retention: the newest 10,000 events per account with their deliveries, and expired records.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sessions } from "../../src/domain/collections.ts";
import { getEvent, recordEvent, recordSample } from "../../src/domain/events.ts";
import { events } from "../../src/domain/model.ts";
import { createRetention } from "../../src/domain/retention.ts";
import { toIso } from "../../src/lib/clock.ts";
import { accountOf, kept, outboxWorld, START, type World } from "../support/outbox-world.ts";
import { httpReceiver } from "../support/receivers.ts";

const H = 3_600_000;
const KEPT = 10_000;

/** Creates many events in one transaction. */
const emitMany = (world: World, count: number, record: typeof recordSample = recordUpdate) =>
  world.unitOfWork.run(async (ctx) => {
    for (let n = 0; n < count; n += 1)
      await record({ ...ctx, account: world.account }, "app.updated");
  });
const recordUpdate: typeof recordSample = (ctx, type) => recordEvent(ctx, type, {});

const count = ({ store, account }: World, isSample = false) =>
  store.count(events, "account", [account.id, isSample]);

test("8.bounds.events: the newest 10,000 events per account are kept with their deliveries, and 10,000 samples besides", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver();
  const webhook = await world.webhook(receiver.url);
  const oldest = await world.emit();
  await world.idle();
  const foreign = await world.emit({}, accountOf("acc_2"));
  await emitMany(world, KEPT - 1);
  await emitMany(world, KEPT + 1, recordSample);
  assert.deepEqual([await count(world), (await world.log(webhook)).length], [KEPT, 1]);
  await emitMany(world, 1);
  assert.deepEqual([await count(world), await world.log(webhook)], [KEPT, []]);
  assert.equal(await world.store.get(events, oldest.id), undefined);
  assert.equal(await count(world, true), KEPT);
  assert.ok(await world.store.get(events, foreign.id));
});

test("8.bounds.events: an event with a pending delivery is kept until that is settled", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver((count) => (count === 1 ? 500 : 200));
  await world.webhook(receiver.url);
  const pending = await world.emit();
  await world.idle();
  await emitMany(world, KEPT + 5);
  assert.equal(await count(world), KEPT + 1);
  assert.equal(kept(await getEvent(world.store, world.account, pending.id)).id, pending.id);
  await world.advance(H);
  await emitMany(world, 1);
  assert.equal(await count(world), KEPT);
  assert.equal(await world.store.get(events, pending.id), undefined);
});

test("8.bounds.events: the limit holds behind pending deliveries, of which a new event checks at most 100", async (t) => {
  const world = await outboxWorld();
  await world.stop();
  await world.webhook("http://127.0.0.1:9/");
  for (let n = 0; n < 150; n += 1) await world.emit();
  await emitMany(world, KEPT);
  await world.unitOfWork.run(async (ctx) => {
    const { mock } = t.mock.method(ctx.tx, "page");
    await recordUpdate({ ...ctx, account: world.account }, "app.updated");
    assert.ok(mock.callCount() < 105);
  });
  assert.equal(await count(world), KEPT + 150);
});

/** A store with sessions that expire after these times, and a retention that has run once. */
async function expiring(...expiries_ms: readonly number[]) {
  const { clock, store, tasks, errors, workers } = await outboxWorld();
  await workers.stop();
  const add = (id: string, after_ms: number) =>
    store.transact((tx) =>
      tx.put(sessions, {
        id,
        user_id: "usr_1",
        key_id: null,
        expires_at: toIso(START + after_ms),
      }),
    );
  for (const [at, after_ms] of expiries_ms.entries()) await add(`session-${at}`, after_ms);
  const retention = createRetention({ store, clock, tasks });
  await retention.run();
  const left = () => store.count(sessions, "expiry", []);
  return { clock, store, retention, add, left, errors };
}

test("expired records are deleted at their exact time, which advance reports", async () => {
  const { clock, left } = await expiring(2_000, 2_000, 5_000);
  assert.deepEqual(await clock.advance(1_999), []);
  assert.equal(await left(), 3);
  const deletion = { at: "2026-01-01T00:00:02.000Z", what: "expiry of sessions" };
  assert.deepEqual(await clock.advance(1), [deletion]);
  assert.equal(await left(), 1);
  await clock.advance(3_000);
  assert.equal(await left(), 0);
});

test("an hourly run, which advance does not report, finds new records and repeats after a store failure", async (t) => {
  const { clock, store, add, left, errors } = await expiring(1_000);
  t.mock.method(store, "transact", () => Promise.reject(new Error("full")), { times: 1 });
  await clock.advance(1_000);
  assert.equal(errors.length, 1);
  await add("new", 2_000);
  assert.deepEqual(await clock.advance(H), []);
  assert.equal(await left(), 0);
});

test("no expiry timer remains after a stop", async () => {
  const { clock, retention } = await expiring(1_000);
  retention.stop();
  assert.deepEqual(await clock.advance(10_000_000), []);
});
