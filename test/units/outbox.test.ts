// The outbox (src/delivery/outbox.ts) over real sockets with a clock moved by hand (contract, part 6).
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { createHttpSender } from "../../src/delivery/sender.ts";
import { createDelivery, putDelivery, recordAttempt } from "../../src/domain/deliveries.ts";
import { recordEvent } from "../../src/domain/events.ts";
import { deliveries, type WebhookRecord } from "../../src/domain/model.ts";
import { type Lease, StorageUnavailable, type Store } from "../../src/domain/store.ts";
import { redeliver, sendTest, webhookService } from "../../src/domain/webhooks.ts";
import { toIso } from "../../src/lib/clock.ts";
import { verifySignature } from "../../src/lib/signature.ts";
import { took } from "../support/costs.ts";
import {
  kept,
  outboxWorld,
  START,
  type World,
  type WorldOptions,
} from "../support/outbox-world.ts";
import { type HttpReceiver, httpReceiver } from "../support/receivers.ts";
import { eventually, turns } from "../support/wait.ts";

const S = 1_000;
const H = 3_600 * S;
const PATIENT = { sender: createHttpSender({ policy: "local", timeout_ms: 60_000 }) };

/** A world with a webhook, or several, and their receiver, which answers so. */
async function hooked(
  answer?: Parameters<typeof httpReceiver>[0],
  options?: WorldOptions,
  webhooks = 1,
) {
  const world = await outboxWorld(options);
  const receiver = await httpReceiver(answer);
  for (let more = 1; more < webhooks; more += 1) await world.webhook(receiver.url);
  return { world, receiver, webhook: await world.webhook(receiver.url) };
}

/** Another process on the same store, which takes up what waits. */
async function besides({ real: store }: World, options?: WorldOptions) {
  const world = await outboxWorld({ ...options, store });
  await world.outbox.resume();
  return world;
}

/** An event and all that comes of it now. */
async function emitted(world: World, n = 1) {
  const event = await world.emit({ n });
  await world.idle();
  return event;
}

/** The webhook's deliveries in short: "pending 1" is one that was attempted once. */
const inShort = async (world: World, webhook: WebhookRecord) =>
  (await world.log(webhook)).map(({ status, attempts }) => `${status} ${attempts.length}`);

/** Answers with this status once that is done. */
const afterwards =
  (work: () => Promise<unknown>, status: number) => (_: number, response: ServerResponse) =>
    void work().then(() => response.writeHead(status).end());

const change = async (
  { unit, account }: World,
  { id }: WebhookRecord,
  changes: Partial<WebhookRecord>,
) => kept(await webhookService.update(unit, account, id, changes, () => undefined));

async function offAndOn(world: World, webhook: WebhookRecord): Promise<void> {
  for (const active of [false, true]) await change(world, webhook, { active });
}

const firstOf = async ({ log }: World, webhook: WebhookRecord) => kept((await log(webhook))[0]);

/** Asks for the webhook's first delivery, or another, by hand. */
async function again({ unit, account, log }: World, webhook: WebhookRecord, at = 0) {
  const delivery = (await log(webhook))[at];
  return kept(await redeliver(unit, account, webhook.id, delivery?.id ?? ""));
}

const eventsAt = ({ got }: HttpReceiver) => got.map(({ headers }) => headers["webhook-id"]);

const stateOf = (world: World, webhook: WebhookRecord) =>
  world.read(webhook).then(({ active, disabled_reason }) => [active, disabled_reason]);

/** So many, and no more after a while. */
async function staysAt(number: () => number, expected: number) {
  await eventually(async () => number() >= expected);
  await turns(50);
  assert.equal(number(), expected);
}

