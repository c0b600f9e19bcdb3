// Retention limits per account (contract, part 6): visitor, other and test events, and tombstones of deleted apps.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createDelivery, putDelivery } from "../../src/domain/deliveries.ts";
import { AppError } from "../../src/domain/errors.ts";
import { getEvent, listEvents, recordEvent, recordSample } from "../../src/domain/events.ts";
import { deliveries, type EventType, events } from "../../src/domain/model.ts";
import { pruneAccount } from "../../src/domain/retention.ts";
import { accountOf, kept, outboxWorld, type World } from "../support/outbox-world.ts";
import { httpReceiver } from "../support/receivers.ts";

const H = 3_600_000;
const KEPT = 10_000;

/** Creates many events in one transaction. */
const emitMany = (
  world: World,
  count: number,
  types: readonly EventType[] = ["app.updated"],
  record = recordEvent,
) =>
  world.unit.run(async (w) => {
    for (let n = 0; n < count; n += 1)
      for (const type of types) await record(w, world.account, type, { n });
    return null;
  });

/** Notifies retention of the account and waits until the background work is done. */
const told = async ({ forgetting, background }: World, id = "acc_1") => {
  forgetting.notify(id);
  await background.idle();
};

const total = async (world: World, type?: EventType) =>
  (await listEvents(world.store, world.account, { type, offset: 0, limit: 1 })).total;

test("8.bounds.events: the newest 10,000 clicks, other events and samples per account are kept with their deliveries", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver();
  const webhook = await world.webhook(receiver.url);
  const change = await world.emit();
  await world.idle();
  const click = await world.emit({}, world.account, "user.interaction");
  const foreign = await world.emit({}, accountOf("acc_2"));
  assert.deepEqual([...world.sweeps], ["acc_1", "acc_2"]);
  await emitMany(world, KEPT + 250, ["user.interaction"]);
  await emitMany(world, KEPT + 1, ["app.created"], recordSample);
  await emitMany(world, KEPT / 2 - 1, ["app.updated", "data.processed"]);
  await emitMany(world, 1);
  await pruneAccount(world.store, "acc_1");
  assert.deepEqual([await total(world, "user.interaction"), await total(world)], [KEPT, 2 * KEPT]);
  assert.equal(await world.store.get(events, click.id), undefined);
  assert.equal(await world.store.count(events, "sample", ["acc_1"]), KEPT);
  const still = kept(await getEvent(world.store, world.account, change.id));
  assert.equal(still.id, change.id, "others are as many as may be");
  await emitMany(world, 1);
  await pruneAccount(world.store, "acc_1");
  assert.equal(await total(world), 2 * KEPT);
  assert.equal(
    await world.store.get(events, change.id),
    undefined,
    "the oldest of all the other types together",
  );
  assert.deepEqual(await world.log(webhook), []);
  assert.ok(await world.store.get(events, foreign.id));
  const { items } = await listEvents(world.store, world.account, {
    type: undefined,
    offset: KEPT - 1,
    limit: 2,
  });
  assert.equal(
    items.map(({ type }) => type).join(),
    "user.interaction,app.updated",
    "one list in order of creation",
  );
});

test("8.bounds.events: an event with pending deliveries is kept, unlisted, until they are settled", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver((count) => (count === 1 ? 500 : 200));
  const webhook = await world.webhook(receiver.url);
  const waiting = await world.emit();
  await world.idle();
  const sample = await world.unit.run(async (w) => {
    const event = await recordSample(w, world.account, "app.created");
    await putDelivery(w.tx, createDelivery(w, webhook, event));
    return event;
  });
  await emitMany(world, KEPT + 5);
  await emitMany(world, KEPT, ["app.created"], recordSample);
  await pruneAccount(world.store, "acc_1");
  assert.equal(await total(world), KEPT);
  assert.equal(await world.store.count(events, "sample", ["acc_1"]), KEPT);
  assert.ok(await world.store.get(events, sample.id));
  assert.ok(
    (await getEvent(world.store, world.account, sample.id)) instanceof AppError,
    "a sample, still",
  );
  assert.equal(kept(await getEvent(world.store, world.account, waiting.id)).id, waiting.id);
  assert.equal((await world.log(webhook))[0]?.status, "pending");
  await world.advance(H);
  const [, ...later] = receiver.got.map(({ body }) => body);
  assert.deepEqual(later.sort(), [waiting.body, sample.body].sort());
  for (const { id } of [waiting, sample])
    assert.equal(await world.store.get(events, id), undefined);
  assert.equal(await world.store.count(deliveries, "webhook", [webhook.id]), 0);
});

test("8.bounds.events: a notified account is swept in the background even if another account's sweep fails", async (t) => {
  const world = await outboxWorld();
  const { store, forgetting, background, errors } = world;
  await emitMany({ ...world, account: accountOf("acc_0") }, KEPT + 1);
  await emitMany(world, KEPT + 1);
  t.mock.method(store, "transact", () => Promise.reject(new Error("full")), { times: 1 });
  for (const id of ["acc_0", "acc_1"]) forgetting.notify(id);
  assert.equal(await total(world), KEPT + 1, "not at once");
  await background.idle();
  assert.equal(await total(world), KEPT);
  assert.equal(errors.length, 1);
});

test("8.bounds.events: an account below its limit is not counted at each event; the leftovers of deleted apps always are", async (t) => {
  const world = await outboxWorld();
  const counts = t.mock.method(world.store, "transact");
  const swept = async (id: string) => {
    const before = counts.mock.callCount();
    await told(world, id);
    return counts.mock.callCount() - before;
  };
  await emitMany(world, KEPT - 2);
  assert.deepEqual([await swept("acc_1"), await swept("acc_1"), await swept("acc_1")], [1, 0, 0]);
  await emitMany(world, 3);
  assert.equal(await swept("acc_1"), 1);
  assert.equal(await total(world), KEPT);
  assert.deepEqual([await swept(""), await swept("")], [1, 1]);
});

test("8.bounds.events: an account at its limit is swept occasionally during many events, and once after the last event", async (t) => {
  const world = await outboxWorld();
  const { store, forgetting, background } = world;
  await emitMany(world, KEPT);
  const sweeps = t.mock.method(store, "transact");
  for (let turn = 0; turn < 300; turn += 1) {
    forgetting.notify("acc_1");
    await new Promise(setImmediate);
  }
  await background.idle();
  assert.ok(sweeps.mock.callCount() <= 8, `${sweeps.mock.callCount()} sweeps`);
  // This event arrives during the sweep for an earlier one.
  sweeps.mock.mockImplementationOnce(async (work) => {
    const left = await store.transact(work);
    await emitMany(world, 1);
    forgetting.notify("acc_1");
    return left;
  });
  await told(world);
  assert.equal(await total(world), KEPT);
});

test("8.bounds.events: events left by a deleted app belong to no account, whatever the number of unlisted events", {
  timeout: 20_000,
}, async () => {
  const world = await outboxWorld();
  const { store } = world;
  const event = await world.emit();
  await store.transact(async (tx) => {
    for (let n = 0; n <= KEPT + 100; n += 1)
      await tx.put(events, { ...event, id: `evt_${n}`, list_key: null, sample_account_id: "" });
  });
  await pruneAccount(store, "");
  assert.equal(await store.count(events, "sample", [""]), KEPT + 101);
});
