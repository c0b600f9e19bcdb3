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

/** Creates a world with one or more webhooks that share a receiver with these responses. */
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

/** Starts another process on the same store, which picks up pending deliveries. */
async function besides({ real: store }: World, options?: WorldOptions) {
  const world = await outboxWorld({ ...options, store });
  await world.outbox.resume();
  return world;
}

/** Emits an event and waits until its due deliveries have been attempted. */
async function emitted(world: World, n = 1) {
  const event = await world.emit({ n });
  await world.idle();
  return event;
}

/** Summarizes the webhook's deliveries: "pending 1" is a pending delivery with one attempt. */
const inShort = async (world: World, webhook: WebhookRecord) =>
  (await world.log(webhook)).map(({ status, attempts }) => `${status} ${attempts.length}`);

/** Responds with this status once `work` is done. */
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

/** Requests a manual redelivery of the webhook's first delivery, or of the one at index `at`. */
async function again({ unit, account, log }: World, webhook: WebhookRecord, at = 0) {
  const delivery = (await log(webhook))[at];
  return kept(await redeliver(unit, account, webhook.id, delivery?.id ?? ""));
}

const eventsAt = ({ got }: HttpReceiver) => got.map(({ headers }) => headers["webhook-id"]);

const stateOf = (world: World, webhook: WebhookRecord) =>
  world.read(webhook).then(({ active, disabled_reason }) => [active, disabled_reason]);

/** Asserts that the number reaches `expected` and stays there for 50 turns of the event loop. */
async function staysAt(number: () => number, expected: number) {
  await eventually(async () => number() >= expected);
  await turns(50);
  assert.equal(number(), expected);
}

