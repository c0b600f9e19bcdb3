// The outbox (src/delivery/outbox.ts) over real sockets with a clock moved by hand; Retry-After, and retry schedules given
// as durations.
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { parseRetryAfter, parseRetrySchedule } from "../../src/delivery/outbox.ts";
import { createHttpSender } from "../../src/delivery/sender.ts";
import { createDelivery, putDelivery, recordEvent } from "../../src/domain/events.ts";
import { deliveries, events, type WebhookRecord, webhooks } from "../../src/domain/model.ts";
import { ALL_RECORDS, StorageUnavailable } from "../../src/domain/store.ts";
import { redeliver, webhookService } from "../../src/domain/webhooks.ts";
import { toIso } from "../../src/lib/clock.ts";
import { verifySignature } from "../../src/lib/signature.ts";
import { eventually, httpReceiver, turns } from "../support/index.ts";
import { kept, outboxWorld, START, type World } from "../support/outbox-world.ts";

const S = 1_000;
const H = 3_600 * S;
const PATIENT = { sender: createHttpSender({ policy: "local", timeout_ms: 60_000 }) };

/** Creates a world with one or more webhooks that share a receiver with these responses. */
async function hooked(
  answer?: Parameters<typeof httpReceiver>[0],
  options?: Parameters<typeof outboxWorld>[0],
  webhookCount = 1,
) {
  const world = await outboxWorld(options);
  const { unitOfWork, account, store } = world;
  const receiver = await httpReceiver(answer);
  for (let more = 1; more < webhookCount; more += 1) await world.webhook(receiver.url);
  const webhook = await world.webhook(receiver.url);
  const { id } = webhook;
  const first = async () => kept((await world.log(webhook))[0]);
  const update = async (changes: Partial<WebhookRecord>) =>
    kept(await webhookService.update(unitOfWork, account, id, changes, () => undefined));
  return {
    world,
    receiver,
    webhook,
    first,
    update,
    /** The webhook's deliveries: "pending 1" is a pending delivery with one attempt. */
    summary: async () =>
      (await world.log(webhook)).map(({ status, attempts }) => `${status} ${attempts.length}`),
    /** Requests a manual redelivery of the webhook's first delivery. */
    redeliverFirst: async () => kept(await redeliver(unitOfWork, account, id, (await first()).id)),
    disableAndEnable: async () => {
      for (const active of [false, true]) await update({ active });
    },
    remove: async () => kept(await webhookService.delete(unitOfWork, account, id, () => undefined)),
    countCancelled: () => store.count(deliveries, "webhook_status", [id, "cancelled"]),
    state: async () => {
      const { active, disabled_reason } = kept(await store.get(webhooks, id));
      return [active, disabled_reason];
    },
    /** The event of each request that arrived. */
    arrived: () => receiver.got.map(({ headers }) => headers["webhook-id"]),
  };
}

/** A receiver that keeps every request waiting until a test responds. */
async function holding(options?: Parameters<typeof outboxWorld>[0], webhookCount = 1) {
  const held: ServerResponse[] = [];
  const hold = (_: number, response: ServerResponse) => void held.push(response);
  return { ...(await hooked(hold, { ...PATIENT, ...options }, webhookCount)), held };
}

/** Starts the service again on the same store, after a stop or a crash. */
const restarted = ({ store }: World) => outboxWorld({ store });

/** Emits an event and waits until its due deliveries have been attempted. */
async function emitted(world: World) {
  const event = await world.emit();
  await world.idle();
  return event;
}

/** Responds with this status once `work` is done. */
const afterwards =
  (work: () => Promise<unknown>, status: number) => (_: number, response: ServerResponse) =>
    void work().then(() => response.writeHead(status).end());

/** Asserts that the number reaches `expected` and stays there for 50 turns of the event loop. */
async function staysAt(number: () => number, expected: number) {
  await eventually(async () => number() >= expected);
  await turns(50);
  assert.equal(number(), expected);
}

test("6.retry-schedule: ten byte-identical attempts within 75 h of clock time, then the delivery fails", async () => {
  const { world, receiver, first } = await hooked(() => 500);
  await world.emit();
  await world.advance(100 * H);
  const { status, next_attempt_at, attempts } = await first();
  assert.deepEqual([status, next_attempt_at], ["failed", null]);
  const numbers = "1,2,3,4,5,6,7,8,9,10";
  assert.equal(attempts.map(({ number }) => number).join(), numbers);
  assert.equal(receiver.got.map(({ headers }) => headers["x-service-attempt"]).join(), numbers);
  assert.equal(new Set(receiver.got.map(({ body }) => body)).size, 1);
  const waits_s = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
  const times_s = attempts.map(({ at }) => Date.parse(at) / S);
  for (const [index, wait_s] of waits_s.entries()) {
    const ratio = (Number(times_s[index + 1]) - Number(times_s[index])) / wait_s;
    assert.ok(ratio >= 0.8 && ratio <= 1.2, `wait ${index + 1}: ${ratio}`);
  }
});