test("6.retry-schedule: all ten attempts in 75 h by the clock, byte-identical, then failed, in under a second", async () => {
  const { world, receiver, webhook } = await hooked(() => 500);
  await world.emit();
  assert.ok((await took(() => world.advance(100 * H))) < 1_000);
  const { status, next_attempt_at, attempts } = await firstOf(world, webhook);
  assert.deepEqual([status, next_attempt_at], ["failed", null]);
  const numbers = "1,2,3,4,5,6,7,8,9,10";
  assert.equal(attempts.map(({ number }) => number).join(), numbers);
  assert.equal(receiver.got.map(({ headers }) => headers["x-service-attempt"]).join(), numbers);
  assert.equal(new Set(receiver.got.map(({ body }) => body)).size, 1);
  const waits = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
  const times = attempts.map(({ at }) => Date.parse(at));
  for (const [at, wait] of waits.entries()) {
    const waited = ((times[at + 1] ?? 0) - (times[at] ?? 0)) / S;
    assert.ok(waited >= wait * 0.8 && waited <= wait * 1.2, `${waited} s instead of ${wait} s`);
  }
});

test("6.webhook-concurrency: first attempts go out in order, as many at once as asked for, one if nobody asks", async () => {
  for (const concurrency of [1, 3]) {
    const options = concurrency === 1 ? {} : { concurrency };
    const held: (() => void)[] = [];
    const { world, receiver, webhook } = await hooked(
      (_, response) => void held.push(() => response.end()),
      options,
    );
    const sent: string[] = [];
    for (let at = 0; at < 9; at += concurrency) {
      // Some are there before the first attempt, and some come while it is under way.
      for (const count of at === 0 ? [5, 9] : [9]) {
        for (let n = sent.length; n < count; n += 1) sent.push((await world.emit({ n })).id);
        await staysAt(() => held.length, concurrency);
      }
      assert.deepEqual(eventsAt(receiver).slice(at).sort(), sent.slice(at, at + concurrency));
      for (const answer of held.splice(0)) answer();
    }
    await world.idle();
    assert.deepEqual(await inShort(world, webhook), Array(9).fill("succeeded 1"));
  }
});

test("6.webhook-concurrency: nor more where it was switched off and on again while one is under way", async () => {
  const held: (() => void)[] = [];
  const { world, webhook } = await hooked((_, response) => void held.push(() => response.end()));
  for (let emitted = 0; emitted < 2; emitted += 1) {
    await offAndOn(world, webhook);
    await world.emit();
    await staysAt(() => held.length, 1);
  }
  held[0]?.();
  await staysAt(() => held.length, 2);
  held[1]?.();
  await world.idle();
  assert.deepEqual(await inShort(world, webhook), ["succeeded 1", "succeeded 1"]);
});

test("6.webhook-concurrency.order: what is due first goes first, be it a retry or a first attempt; what is asked for by hand goes before both", async () => {
  const { world, receiver, webhook } = await hooked((count) => (count === 1 ? 500 : 200));
  const first = await emitted(world, 1);
  world.clock.set(START + 10 * S);
  const second = await emitted(world, 2);
  assert.deepEqual(eventsAt(receiver), [first.id, first.id, second.id]);
  assert.deepEqual(await inShort(world, webhook), ["succeeded 2", "succeeded 1"]);
  await world.stop();
  const third = await world.emit({ n: 3 });
  await again(world, webhook, 1);
  const next = await outboxWorld({ store: world.real });
  next.clock.set(START + 10 * S);
  await next.outbox.resume();
  await next.idle();
  assert.deepEqual(eventsAt(receiver).slice(3), [second.id, third.id]);
});

test("6.webhook-concurrency.order: nor are retries of other webhooks before it where places are few", async () => {
  const held: ServerResponse[] = [];
  const hangs = (count: number, response: ServerResponse) =>
    count <= 200 ? 500 : void held.push(response);
  const { world } = await hooked(hangs, PATIENT, 200);
  await emitted(world);
  world.clock.set(START + 3 * S);
  const other = await httpReceiver(() => 500);
  const failing = await world.webhook(other.url);
  await change(world, failing, { events: ["app.deleted"] });
  const emit = () => world.emit({}, world.account, "app.deleted");
  await emit();
  await world.idle();
  // The retries of the 200 are due, and 192 have a place; that of the other webhook is not.
  world.clock.set(START + 6.5 * S);
  await world.outbox.resume();
  await staysAt(() => held.length, 192);
  await emit();
  await staysAt(() => other.got.length, 1);
  held[0]?.writeHead(200).end();
  await eventually(async () => held.length + other.got.length > 193);
  assert.equal(other.got.length, 2);
});

