// Retention (contract, part 6): the newest 10,000 events per account with their deliveries, and expired records.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createDelivery, putDelivery } from "../../src/domain/deliveries.ts";
import { AppError } from "../../src/domain/errors.ts";
import { getEvent, listEvents, recordEvent, recordSample } from "../../src/domain/events.ts";
import {
  deliveries,
  type EventType,
  events,
  idempotency,
  sessions,
} from "../../src/domain/model.ts";
import { createRetention } from "../../src/domain/retention.ts";
import type { Store } from "../../src/domain/store.ts";
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

const total = async (world: World, type?: EventType) =>
  (await listEvents(world.store, world.account, { type, offset: 0, limit: 1 })).total;

test("8.bounds.events: the newest 10,000 events per account are kept with their deliveries, and 10,000 samples besides", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver();
  const webhook = await world.webhook(receiver.url);
  const oldest = await world.emit();
  await world.idle();
  const click = await world.emit({}, world.account, "user.interaction");
  const foreign = await world.emit({}, accountOf("acc_2"));
  await emitMany(world, KEPT - 2);
  await emitMany(world, KEPT + 1, recordSample);
  assert.deepEqual([await total(world), (await world.log(webhook)).length], [KEPT, 1]);
  await emitMany(world, 1);
  assert.deepEqual([await total(world), await world.log(webhook)], [KEPT, []]);
  assert.equal(await world.store.get(events, oldest.id), undefined);
  assert.equal(await world.store.count(events, "sample", ["acc_1"]), KEPT);
  assert.equal(await total(world, "user.interaction"), 1);
  await emitMany(world, 1);
  assert.equal(await world.store.get(events, click.id), undefined);
  assert.ok(await world.store.get(events, foreign.id));
});

test("8.bounds.events: an event with pending deliveries is kept, unlisted, until they are settled", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver((count) => (count <= 2 ? 500 : 200));
  const webhook = await world.webhook(receiver.url);
  const pending = await world.emit();
  await world.idle();
  const sample = await world.unit.run(async (ctx) => {
    const event = await recordSample(ctx, world.account, "app.created");
    await putDelivery(ctx, createDelivery(ctx, webhook, event));
    return event;
  });
  await world.idle();
  await emitMany(world, KEPT + 5);
  await emitMany(world, KEPT, recordSample);
  assert.equal(await total(world), KEPT);
  assert.equal(await world.store.count(events, "sample", ["acc_1"]), KEPT);
  assert.ok(await world.store.get(events, sample.id));
  assert.ok((await getEvent(world.store, world.account, sample.id)) instanceof AppError);
  assert.equal(kept(await getEvent(world.store, world.account, pending.id)).id, pending.id);
  await world.advance(H);
  const [, , ...later] = receiver.got.map(({ body }) => body);
  assert.deepEqual(later.sort(), [pending.body, sample.body].sort());
  for (const { id } of [pending, sample])
    assert.equal(await world.store.get(events, id), undefined);
  assert.equal(await world.store.count(deliveries, "webhook", [webhook.id]), 0);
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
  await retention.deleteExpired();
  const left = () => store.count(idempotency, "expiry", ["idempotency"]);
  return { clock, store, retention, add, left, errors };
}

test("more records than one transaction deletes expire at the same clock time", async () => {
  const { clock, left } = await expiring(...Array<number>(1_201).fill(1_000));
  await clock.advance(1_000);
  assert.equal(await left(), 0);
});

test("a collection without expiring records is read again every hour, without a report of a run", async () => {
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
  const { clock, store, retention, left } = await expiring(5_000);
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
  await retention.deleteExpired();
  assert.deepEqual(await clock.advance(1_999), []);
  assert.ok(await store.get(sessions, "s"));
  const deletedAt = { at: "2026-01-01T00:00:02.000Z", what: "expiry of sessions" };
  assert.deepEqual(await clock.advance(1), [deletedAt]);
  assert.equal(await store.get(sessions, "s"), undefined);
  assert.equal(await left(), 1);
  await clock.advance(3_000);
  assert.equal(await left(), 0);
});

test("a record that expires at the time of an hourly run is reported", async () => {
  const { clock } = await expiring(2 * H);
  assert.deepEqual(await clock.advance(2 * H), [
    { at: "2026-01-01T02:00:00.000Z", what: "expiry of idempotency" },
  ]);
});

test("a record renewed just before its deletion is kept", async (t) => {
  const { clock, store, add, left } = await expiring(1_000, 1_000);
  const renewing: Store["transact"] = (work) =>
    add("id-0", 60_000).then(() => store.transact(work));
  t.mock.method(store, "transact", renewing, { times: 1 });
  await clock.advance(1_000);
  assert.equal(await left(), 1);
  await clock.advance(59_000);
  assert.equal(await left(), 0);
});

test("no expiry timer remains after a stop", async () => {
  const { clock, retention } = await expiring(1_000);
  retention.stop();
  assert.deepEqual(await clock.advance(10_000_000), []);
});