test("6.retry-schedule: the retries of several webhooks go out exactly when they are due, in order", async () => {
  const { world, receiver } = await hooked(() => 500, {}, 9);
  await emitted(world);
  const rows = await world.store.page(deliveries, "pending", ["pending"], ALL_RECORDS);
  const due = rows.map(({ next_attempt_at }) => next_attempt_at);
  assert.equal(new Set(due).size, 9);
  const fired = (await world.advance(10 * S)).map(({ at }) => at);
  assert.deepEqual(fired, due);
  assert.equal(receiver.got.length, 18);
});

test("6.webhook-concurrency: first attempts go out in order, one at a time", async () => {
  const { world, held, summary, arrived } = await holding();
  const sent: string[] = [];
  for (let n = 0; n < 9; n += 1) sent.push((await world.emit()).id);
  for (let count = 1; count <= 9; count += 1) {
    await staysAt(() => held.length, count);
    held.at(-1)?.end();
  }
  await world.idle();
  assert.deepEqual(arrived(), sent);
  assert.deepEqual(await summary(), Array(9).fill("succeeded 1"));
});

test("6.webhook-concurrency.order: retries and first attempts go out by due time; manual redeliveries precede both", async () => {
  const { world, summary, redeliverFirst, arrived } = await hooked((count) =>
    count === 1 ? 500 : 200,
  );
  const first = await emitted(world);
  world.clock.set(START + 10 * S);
  const second = await emitted(world);
  assert.deepEqual(arrived(), [first.id, first.id, second.id]);
  assert.deepEqual(await summary(), ["succeeded 2", "succeeded 1"]);
  await world.stop();
  const third = await world.emit();
  await redeliverFirst();
  const next = await restarted(world);
  await next.advance(10 * S);
  assert.deepEqual(arrived().slice(3), [first.id, third.id]);
});

test("6.webhook-concurrency: a webhook with many unanswered deliveries delays no other webhook", async () => {
  const { world, held } = await holding();
  for (let n = 0; n < 300; n += 1) await world.emit();
  await staysAt(() => held.length, 1);
  const responsive = await httpReceiver((count) => (count === 1 ? 500 : 200));
  const webhook = await world.webhook(responsive.url);
  await world.emit();
  const attempts = async () => (await world.log(webhook))[0]?.attempts.length;
  await eventually(async () => (await attempts()) === 1);
  // The retry is not delayed either, although the deliveries of the other webhook are due before it.
  void world.clock.advance(10 * S);
  await eventually(async () => (await attempts()) === 2);
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
  const { world, receiver, update, summary, state } = await hooked((count) =>
    count === 1 ? 500 : 410,
  );
  await emitted(world);
  await world.emit();
  await emitted(world);
  assert.deepEqual(await state(), [false, "gone"]);
  assert.deepEqual(await summary(), ["cancelled 1", "failed 1", "cancelled 0"]);
  await world.advance(100 * H);
  assert.equal(receiver.got.length, 2);
  await update({ active: true });
  assert.deepEqual(await state(), [true, null]);
});

for (const [status, expected] of [
  [500, "cancelled 1"],
  [200, "succeeded 1"],
] as const)
  test(`3.delivery-cancelled: a delivery whose webhook is disabled and re-enabled during an attempt is ${expected} after a ${status} response`, async () => {
    const { world, first, summary, disableAndEnable } = await hooked(
      afterwards(() => disableAndEnable(), status),
    );
    await emitted(world);
    await world.advance(100 * H);
    assert.deepEqual(await summary(), [expected]);
    assert.equal((await first()).next_attempt_at, null);
  });

test("4.webhook-endpoints.rotation: each attempt uses the webhook's current URL and secret", async () => {
  const { world, update, receiver: before } = await hooked(() => 500);
  const now = await httpReceiver(() => 500);
  await emitted(world);
  await update({ url: now.url, secret: "second" });
  await world.advance(10 * S);
  const { headers, body } = now.got[0] ?? { headers: {}, body: "" };
  assert.ok(verifySignature(body, String(headers["x-service-signature"]), "second"));
  assert.equal(before.got.length, 1);
});