test("8.bounds.deliveries-at-once: 256 are under way, the rest wait as rows", async () => {
  const { world, receiver } = await hooked(() => undefined, PATIENT, 300);
  await world.emit();
  await staysAt(() => receiver.got.length, 256);
  assert.equal((await world.pending()).length, 300);
});

test("8.bounds.doubtful-deliveries: what failed before never takes all places", async () => {
  const { world, receiver: dead } = await hooked(
    (count) => (count <= 200 ? 500 : undefined),
    PATIENT,
    200,
  );
  await emitted(world);
  await world.emit();
  await staysAt(() => dead.got.length, 392);
  const well = await httpReceiver();
  await world.webhook(well.url);
  await world.emit();
  await staysAt(() => well.got.length, 1);
});

test("8.bounds.doubtful-deliveries: nor does one webhook, however many at once it may have", async () => {
  const { world, receiver: silent } = await hooked(() => undefined, {
    ...PATIENT,
    concurrency: 256,
  });
  for (let n = 0; n < 300; n += 1) await world.emit({ n });
  await staysAt(() => silent.got.length, 192);
  const down = await httpReceiver((count) => (count === 1 ? 500 : 200));
  const well = await world.webhook(down.url);
  await world.emit();
  await eventually(async () => (await inShort(world, well))[0] === "pending 1");
  // A first attempt that nobody answers is no doubtful one: the retry has its place.
  world.clock.set(START + 6.5 * S);
  await world.outbox.resume();
  await eventually(async () => (await inShort(world, well))[0] === "succeeded 2");
});

test("3.delivery-cancelled.gone: 410 fails its delivery, switches the webhook off and cancels the others", async () => {
  const { world, receiver, webhook } = await hooked((count) => (count === 1 ? 500 : 410));
  await emitted(world, 1);
  await world.emit({ n: 2 });
  await emitted(world, 3);
  assert.deepEqual(await stateOf(world, webhook), [false, "gone"]);
  assert.deepEqual(await inShort(world, webhook), ["cancelled 1", "failed 1", "cancelled 0"]);
  await world.advance(100 * H);
  assert.equal(receiver.got.length, 2);
  await change(world, webhook, { active: true });
  assert.deepEqual(await stateOf(world, webhook), [true, null]);
});

test("3.delivery-cancelled.gone: what waited then is cancelled, also where it is switched on before anybody looks", async () => {
  const { world, receiver, webhook } = await hooked();
  await world.stop();
  for (const n of [1, 2]) await world.emit({ n });
  const { id: deliveryId, event_type: type } = await firstOf(world, webhook);
  const { url } = webhook;
  await world.unit.run(({ tx, now, timestamp: at }) => {
    const answer = {
      duration_ms: 1,
      response_status: 410,
      response_body: "",
      error: "status",
    } as const;
    const attempt = { number: 1, trigger: "schedule", at, ...answer, error_detail: null } as const;
    return recordAttempt(
      tx,
      { deliveryId, type, url, attempt, timestamp_s: 0, retryAt: null },
      now,
    );
  });
  await change(world, webhook, { active: true });
  await (await besides(world)).idle();
  assert.deepEqual(await inShort(world, webhook), ["failed 1", "cancelled 0"]);
  assert.equal(receiver.got.length, 0);
});

test("3.delivery-cancelled.failing: a test delivery that failed does not begin the five days", async () => {
  const { world, webhook } = await hooked(() => 500);
  kept(await sendTest(world.unit, world.account, webhook.id, "app.created"));
  await world.idle();
  await world.advance(121 * H);
  await emitted(world);
  assert.deepEqual(await stateOf(world, webhook), [true, null]);
});

test("a success ends the count of failing days, and a new address does not answer for the failures of the old one", async () => {
  const { world, receiver, webhook } = await hooked((count) => (count === 2 ? 200 : 500));
  await world.emit();
  await world.advance(121 * H);
  assert.equal((await world.read(webhook)).first_failure_at, null);
  await world.emit();
  await world.advance(119 * H);
  await change(world, webhook, { url: `${receiver.url}/new` });
  await world.advance(2 * H);
  await emitted(world);
  assert.deepEqual(await stateOf(world, webhook), [true, null]);
});

