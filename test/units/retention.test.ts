// Retention (contract, part 6): the newest 10,000 events per account with their deliveries, and expired records.
import assert from "node:assert/strict";
import { test } from "node:test";
import { getEvent, listEvents, recordEvent, recordSample } from "../../src/domain/events.ts";
import { events, idempotency, sessions } from "../../src/domain/model.ts";
import { createRetention } from "../../src/domain/retention.ts";
import { toIso } from "../../src/lib/clock.ts";
import { accountOf, kept, outboxWorld, START, type World } from "../support/outbox-world.ts";
import { httpReceiver } from "../support/receivers.ts";

const H = 3_600_000;
const KEPT = 10_000;

/** Creates many events in one transaction. */
const emitMany = (world: World, count: number, record: typeof recordSample = recordUpdate) =>
  world.unit.run(async (ctx) => {
    for (let n = 0; n < count; n += 1) await record(ctx, world.account, "app.updated");
  });
const recordUpdate: typeof recordSample = (ctx, account, type) =>
  recordEvent(ctx, account, type, {});

const total = async (world: World) =>
  (await listEvents(world.store, world.account, { type: undefined, offset: 0, limit: 1 })).total;

const samples = async (world: World) =>
  world.store.count(events, "account", [world.account.id, true]);

test("8.bounds.events: the newest 10,000 events per account are kept with their deliveries, and 10,000 samples besides", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver();
  const webhook = await world.webhook(receiver.url);
  const oldest = await world.emit();
  await world.idle();
  const foreign = await world.emit({}, accountOf("acc_2"));
  await emitMany(world, KEPT - 1);
  await emitMany(world, KEPT + 1, recordSample);
  assert.deepEqual([await total(world), (await world.log(webhook)).length], [KEPT, 1]);
  await emitMany(world, 1);
  assert.deepEqual([await total(world), await world.log(webhook)], [KEPT, []]);
  assert.equal(await world.store.get(events, oldest.id), undefined);
  assert.equal(await samples(world), KEPT);
  assert.ok(await world.store.get(events, foreign.id));
});

test("8.bounds.events: an event with a pending delivery is kept until that is settled", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver((count) => (count === 1 ? 500 : 200));
  await world.webhook(receiver.url);
  const pending = await world.emit();
  await world.idle();
  await emitMany(world, KEPT + 5);
  assert.equal(await total(world), KEPT + 1);
  assert.equal(kept(await getEvent(world.store, world.account, pending.id)).id, pending.id);
  await world.advance(H);
  await emitMany(world, 1);
  assert.equal(await total(world), KEPT);
  assert.equal(await world.store.get(events, pending.id), undefined);
});

/** Creates idempotency records with these expiries and a worker that has looked for them once. */
async function expiring(...expiries_ms: readonly number[]) {
  const { clock, store, tasks, errors, workers } = await outboxWorld();
  await workers.stop();
  const add = (id: string, after_ms: number) =>
    store.transact((tx) =>
      tx.put(idempotency, {
        id,
        fingerprint: "",
        status: 201,
        headers: {},
        body: "",
        partition: "idempotency",
        expires_at: toIso(START + after_ms),
      }),
    );
  for (const [at, after_ms] of expiries_ms.entries()) await add(`id-${at}`, after_ms);
  const retention = createRetention({ store, clock, tasks });
  await retention.run();
  const left = () => store.count(idempotency, "expiry", ["idempotency"]);
  return { clock, store, retention, add, left, errors };
}

test("records that nothing else announces are found by an hourly run, which advance does not report", async () => {
  const { clock, add, left } = await expiring();
  await add("late", 10);
  assert.deepEqual(await clock.advance(H), []);
  assert.equal(await left(), 0);
});

test("a store failure is reported and expired records are deleted later", async (t) => {
  const { clock, store, errors, left } = await expiring(1_000);
  t.mock.method(store, "transact", () => Promise.reject(new Error("full")), { times: 1 });
  await clock.advance(1_000);
  assert.equal(errors.length, 1);
  await clock.advance(H);
  assert.equal(await left(), 0);
});

test("an expired record is deleted at its exact time, in every collection", async () => {
  const { clock, store, retention, left } = await expiring(5_000, 5_000);
  await store.transact(async (tx) => {
    const expires_at = toIso(START + 2_000);
    await tx.put(sessions, {
      id: "s",
      user_id: "usr_1",
      expires_at,
      key_id: null,
      partition: "sessions",
    });
  });
  await retention.run();
  assert.deepEqual(await clock.advance(1_999), []);
  assert.ok(await store.get(sessions, "s"));
  const deletedAt = { at: "2026-01-01T00:00:02.000Z", what: "expiry of sessions" };
  assert.deepEqual(await clock.advance(1), [deletedAt]);
  assert.equal(await store.get(sessions, "s"), undefined);
  assert.equal(await left(), 2);
  await clock.advance(3_000);
  assert.equal(await left(), 0);
});

test("no expiry timer remains after a stop", async () => {
  const { clock, retention } = await expiring(1_000);
  retention.stop();
  assert.deepEqual(await clock.advance(10_000_000), []);
});