test("a failed manual redelivery leaves the retry schedule unchanged", async () => {
  const { world, first, summary, redeliverFirst } = await hooked(() => 500);
  await emitted(world);
  const { next_attempt_at } = await first();
  for (let times = 0; times < 2; times += 1) await redeliverFirst().then(world.idle);
  assert.equal((await first()).next_attempt_at, next_attempt_at);
  await world.advance(100 * H);
  const { attempts } = await first();
  assert.equal(attempts.filter(({ trigger }) => trigger === "schedule").length, 10);
  assert.deepEqual(await summary(), ["failed 12"]);
});

for (const [status, header, wait_ms] of [
  [429, "3600", H],
  [503, new Date(START + H).toUTCString(), H],
  [503, "1", undefined],
  [500, "3600", undefined],
] as const)
  test(`6.retry-schedule.retry-after: Retry-After: ${header} on ${status} ${wait_ms ? "lengthens" : "does not change"} the wait`, async () => {
    const { world, first } = await hooked((_, response) => {
      response.setHeader("Retry-After", header);
      return status;
    });
    await emitted(world);
    const { next_attempt_at } = await first();
    const waited_ms = Date.parse(String(next_attempt_at)) - START;
    if (wait_ms) assert.equal(waited_ms, wait_ms);
    else assert.ok(waited_ms >= 4 * S && waited_ms <= 6 * S);
  });

test("a manual redelivery of a finished delivery makes one attempt; an earlier success stays a success", async () => {
  const { world, summary, redeliverFirst } = await hooked((count) => (count === 1 ? 200 : 500));
  await emitted(world);
  const { status, next_attempt_at } = await redeliverFirst();
  assert.deepEqual([status, next_attempt_at], ["pending", null]);
  await world.advance(100 * H);
  assert.deepEqual(await summary(), ["succeeded 2"]);
});

test("a manual redelivery requested during an automatic attempt makes exactly one more attempt", async () => {
  const asking = afterwards(() => redeliverFirst(), 200);
  const { world, first, redeliverFirst } = await hooked((count, response) =>
    count > 1 ? 500 : asking(count, response),
  );
  await emitted(world);
  await world.advance(100 * H);
  const { status, attempts } = await first();
  assert.equal(attempts.map(({ trigger }) => trigger).join(), "schedule,manual");
  assert.equal(status, "succeeded");
});

test("a 410 response fails the delivery, even if a redelivery was requested meanwhile", async () => {
  const { world, summary, redeliverFirst } = await hooked(afterwards(() => redeliverFirst(), 410));
  await emitted(world);
  assert.deepEqual(await summary(), ["failed 1"]);
});

test("deliveries due or in flight at shutdown are sent after the next start", async () => {
  const { world, receiver, summary } = await hooked((n) => (n === 1 ? undefined : 200));
  await world.emit();
  await world.emit();
  await eventually(async () => receiver.got.length > 0);
  await world.stop();
  assert.deepEqual(await summary(), ["pending 0", "pending 0"]);
  // The same workers can be started again, as `reset` and `restore` do.
  await world.workers.start();
  await world.idle();
  assert.deepEqual(await summary(), ["succeeded 1", "succeeded 1"]);
  assert.equal(receiver.got.length, 3);
});

test("a result that the store rejects is saved later, and the delivery is not sent again", async (t) => {
  const full = () => Promise.reject(new StorageUnavailable("full"));
  const { world, receiver, summary } = await hooked(() => {
    t.mock.method(world.store, "transact", full);
    return 200;
  });
  await emitted(world);
  await world.advance(5 * S);
  assert.deepEqual(await summary(), ["pending 0"]);
  assert.ok(world.errors.length > 0);
  t.mock.restoreAll();
  await world.advance(1 * S);
  assert.deepEqual(await summary(), ["succeeded 1"]);
  assert.equal(receiver.got.length, 1);
});

test("a delivery without its event fails, and the webhook's next one is sent", async () => {
  const { world, arrived, summary } = await hooked();
  await world.stop();
  const lost = await world.emit();
  await world.store.transact((tx) => tx.remove(events, lost.id));
  await world.workers.start();
  const { id } = await emitted(world);
  assert.deepEqual([await summary(), world.errors], [["failed 0", "succeeded 1"], []]);
  assert.deepEqual(arrived(), [id]);
});

test("a delivery is sent even if the response to its commit was lost", async (t) => {
  const { world, receiver } = await hooked();
  const { transact } = world.store;
  t.mock.method(
    world.store,
    "transact",
    async (work: Parameters<typeof transact>[0]) => {
      await transact(work);
      throw new Error("response lost");
    },
    { times: 1 },
  );
  await assert.rejects(world.emit(), /response lost/);
  await world.idle();
  assert.equal(receiver.got.length, 1);
});