test("switched off while an attempt is under way: a failure stays cancelled, a success counts", async () => {
  for (const [status, becomes] of Object.entries({ 500: "cancelled 1", 200: "succeeded 1" })) {
    const switchOff = () => {
      world.clock.set(START + 7);
      return change(world, webhook, { active: false });
    };
    const { world, webhook } = await hooked(afterwards(switchOff, Number(status)));
    await emitted(world);
    assert.deepEqual(await inShort(world, webhook), [becomes]);
    const { next_attempt_at, attempts } = await firstOf(world, webhook);
    assert.deepEqual([next_attempt_at, attempts[0]?.duration_ms], [null, 7]);
  }
});

test("what an address answers after the webhook has left it says nothing about the webhook", async () => {
  const leave = () => change(world, webhook, { url: "http://127.0.0.1:9/" });
  const { world, webhook } = await hooked(afterwards(leave, 410));
  await emitted(world);
  assert.deepEqual(await inShort(world, webhook), ["failed 1"]);
  assert.deepEqual(await stateOf(world, webhook), [true, null]);
});

test("4.webhook-endpoints.rotation: url and secret are read again at each attempt", async () => {
  const { world, receiver: before, webhook } = await hooked(() => 500);
  const now = await httpReceiver(() => 500);
  await emitted(world);
  await change(world, webhook, { url: now.url, secret: "second" });
  await world.advance(10 * S);
  const { headers, body } = now.got[0] ?? { headers: {}, body: "" };
  assert.ok(verifySignature(body, String(headers["x-service-signature"]), "second"));
  assert.equal(before.got.length, 1);
});

test("a failure by hand leaves the schedule where it was, neither lost nor doubled", async () => {
  const { world, webhook } = await hooked(() => 500);
  await emitted(world);
  const { next_attempt_at } = await firstOf(world, webhook);
  for (let times = 0; times < 2; times += 1) await again(world, webhook).then(world.idle);
  assert.equal((await firstOf(world, webhook)).next_attempt_at, next_attempt_at);
  await world.advance(100 * H);
  const { attempts } = await firstOf(world, webhook);
  assert.equal(attempts.filter(({ trigger }) => trigger === "schedule").length, 10);
  assert.deepEqual(await inShort(world, webhook), ["failed 12"]);
});

test("6.retry-schedule.retry-after: Retry-After to one by hand puts off the schedule, and never brings it forward", async () => {
  for (const [asked, next] of [
    ["3600", "2026-01-01T01:00:00.000Z"],
    ["1", undefined],
  ] as const) {
    const { world, webhook } = await hooked((count, response) => {
      if (count === 2) response.setHeader("Retry-After", asked);
      return count === 2 ? 429 : 500;
    });
    await emitted(world);
    const due = next ?? (await firstOf(world, webhook)).next_attempt_at;
    await again(world, webhook).then(world.idle);
    assert.equal((await firstOf(world, webhook)).next_attempt_at, due);
    await world.advance(2 * H);
    assert.equal((await firstOf(world, webhook)).attempts[2]?.at, due);
  }
});

/** Two or more deliveries of which the first is under way until `go` lets it be answered with a status. */
async function waiting(answer: (response: ServerResponse) => number, emits: number) {
  const held: ServerResponse[] = [];
  const { world, receiver, webhook } = await hooked((count, response) => {
    if (count === 1) return void held.push(response);
    return count === 2 ? answer(response) : 200;
  }, PATIENT);
  const ids: string[] = [];
  for (let n = 0; n < emits; n += 1) {
    ids.push((await world.emit({ n })).id);
    await eventually(async () => held.length === 1);
    world.clock.set(START + n + 1);
  }
  const go = (status: number) => {
    held[0]?.writeHead(status).end();
    return world.idle();
  };
  return { world, receiver, webhook, ids, go };
}

test("6.retry-schedule.retry-after: to one by hand before its turn holds up no retry of another", async () => {
  const later = (response: ServerResponse) => response.setHeader("Retry-After", "3600") && 429;
  const { world, webhook, go } = await waiting(later, 2);
  await again(world, webhook, 1);
  await go(500);
  await world.advance(H / 2);
  assert.deepEqual(await inShort(world, webhook), ["succeeded 2", "pending 1"]);
  await world.advance(H);
  assert.deepEqual(await inShort(world, webhook), ["succeeded 2", "succeeded 2"]);
});