test("6.retry-schedule: ten byte-identical attempts within 75 h of clock time, then the delivery fails, in under a second", async () => {
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

test("6.webhook-concurrency: first attempts go out in order, with as many in flight as the option allows, by default one", async () => {
  for (const concurrency of [1, 3]) {
    const options = concurrency === 1 ? {} : { concurrency };
    const held: (() => void)[] = [];
    const { world, receiver, webhook } = await hooked(
      (_, response) => void held.push(() => response.end()),
      options,
    );
    const sent: string[] = [];
    for (let at = 0; at < 9; at += concurrency) {
      // Some deliveries exist before the first attempt; others arrive while it is in flight.
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

test("6.webhook-concurrency: disabling and re-enabling a webhook during an attempt does not raise its concurrency", async () => {
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

test("6.webhook-concurrency.order: retries and first attempts go out by due time; manual redeliveries precede both", async () => {
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

test("6.webhook-concurrency.order: retries of other webhooks do not precede an earlier due delivery when slots are scarce", async () => {
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
  // The retries of the 200 webhooks are due and 192 hold slots; the other webhook's retry is not due yet.
  world.clock.set(START + 6.5 * S);
  await world.outbox.resume();
  await staysAt(() => held.length, 192);
  await emit();
  await staysAt(() => other.got.length, 1);
  held[0]?.writeHead(200).end();
  await eventually(async () => held.length + other.got.length > 193);
  assert.equal(other.got.length, 2);
});

test("8.bounds.deliveries-at-once: at most 256 deliveries are in flight; the rest wait as rows in the store", async () => {
  const { world, receiver } = await hooked(() => undefined, PATIENT, 300);
  await world.emit();
  await staysAt(() => receiver.got.length, 256);
  assert.equal((await world.pending()).length, 300);
});

test("8.bounds.doubtful-deliveries: deliveries that failed before never occupy all slots", async () => {
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

test("8.bounds.doubtful-deliveries: one webhook never occupies all slots, whatever its concurrency", async () => {
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
  // A first attempt without a response does not use a retry slot, so the retry can be sent.
  world.clock.set(START + 6.5 * S);
  await world.outbox.resume();
  await eventually(async () => (await inShort(world, well))[0] === "succeeded 2");
});

test("3.delivery-cancelled.gone: a 410 response fails the delivery, disables the webhook and cancels its pending deliveries", async () => {
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

test("3.delivery-cancelled.gone: a 410 response cancels pending deliveries even if the webhook is re-enabled before the outbox runs", async () => {
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

test("3.delivery-cancelled.failing: a failed test delivery does not start the five-day failure period", async () => {
  const { world, webhook } = await hooked(() => 500);
  kept(await sendTest(world.unit, world.account, webhook.id, "app.created"));
  await world.idle();
  await world.advance(121 * H);
  await emitted(world);
  assert.deepEqual(await stateOf(world, webhook), [true, null]);
});

test("a success or a new URL resets the webhook's failure period", async () => {
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

test("when a webhook is disabled during an attempt, a failure leaves the delivery cancelled and a success counts", async () => {
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

test("a response from the webhook's previous URL does not change the webhook's state", async () => {
  const leave = () => change(world, webhook, { url: "http://127.0.0.1:9/" });
  const { world, webhook } = await hooked(afterwards(leave, 410));
  await emitted(world);
  assert.deepEqual(await inShort(world, webhook), ["failed 1"]);
  assert.deepEqual(await stateOf(world, webhook), [true, null]);
});

test("4.webhook-endpoints.rotation: each attempt uses the webhook's current URL and secret", async () => {
  const { world, receiver: before, webhook } = await hooked(() => 500);
  const now = await httpReceiver(() => 500);
  await emitted(world);
  await change(world, webhook, { url: now.url, secret: "second" });
  await world.advance(10 * S);
  const { headers, body } = now.got[0] ?? { headers: {}, body: "" };
  assert.ok(verifySignature(body, String(headers["x-service-signature"]), "second"));
  assert.equal(before.got.length, 1);
});

test("a failed manual redelivery leaves the retry schedule unchanged", async () => {
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

test("6.retry-schedule.retry-after: Retry-After on a manual redelivery can only postpone the scheduled retry", async () => {
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

/** Creates two or more deliveries; the first stays in flight until `go` sends its response with a status. */
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

test("6.retry-schedule.retry-after: Retry-After on an early manual redelivery does not hold up another delivery's retry", async () => {
  const later = (response: ServerResponse) => response.setHeader("Retry-After", "3600") && 429;
  const { world, webhook, go } = await waiting(later, 2);
  await again(world, webhook, 1);
  await go(500);
  await world.advance(H / 2);
  assert.deepEqual(await inShort(world, webhook), ["succeeded 2", "pending 1"]);
  await world.advance(H);
  assert.deepEqual(await inShort(world, webhook), ["succeeded 2", "succeeded 2"]);
});

test("a delivery whose early manual redelivery failed keeps its place in the queue", async () => {
  const { world, receiver, webhook, ids, go } = await waiting(() => 500, 3);
  await again(world, webhook, 1);
  await go(200);
  const [first, second, third] = ids;
  assert.deepEqual(eventsAt(receiver), [first, second, second, third]);
});

test("a manual redelivery of a finished delivery makes one attempt; an earlier success stays a success", async () => {
  const { world, webhook } = await hooked((count) => (count === 1 ? 200 : 500));
  await emitted(world);
  const { status, next_attempt_at } = await again(world, webhook);
  assert.deepEqual([status, next_attempt_at], ["pending", null]);
  await world.advance(100 * H);
  assert.deepEqual(await inShort(world, webhook), ["succeeded 2"]);
});

test("a manual redelivery requested during an automatic attempt makes exactly one more attempt", async () => {
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

test("deliveries due or in flight at shutdown are sent after the next start", async () => {
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

/** Creates one event whose delivery result the store cannot save until `disk.full` is false. */
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

test("a result that the store rejects is saved later, each outage is reported once, and no process sends the delivery again", async () => {
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

test("an attempt is recorded once even if the store fails after the commit", async (t) => {
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

test("a result that could not be saved before the stop is not saved afterwards", async () => {
  const { world, webhook, disk } = await refusedOutcome();
  await world.stop();
  disk.full = false;
  await world.advance(1 * S);
  assert.deepEqual(await inShort(world, webhook), ["pending 0"]);
});

test("a failed read or lease is reported and retried after one second, as is a lease held by another process", async (t) => {
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

test("a queue that cannot be read is read again once a second, regardless of notifications, and not after a stop", async (t) => {
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

test("slots of 256 deliveries leased by another process go to the waiting delivery without a one-second delay", async (t) => {
  const { world, receiver } = await hooked(undefined, {}, 257);
  const asked = t.mock.method(world.store, "lease").mock;
  for (let at = 0; at < 256; at += 1) asked.mockImplementationOnce(async () => undefined, at);
  await emitted(world);
  // The delivery that is sent takes two leases: its webhook's and its own.
  assert.deepEqual([asked.callCount(), receiver.got.length], [256 + 2, 1]);
});

/** Wraps the store's `lease`. */
const leasing = (
  lease: (take: () => ReturnType<Store["lease"]>) => ReturnType<Store["lease"]>,
): WorldOptions => ({
  over: (store) => ({ lease: (...asked) => lease(() => store.lease(...asked)) }),
});

test("a delivery that another process has just sent is read again, so its retry waits for Retry-After", async () => {
  const { world, receiver, webhook } = await hooked((count, response) => {
    if (count === 1) response.setHeader("Retry-After", "3600");
    return count === 1 ? 429 : 200;
  });
  // Both processes see the due row; this one takes the lease only after the other has finished.
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

test("a slow lease release does not hold up deliveries behind one that another process has just sent", async () => {
  let taken = 0;
  // Allows the two leases of one delivery: its webhook's and its own.
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

test("a failed lease release is reported and does not hold up later deliveries", async () => {
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

test("a lease can be an object whose release method depends on `this`", async () => {
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

test("a leased delivery is not sent if its webhook was disabled meanwhile", async () => {
  const switchedOff = leasing((take) => change(world, webhook, { active: false }).then(take));
  const { world, receiver, webhook } = await hooked(undefined, switchedOff);
  await emitted(world);
  assert.deepEqual([await inShort(world, webhook), receiver.got.length], [["cancelled 0"], 0]);
});

const MANY = 2_500;

/** Creates `count` pending deliveries that wait for their retry. */
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

test("3.delivery-cancelled: disabling or deleting a webhook cancels thousands of deliveries in steps of at most 100 per turn", async () => {
  for (const end of ["off", "removed"]) {
    const world = await outboxWorld();
    const webhook = await world.webhook("http://127.0.0.1:9/");
    // The webhook was disabled once before, so it has a new queue.
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

test("3.delivery-cancelled: after a quick disable and re-enable, only deliveries created afterwards are sent", async () => {
  const { world, receiver, webhook } = await hooked((count) => (count === 1 ? 500 : 200));
  await offAndOn(world, webhook); // repeats it
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

test("3.delivery-cancelled: cancellations interrupted by a crash are completed after the next start", async () => {
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

test("3.delivery-cancelled: cancellations left by a stop are completed while the webhook's next queue is in use", async () => {
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