test("a webhook without pending deliveries keeps no timer", async (t) => {
  const { world } = await hooked((count) => (count === 1 ? 500 : 200));
  const schedule = t.mock.method(world.clock, "schedule").mock;
  await emitted(world);
  const cancel = t.mock.method(kept(schedule.calls[0]?.result), "cancel").mock;
  await world.advance(10 * S);
  cancel.resetCalls();
  await world.stop();
  assert.deepEqual([schedule.callCount(), cancel.callCount()], [1, 0]);
});

test("a queue that cannot be read is reported and read again once a second, and not after a stop", async (t) => {
  const { world, webhook } = await hooked();
  await emitted(world);
  const page = t.mock.method(world.store, "page", () => Promise.reject(new Error("broken"))).mock;
  world.parts.notifications.emit("queueChanged", webhook.id);
  await world.advance(10 * S);
  assert.deepEqual([page.callCount(), world.errors.length], [11, 11]);
  await world.stop();
  assert.deepEqual(await world.clock.advance(2 * S), []);
});

test("an outbox that stops while it reads a queue schedules nothing", async (t) => {
  const { world, webhook } = await hooked();
  t.mock.method(world.store, "page", async () => {
    void world.stop();
    throw new Error("broken");
  });
  world.parts.notifications.emit("queueChanged", webhook.id);
  await world.idle();
  assert.deepEqual(await world.clock.advance(2 * S), []);
});

const MANY = 2_500;

/** Creates `count` pending deliveries that wait for their retry. */
const failedOnce = (world: World, webhook: WebhookRecord, count: number) =>
  world.unitOfWork.run(async (ctx) => {
    const event = await recordEvent({ ...ctx, account: world.account }, "app.updated", {});
    const due_at = toIso(ctx.now + H);
    for (let n = 0; n < count; n += 1)
      await putDelivery(ctx, {
        ...createDelivery(ctx, webhook, event),
        next_attempt_at: due_at,
        due_at,
      });
  });

for (const end of ["disabling", "deleting"] as const)
  test(`3.delivery-cancelled: ${end} a webhook cancels thousands of deliveries behind the response, during an attempt too`, async () => {
    const { world, webhook, held, update, remove, countCancelled } = await holding();
    await world.emit();
    await eventually(async () => held.length === 1);
    await failedOnce(world, webhook, MANY);
    await (end === "disabling" ? update({ active: false }) : remove());
    assert.equal(await countCancelled(), 0);
    await eventually(async () => (await countCancelled()) === MANY + 1);
    assert.deepEqual(await world.pending(), []);
    await world.stop();
  });

test("3.delivery-cancelled: after a quick disable and re-enable, only deliveries created afterwards are sent", async () => {
  const { world, webhook, disableAndEnable, countCancelled, arrived } = await hooked();
  await failedOnce(world, webhook, 300);
  await disableAndEnable();
  const event = await world.emit();
  await world.advance(100 * H);
  assert.equal(await countCancelled(), 300);
  assert.deepEqual(arrived(), [event.id]);
});

test("3.delivery-cancelled: cancellations interrupted by a crash are completed after the next start", async () => {
  const { world, webhook, countCancelled } = await hooked();
  await failedOnce(world, webhook, 300);
  await world.idle();
  await world.stop();
  await world.store.transact((tx) => tx.remove(webhooks, webhook.id));
  assert.equal(await countCancelled(), 0);
  await (await restarted(world)).idle();
  assert.equal(await countCancelled(), 300);
});

const NOW = Date.UTC(2026, 0, 6, 8, 49, 0);

test("6.retry-schedule.retry-after: Retry-After is seconds or an HTTP date, 24 h at most, and otherwise ignored", () => {
  for (const [header, wait_ms] of [
    ["37", 37 * S],
    ["Tue, 06 Jan 2026 08:49:37 GMT", 37 * S],
    ["Tue, 06 Jan 2026 08:48:00 GMT", 0],
    ["86401", 24 * H],
    ["9".repeat(400), 24 * H],
    ...["", "-1", "1e3", "tomorrow", "Tue, 99 Jan 2026 99:00:00 GMT"].map((bad) => [bad, 0]),
  ])
    assert.equal(parseRetryAfter(String(header), NOW), wait_ms, String(header));
});

test("a retry schedule is parsed from durations of a year at most", () => {
  assert.deepEqual(parseRetrySchedule("5s, 5m,1h"), [5 * S, 300 * S, H]);
  assert.deepEqual(parseRetrySchedule("10ms,365d"), [10, 365 * 24 * H]);
  for (const bad of ["", "5", "5s,", "5s;5m", "-5s", "1.5s", "366d"])
    assert.equal(parseRetrySchedule(bad), undefined, bad);
});