test("one that failed by hand before its turn keeps its turn", async () => {
  const { world, receiver, webhook, ids, go } = await waiting(() => 500, 3);
  await again(world, webhook, 1);
  await go(200);
  const [first, second, third] = ids;
  assert.deepEqual(eventsAt(receiver), [first, second, second, third]);
});

test("one that is over goes once more and ends as it ends; a success before stays a success", async () => {
  const { world, webhook } = await hooked((count) => (count === 1 ? 200 : 500));
  await emitted(world);
  const { status, next_attempt_at } = await again(world, webhook);
  assert.deepEqual([status, next_attempt_at], ["pending", null]);
  await world.advance(100 * H);
  assert.deepEqual(await inShort(world, webhook), ["succeeded 2"]);
});

test("a delivery asked for by hand while its automatic attempt is under way is sent once more, and no more", async () => {
  const asking = afterwards(() => again(world, webhook), 200);
  const { world, webhook } = await hooked((count, response) =>
    count > 1 ? 500 : asking(count, response),
  );
  await emitted(world);
  await world.advance(100 * H);
  const { status, attempts } = await firstOf(world, webhook);
  assert.equal(attempts.map(({ trigger }) => trigger).join(), "schedule,manual");
  assert.equal(status, "succeeded");
});

test("what was due or under way at a stop is sent after the next start", async () => {
  const {
    world: first,
    receiver: silent,
    webhook,
  } = await hooked((n) => (n === 1 ? undefined : 200));
  await first.emit({ n: 1 });
  await first.emit({ n: 2 });
  await eventually(async () => silent.got.length > 0);
  await first.stop();
  assert.deepEqual(await inShort(first, webhook), ["pending 0", "pending 0"]);
  await (await besides(first)).idle();
  assert.deepEqual(await inShort(first, webhook), ["succeeded 1", "succeeded 1"]);
  assert.equal(silent.got.length, 3);
});

/** One event whose outcome the store refuses, until there is room. */
async function refusedOutcome() {
  const disk = { full: false };
  const over = (store: Store): Partial<Store> => ({
    transact: (work) =>
      disk.full ? Promise.reject(new StorageUnavailable("full")) : store.transact(work),
  });
  const fills = () => {
    disk.full = true;
    return 200;
  };
  const made = await hooked(fills, { over });
  await emitted(made.world);
  return { ...made, disk };
}

test("an outcome that the store refuses is written down later, each outage told once, and nothing is sent twice, by nobody", async () => {
  const { world, receiver, webhook, disk } = await refusedOutcome();
  const other = await besides(world);
  await other.advance(5 * S);
  await world.advance(5 * S);
  assert.deepEqual(await inShort(world, webhook), ["pending 0"]);
  assert.equal(world.errors.length, 1);
  disk.full = false;
  await world.advance(1 * S);
  await other.advance(5 * S);
  assert.deepEqual(await inShort(world, webhook), ["succeeded 1"]);
  assert.equal(receiver.got.length, 1);
  await other.stop();
  await emitted(world);
  assert.equal(world.errors.length, 2);
});

test("an attempt is noted once, also where the store could not say whether it was written", async (t) => {
  const losing: Store["transact"] = async (work) => {
    await world.store.transact(work);
    throw new Error("the connection is lost");
  };
  const { world, webhook } = await hooked((count) => {
    if (count === 1) t.mock.method(world.store, "transact", losing, { times: 1 });
    return 500;
  });
  await emitted(world);
  await world.advance(1 * S);
  assert.deepEqual([await inShort(world, webhook), world.errors.length], [["pending 1"], 1]);
});

test("what could not be written down before a stop is not written down after it", async () => {
  const { world, webhook, disk } = await refusedOutcome();
  await world.stop();
  disk.full = false;
  await world.advance(1 * S);
  assert.deepEqual(await inShort(world, webhook), ["pending 0"]);
});

