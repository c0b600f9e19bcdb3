// What is kept of an account's events (contract, part 6), and that a sweep costs what it removes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { EVENTS_KEPT, getEvent, listEvents, recordEvent } from "../../src/domain/events.ts";
import { deliveries, events } from "../../src/domain/model.ts";
import { sweepEvents } from "../../src/domain/retention.ts";
import { httpReceiver } from "../support/http-receiver.ts";
import { account, kept, outboxWorld, type World } from "../support/outbox-world.ts";

const H = 3_600_000;

/** Many events at once, in one transaction. */
const emitMany = (world: World, count: number) =>
  world.unit.transact(async (w) => {
    for (let n = 0; n < count; n += 1) await recordEvent(w, world.caller.account, "app.updated", { n });
    return null;
  });

const total = async (world: World) =>
  (await listEvents(world.store, world.caller, undefined, { offset: 0, limit: 1 })).total;

test("8.bounds.events: the newest 10,000 and their deliveries stay, older ones go", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver();
  const webhook = await world.webhook(receiver.url);
  const first = await world.emit();
  await world.outbox.idle();
  const other = account("acc_2");
  const foreign = await world.emit({}, other);
  await emitMany(world, EVENTS_KEPT - 1);
  assert.deepEqual([...world.sweeps], ["acc_1", "acc_2"]);
  await sweepEvents(world.store, "acc_1");
  assert.equal((await getEvent(world.store, world.caller, first.id)).constructor, Object);
  await emitMany(world, 250);
  await sweepEvents(world.store, "acc_1");
  assert.equal(await total(world), EVENTS_KEPT);
  assert.equal(await world.store.get(events, first.id), undefined);
  assert.deepEqual(await world.log(webhook), []);
  assert.ok(await world.store.get(events, foreign.id));
});

test("8.bounds.events: what is still to be sent stays, off the list, and goes once it is settled", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver((count) => (count === 1 ? 500 : 200));
  const webhook = await world.webhook(receiver.url);
  const waiting = await world.emit();
  await world.outbox.idle();
  await emitMany(world, EVENTS_KEPT + 5);
  await sweepEvents(world.store, "acc_1");
  assert.equal(await total(world), EVENTS_KEPT);
  assert.equal(kept(await getEvent(world.store, world.caller, waiting.id)).id, waiting.id);
  assert.equal((await world.log(webhook))[0]?.status, "pending");
  await world.clock.advance(H);
  assert.equal(receiver.got.length, 2);
  assert.equal(receiver.got[1]?.body, waiting.body);
  assert.equal(await world.store.get(events, waiting.id), undefined);
  assert.equal(await world.store.count(deliveries, "webhook", [webhook.id]), 0);
});
