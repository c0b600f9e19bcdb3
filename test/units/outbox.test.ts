// The outbox (src/delivery/outbox.ts) over real sockets with a clock moved by hand (contract, part 6).
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { NO_FAILURE } from "../../src/delivery/failures.ts";
import { createHttpSender, type Sender, withoutResponse } from "../../src/delivery/sender.ts";
import { createDelivery, putDelivery, recordAttempt } from "../../src/domain/deliveries.ts";
import { recordEvent } from "../../src/domain/events.ts";
import { deliveries, type WebhookRecord, webhooks } from "../../src/domain/model.ts";
import { ALL_RECORDS, StorageUnavailable, type Store } from "../../src/domain/store.ts";
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
import { eventually, promised, turns } from "../support/wait.ts";

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

/** A receiver that keeps every request waiting until a test responds. */
async function holding(options?: WorldOptions, webhooks = 1) {
  const held: ServerResponse[] = [];
  const hold = (_: number, response: ServerResponse) => void held.push(response);
  const made = await hooked(hold, { ...PATIENT, ...options }, webhooks);
  return { ...made, held };
}

/** Starts the service again on the same store, after a stop or a crash. */
const restarted = ({ real: store }: World) => outboxWorld({ store });

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

const removed = async ({ unit, account }: World, { id }: WebhookRecord) =>
  kept(await webhookService.delete(unit, account, id, () => undefined));

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

test("6.retry-schedule: the retries of several webhooks go out exactly when they are due, in order, and not before", async () => {
  const { world, receiver } = await hooked(() => 500, {}, 9);
  await emitted(world);
  const planned = async () =>
    (await world.real.page(deliveries, "pending", ["pending"], ALL_RECORDS)).map((row) =>
      String(row.next_attempt_at),
    );
  const due = await planned();
  assert.equal(new Set(due).size, 9);
  const ran = await world.advance(10 * S);
  assert.deepEqual(
    ran.map(({ at }) => at),
    due,
  );
  assert.equal(receiver.got.length, 18);
  // A new event makes every webhook look for work a millisecond before the next retry.
  const [next = ""] = await planned();
  await world.advance(Date.parse(next) - world.clock.now() - 1);
  await emitted(world);
  assert.equal(receiver.got.length, 27);
  await world.advance(1);
  assert.equal(receiver.got.length, 28);
});

test("a delivery that the sender defers does not hold up others, and is sent once the sender takes it", async () => {
  const { kept: released, keep: release } = promised();
  let isReleased = false;
  let held = "";
  const sender: Sender = {
    async send(_, { id }) {
      held ||= id;
      return id === held && !isReleased
        ? { again: released }
        : { ...withoutResponse(NO_FAILURE), response_status: 200 };
    },
    close: () => {},
  };
  const world = await outboxWorld({ sender });
  const webhook = await world.webhook("http://127.0.0.1:9/");
  await emitted(world, 1);
  await emitted(world, 2);
  assert.deepEqual(await inShort(world, webhook), ["pending 0", "succeeded 1"]);
  isReleased = true;
  release();
  await world.idle();
  assert.deepEqual(await inShort(world, webhook), ["succeeded 1", "succeeded 1"]);
});

test("6.webhook-concurrency: first attempts go out in order, one at a time", async () => {
  const { world, receiver, webhook, held } = await holding();
  const sent: string[] = [];
  for (let at = 0; at < 9; at += 1) {
    // Some deliveries exist before the first attempt; others arrive while it is in flight.
    for (const count of at === 0 ? [5, 9] : [9]) {
      for (let n = sent.length; n < count; n += 1) sent.push((await world.emit({ n })).id);
      await staysAt(() => held.length, at + 1);
    }
    held[at]?.end();
  }
  await world.idle();
  assert.deepEqual(eventsAt(receiver), sent);
  assert.deepEqual(await inShort(world, webhook), Array(9).fill("succeeded 1"));
});

test("6.webhook-concurrency: disabling and re-enabling a webhook during an attempt starts no second attempt", async () => {
  const { world, webhook, held } = await holding();
  for (let emitted = 0; emitted < 2; emitted += 1) {
    await offAndOn(world, webhook);
    await world.emit();
    await staysAt(() => held.length, 1);
  }
  held[0]?.end();
  await staysAt(() => held.length, 2);
  held[1]?.end();
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
  const next = await restarted(world);
  await next.advance(10 * S);
  assert.deepEqual(eventsAt(receiver).slice(3), [second.id, third.id]);
});