test("what cannot be read or leased, or another process holds, is asked for again after a second; a failure is told", async (t) => {
  const broken = () => Promise.reject(new Error("broken"));
  for (const [way, first, reported] of [
    ["page", broken, "Error: broken"],
    ["lease", broken, "Error: broken"],
    ["lease", async () => undefined, ""],
  ] as const) {
    const { world, receiver } = await hooked();
    const asked = t.mock.method(world.store, way).mock;
    asked.mockImplementationOnce(first);
    await emitted(world);
    await world.advance(1 * S - 1);
    assert.deepEqual(
      [asked.callCount(), receiver.got.length, world.errors.join()],
      [1, 0, reported],
    );
    await world.advance(1);
    assert.equal(receiver.got.length, 1);
  }
});

test("a queue that cannot be read is asked for once a second, however often it is told of, and after a stop no more", async (t) => {
  const { world } = await hooked();
  const asked = t.mock.method(world.store, "page", () => Promise.reject(new Error("broken"))).mock;
  for (let n = 0; n < 9; n += 1) {
    await emitted(world, n);
    await world.advance(100);
  }
  const before = asked.callCount();
  await world.advance(10 * S);
  assert.equal(asked.callCount() - before, 10);
  await world.stop();
  assert.deepEqual(await world.clock.advance(2 * S), []);
});

test("the places of 256 whose rows another process holds go to the one that waits, and not a second later", async (t) => {
  const { world, receiver } = await hooked(undefined, {}, 257);
  const asked = t.mock.method(world.store, "lease").mock;
  for (let at = 0; at < 256; at += 1) asked.mockImplementationOnce(async () => undefined, at);
  await emitted(world);
  // One for the turn of its webhook, one for itself.
  assert.deepEqual([asked.callCount(), receiver.got.length], [256 + 2, 1]);
});

/** Leases are taken so. */
const leasing = (
  lease: (take: () => ReturnType<Store["lease"]>) => ReturnType<Store["lease"]>,
): WorldOptions => ({
  over: (store) => ({ lease: (...asked) => lease(() => store.lease(...asked)) }),
});

test("a row that another process has sent meanwhile is looked at again: its retry is not made before Retry-After", async () => {
  const { world, receiver, webhook } = await hooked((count, response) => {
    if (count === 1) response.setHeader("Retry-After", "3600");
    return count === 1 ? 429 : 200;
  });
  // Both see the row when it is due; this one gets to it when the other is done with it.
  const late = leasing((take) => world.idle().then(take));
  const two = await besides(world, late);
  await world.emit();
  await two.idle();
  assert.equal(receiver.got.length, 1);
  assert.equal((await firstOf(world, webhook)).next_attempt_at, "2026-01-01T01:00:00.000Z");
  await two.advance(H - 1);
  assert.deepEqual([receiver.got.length, await two.pending()], [1, []]);
  await two.advance(1);
  assert.deepEqual(await inShort(world, webhook), ["succeeded 2"]);
});

test("a lease that takes its time to end holds up nothing behind a row that another process has sent meanwhile", async () => {
  let taken = 0;
  // For one delivery: its webhook's and its own.
  const once = leasing(async (take) => (++taken > 2 ? undefined : take()));
  const { world: one, webhook } = await hooked(undefined, once);
  const slow = leasing(async (take) => {
    await one.idle();
    const lease = await take();
    return lease && { release: () => turns(50).then(lease.release) };
  });
  const two = await besides(one, slow);
  await one.emit({ n: 1 });
  await one.emit({ n: 2 });
  await two.idle();
  assert.deepEqual(await inShort(one, webhook), Array(2).fill("succeeded 1"));
});

test("a lease whose end fails is told of and holds up nothing behind it", async () => {
  const failing = leasing(async (take) => {
    const lease = await take();
    return (
      lease && { release: () => lease.release().then(() => Promise.reject(new Error("lost"))) }
    );
  });
  const { world, webhook } = await hooked(undefined, failing);
  await world.emit({ n: 1 });
  await emitted(world, 2);
  assert.deepEqual(await inShort(world, webhook), Array(2).fill("succeeded 1"));
  assert.match(String(world.errors.splice(0)), /lost.*lost/);
});

test("a lease may be an object that needs to be asked by its own method", async () => {
  const own = leasing(async (take) => {
    const lease = await take();
    return lease && { lease, release: releasing };
  });
  const { world, webhook } = await hooked(undefined, own);
  await world.emit({ n: 1 });
  await emitted(world, 2);
  assert.deepEqual(await inShort(world, webhook), Array(2).fill("succeeded 1"));
});

function releasing(this: { readonly lease: Lease }): Promise<void> {
  return this.lease.release();
}

test("a claimed row whose webhook was switched off meanwhile is not sent", async () => {
  const switchedOff = leasing((take) => change(world, webhook, { active: false }).then(take));
  const { world, receiver, webhook } = await hooked(undefined, switchedOff);
  await emitted(world);
  assert.deepEqual([await inShort(world, webhook), receiver.got.length], [["cancelled 0"], 0]);
});

const MANY = 2_500;

/** So many deliveries that wait for their retry. */
const failedOnce = (world: World, webhook: WebhookRecord, count: number) =>
  world.unit.run(async (w) => {
    const event = await recordEvent(w, world.account, "app.updated", {});
    const next_attempt_at = toIso(w.now + H);
    for (let n = 0; n < count; n += 1)
      await putDelivery(w.tx, {
        ...createDelivery(w, webhook, event),
        next_attempt_at,
        queue_position: `2${next_attempt_at}`,
      });
    return null;
  });

const removed = async ({ unit, account }: World, { id }: WebhookRecord) =>
  assert.equal(kept(await webhookService.delete(unit, account, id, () => undefined)).id, id);

const cancelledOf = ({ store }: World, { id }: WebhookRecord) =>
  store.count(deliveries, "webhook_status", [id, "cancelled"]);

test("3.delivery-cancelled: switched off or removed with thousands pending: 100 at most in one turn of the event loop", async () => {
  for (const end of ["off", "removed"]) {
    const world = await outboxWorld();
    const webhook = await world.webhook("http://127.0.0.1:9/");
    // It has been off before, and has another queue since.
    await offAndOn(world, webhook);
    await failedOnce(world, await world.read(webhook), MANY);
    await world.idle();
    await (end === "off" ? change(world, webhook, { active: false }) : removed(world, webhook));
    assert.equal(await cancelledOf(world, webhook), 0, "nothing in the transaction that answers");
    let before = 0;
    while (world.background.busy) {
      await turns(1);
      const now = await cancelledOf(world, webhook);
      assert.ok(now - before <= 100, `${now - before} in one turn`);
      before = now;
    }
    assert.equal(before, MANY);
    assert.deepEqual(await world.pending(), []);
  }
});

test("3.delivery-cancelled: switched off and on again at once: what was pending is not sent, what comes then is", async () => {
  const { world, receiver, webhook } = await hooked((count) => (count === 1 ? 500 : 200));
  await offAndOn(world, webhook); // the second time as well
  await emitted(world, 1);
  await failedOnce(world, await world.read(webhook), 300);
  await offAndOn(world, webhook);
  const { status, next_attempt_at, event_id } = await again(world, webhook);
  assert.deepEqual([status, next_attempt_at], ["pending", null]);
  const event = await world.emit({ n: 2 });
  await world.advance(100 * H);
  assert.equal(await cancelledOf(world, webhook), 300);
  assert.deepEqual(eventsAt(receiver), [event_id, event_id, event.id]);
  assert.deepEqual(await stateOf(world, webhook), [true, null]);
});

test("3.delivery-cancelled: what a crash has left of them is cancelled after the next start", async () => {
  const first = await outboxWorld();
  const webhook = await first.webhook("http://127.0.0.1:9/");
  await failedOnce(first, webhook, 300);
  await first.idle();
  await first.stop();
  await removed(first, webhook);
  assert.equal(await cancelledOf(first, webhook), 0);
  await (await besides(first)).idle();
  assert.equal(await cancelledOf(first, webhook), 300);
});

test("3.delivery-cancelled: so is what a stop has left behind, though the next queue is under way", async () => {
  const { world, webhook } = await hooked(() => 500);
  await emitted(world);
  await world.stop();
  await offAndOn(world, webhook);
  const other = await outboxWorld({ store: world.real });
  await emitted(other);
  await other.outbox.resume();
  await other.idle();
  assert.deepEqual(await inShort(other, webhook), ["cancelled 1", "pending 1"]);
});