test("6.webhook-concurrency: a webhook with many unanswered deliveries delays no other webhook", async () => {
  const { world, held } = await holding();
  for (let n = 0; n < 300; n += 1) await world.emit({ n });
  await staysAt(() => held.length, 1);
  const responsive = await httpReceiver((count) => (count === 1 ? 500 : 200));
  const webhook = await world.webhook(responsive.url);
  await world.emit();
  await eventually(async () => (await inShort(world, webhook))[0] === "pending 1");
  // The retry is not delayed either, although the deliveries of the other webhook are due before it.
  void world.clock.advance(10 * S);
  await eventually(async () => (await inShort(world, webhook))[0] === "succeeded 2");
});

test("8.bounds.deliveries-at-once: at most 256 deliveries are in flight; the rest wait as rows in the store", async () => {
  const { world, held } = await holding({}, 300);
  await world.emit();
  await staysAt(() => held.length, 256);
  assert.equal((await world.pending()).length, 300);
  for (const response of held.splice(0, 10)) response.end();
  await staysAt(() => held.length, 256);
  await world.stop();
  assert.equal((await world.pending()).length, 290);
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

test("3.delivery-cancelled.gone: re-enabling a webhook right after a 410 response does not revive its deliveries", async () => {
  const { world, receiver, webhook } = await hooked();
  await world.stop();
  for (const n of [1, 2]) await world.emit({ n });
  const { id: deliveryId, event_type: type } = await firstOf(world, webhook);
  await world.unit.run((ctx) =>
    recordAttempt(ctx, {
      deliveryId,
      type,
      url: webhook.url,
      attempt: {
        number: 1,
        trigger: "schedule",
        at: ctx.timestamp,
        duration_ms: 1,
        response_status: 410,
        response_body: "",
        error: "status",
        error_detail: null,
      },
      timestamp_s: 0,
      retryAt: null,
    }),
  );
  await change(world, webhook, { active: true });
  await (await restarted(world)).idle();
  assert.deepEqual(await inShort(world, webhook), ["failed 1", "cancelled 0"]);
  assert.equal(receiver.got.length, 0);
});

for (const [status, expected, reenabled] of [
  [500, "cancelled 1", false],
  [500, "cancelled 1", true],
  [200, "succeeded 1", false],
] as const)
  test(`a delivery whose webhook is disabled${reenabled ? " and re-enabled" : ""} during an attempt is ${expected} after a ${status} response`, async () => {
    const disable = async () => {
      world.clock.set(START + 7);
      await change(world, webhook, { active: false });
      if (reenabled) await change(world, webhook, { active: true });
    };
    const { world, webhook } = await hooked(afterwards(disable, status));
    await emitted(world);
    await world.advance(100 * H);
    assert.deepEqual(await inShort(world, webhook), [expected]);
    const { next_attempt_at, attempts } = await firstOf(world, webhook);
    assert.deepEqual([next_attempt_at, attempts[0]?.duration_ms], [null, 7]);
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
  assert.match(String(headers["webhook-signature"]), /^v1,\S+$/);
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

for (const [asked, next] of [
  ["3600", "2026-01-01T01:00:00.000Z"],
  ["1", undefined],
] as const)
  test(`6.retry-schedule.retry-after: Retry-After of ${asked} s on a manual redelivery can only postpone the scheduled retry`, async () => {
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
  });

/** Creates deliveries at different times; the first stays in flight until `go` sends its response with a status. */
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

test("a redelivery requested after a cancellation during the attempt makes one manual attempt, without retries", async () => {
  const redeliverAfterCancellation = async () => {
    await offAndOn(world, webhook);
    await again(world, webhook);
  };
  const answer = afterwards(redeliverAfterCancellation, 500);
  const { world, webhook } = await hooked((count, response) =>
    count > 1 ? 500 : answer(count, response),
  );
  await emitted(world);
  await world.advance(100 * H);
  assert.deepEqual(await inShort(world, webhook), ["failed 2"]);
});

test("deliveries due or in flight at shutdown are sent after the next start", async () => {
  const { world, receiver, webhook } = await hooked((n) => (n === 1 ? undefined : 200));
  await world.emit({ n: 1 });
  await world.emit({ n: 2 });
  await eventually(async () => receiver.got.length > 0);
  await world.stop();
  assert.deepEqual(await inShort(world, webhook), ["pending 0", "pending 0"]);
  // The same workers can be started again, as `reset` and `restore` do.
  await world.workers.start();
  await world.idle();
  assert.deepEqual(await inShort(world, webhook), ["succeeded 1", "succeeded 1"]);
  assert.equal(receiver.got.length, 3);
});

/** Creates one event whose result the store cannot save until `disk.full` is false. */
async function unsavedResult() {
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

test("a result that the store rejects is saved later, each outage is reported once, and the delivery is not sent again", async () => {
  const { world, receiver, webhook, disk } = await unsavedResult();
  await world.advance(5 * S);
  assert.deepEqual(await inShort(world, webhook), ["pending 0"]);
  assert.equal(world.errors.length, 1);
  disk.full = false;
  await world.advance(1 * S);
  assert.deepEqual(await inShort(world, webhook), ["succeeded 1"]);
  assert.equal(receiver.got.length, 1);
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
  const { world, webhook, disk } = await unsavedResult();
  await world.stop();
  disk.full = false;
  await world.advance(1 * S);
  assert.deepEqual(await inShort(world, webhook), ["pending 0"]);
});

test("a queue that cannot be read is reported and read again once a second, regardless of notifications, and not after a stop", async (t) => {
  const { world, receiver, webhook } = await hooked();
  await emitted(world);
  const notify = () => world.parts.notifications.emit("queue", webhook.id);
  const page = t.mock.method(world.store, "page", () => Promise.reject(new Error("broken"))).mock;
  for (let n = 0; n < 9; n += 1) {
    notify();
    await world.advance(100);
  }
  assert.deepEqual([page.callCount(), world.errors.join()], [1, "Error: broken"]);
  await world.advance(10 * S);
  assert.equal(page.callCount(), 11);
  page.restore();
  await emitted(world);
  await world.advance(1 * S);
  assert.equal(receiver.got.length, 2);
  await world.stop();
  notify();
  assert.deepEqual(await world.clock.advance(2 * S), []);
});

const MANY = 2_500;

/** Creates `count` pending deliveries that wait for their retry. */
const failedOnce = (world: World, webhook: WebhookRecord, count: number) =>
  world.unit.run(async (ctx) => {
    const event = await recordEvent(ctx, world.account, "app.updated", {});
    const due_at = toIso(ctx.now + H);
    for (let n = 0; n < count; n += 1)
      await putDelivery(ctx, {
        ...createDelivery(ctx, webhook, event),
        next_attempt_at: due_at,
        due_at,
      });
  });

const cancelledOf = ({ store }: World, { id }: WebhookRecord) =>
  store.count(deliveries, "webhook_status", [id, "cancelled"]);

for (const end of ["disabling", "deleting"] as const)
  test(`3.delivery-cancelled: ${end} a webhook cancels thousands of deliveries behind the response, during an attempt too`, async () => {
    const { world, webhook, held } = await holding();
    await world.emit();
    await eventually(async () => held.length === 1);
    await failedOnce(world, webhook, MANY);
    await (end === "disabling"
      ? change(world, webhook, { active: false })
      : removed(world, webhook));
    assert.equal(await cancelledOf(world, webhook), 0);
    await eventually(async () => (await cancelledOf(world, webhook)) === MANY + 1);
    assert.deepEqual(await world.pending(), []);
    await world.stop();
  });

test("3.delivery-cancelled: after a quick disable and re-enable, only deliveries created afterwards are sent", async () => {
  const { world, receiver, webhook } = await hooked((count) => (count === 1 ? 500 : 200));
  await offAndOn(world, webhook);
  await emitted(world, 1);
  await failedOnce(world, webhook, 300);
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
  const { world, webhook } = await hooked();
  await failedOnce(world, webhook, 300);
  await world.idle();
  await world.stop();
  await world.real.transact((tx) => tx.remove(webhooks, webhook.id));
  assert.equal(await cancelledOf(world, webhook), 0);
  await (await restarted(world)).idle();
  assert.equal(await cancelledOf(world, webhook), 300);
});

test("a test delivery goes to a disabled webhook, is tried once, and is not cancelled by disabling", async () => {
  const { world, receiver, webhook } = await hooked(() => 500);
  await world.stop();
  kept(await sendTest(world.unit, world.account, webhook.id, "data.processed"));
  await change(world, webhook, { active: false });
  const next = await restarted(world);
  await next.advance(100 * H);
  assert.deepEqual(await inShort(next, webhook), ["failed 1"]);
  assert.equal(receiver.got.length, 1);
});
