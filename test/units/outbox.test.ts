// The outbox over real sockets with a clock moved by hand (contract, part 6).
import assert from "node:assert/strict";
import { test } from "node:test";
import { newDelivery, putDelivery } from "../../src/domain/deliveries.ts";
import { recordEvent } from "../../src/domain/events.ts";
import { deliveries, EVENT_TYPES, type WebhookRecord } from "../../src/domain/model.ts";
import { StorageUnavailable, type Store } from "../../src/domain/store.ts";
import { changeWebhook, redeliver, removeWebhook, sendTest } from "../../src/domain/webhooks.ts";
import { iso } from "../../src/kit/clock.ts";
import { verifySignature } from "../../src/kit/signature.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { httpReceiver } from "../support/http-receiver.ts";
import { kept, outboxWorld, ROWS, START, type World } from "../support/outbox-world.ts";
import { closedPort } from "../support/receivers.ts";

const S = 1_000;
const H = 3_600 * S;
const anything = () => undefined;

test("6.retry-schedule: all ten attempts in 75 h by the clock, byte-identical, then failed, in under a second", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver(() => 500);
  const webhook = await world.webhook(receiver.url);
  await world.emit();
  const began = performance.now();
  await world.advance(100 * H);
  assert.ok(performance.now() - began < 1_000);
  const [delivery] = await world.log(webhook);
  assert.equal(delivery?.status, "failed");
  assert.equal(delivery?.next_attempt_at, null);
  assert.deepEqual(
    delivery?.attempts.map(({ number, error }) => [number, error]),
    Array.from({ length: 10 }, (_, at) => [at + 1, "status"]),
  );
  assert.deepEqual(
    receiver.got.map(({ headers }) => headers["x-service-attempt"]),
    Array.from({ length: 10 }, (_, at) => String(at + 1)),
  );
  assert.equal(new Set(receiver.got.map(({ body }) => body)).size, 1);
  const waits = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
  const times = delivery?.attempts.map(({ at }) => Date.parse(at)) ?? [];
  for (const [at, wait] of waits.entries()) {
    const waited = ((times[at + 1] ?? 0) - (times[at] ?? 0)) / S;
    assert.ok(waited >= wait * 0.8 && waited <= wait * 1.2, `${waited} s instead of ${wait} s`);
  }
});

test("a retry is not made before its time", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver((count) => (count === 1 ? 503 : 200));
  const webhook = await world.webhook(receiver.url);
  await world.emit();
  await world.idle();
  const [failed] = await world.log(webhook);
  const due = Date.parse(failed?.next_attempt_at ?? "");
  await world.advance(due - START - 1);
  assert.equal(receiver.got.length, 1);
  assert.deepEqual(await world.pending(), []);
  await world.advance(1);
  assert.equal(receiver.got.length, 2);
  assert.equal((await world.log(webhook))[0]?.status, "succeeded");
});

test("Retry-After lengthens the wait of a 429", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver((_, response) => {
    response.writeHead(429, { "Retry-After": "3600" }).end();
    return undefined;
  });
  const webhook = await world.webhook(receiver.url);
  await world.emit();
  await world.idle();
  assert.equal((await world.log(webhook))[0]?.next_attempt_at, "2026-01-01T01:00:00.000Z");
});

test("6.webhook-concurrency: first attempts go out in order, one at a time", async () => {
  const world = await outboxWorld();
  let open = 0;
  let most = 0;
  const receiver = await httpReceiver((_, response) => {
    open += 1;
    most = Math.max(most, open);
    setImmediate(() => {
      open -= 1;
      response.end();
    });
    return undefined;
  });
  await world.webhook(receiver.url);
  const sent: string[] = [];
  for (let n = 0; n < 50; n += 1) sent.push((await world.emit({ n })).id);
  await world.idle();
  assert.deepEqual(
    receiver.got.map(({ headers }) => headers["webhook-id"]),
    sent,
  );
  assert.equal(most, 1);
});

test("6.webhook-concurrency: as many at once as asked for, and no more", async () => {
  const world = await outboxWorld({ concurrency: 3 });
  const held: (() => void)[] = [];
  const receiver = await httpReceiver((_, response) => {
    held.push(() => response.end());
    return undefined;
  });
  const webhook = await world.webhook(receiver.url);
  for (let n = 0; n < 9; n += 1) await world.emit({ n });
  for (let threes = 0; threes < 3; threes += 1) {
    while (held.length < 3) await new Promise(setImmediate);
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    assert.equal(held.length, 3);
    for (const answer of held.splice(0)) answer();
  }
  await world.idle();
  assert.ok((await world.log(webhook)).every(({ status }) => status === "succeeded"));
});

test("6.webhook-concurrency.order: first attempts go before retries of the same webhook", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver((count) => (count === 1 ? 500 : 200));
  const webhook = await world.webhook(receiver.url);
  const first = await world.emit({ n: 1 });
  await world.idle();
  world.clock.set(START + 10 * S);
  const second = await world.emit({ n: 2 });
  await world.idle();
  assert.deepEqual(
    receiver.got.map(({ headers }) => headers["webhook-id"]),
    [first.id, second.id, first.id],
  );
  assert.ok((await world.log(webhook)).every(({ status }) => status === "succeeded"));
});

test("one silent and one dead endpoint hold up no other", async () => {
  // On a busy machine a deadline that passes within the test has the silent endpoint asked again: this one never does.
  const world = await outboxWorld({ timeout_ms: 60_000 });
  const silent = await httpReceiver(() => undefined);
  const healthy = await httpReceiver();
  const mute = await world.webhook(silent.url);
  await world.webhook(`http://127.0.0.1:${await closedPort()}/`);
  const well = await world.webhook(healthy.url);
  for (let n = 0; n < 20; n += 1) await world.emit({ n });
  while ((await world.log(well)).some(({ status }) => status === "pending")) await new Promise(setImmediate);
  assert.equal(healthy.got.length, 20);
  while (silent.got.length === 0) await new Promise(setImmediate);
  assert.equal(silent.got.length, 1);
  assert.equal((await world.log(mute))[0]?.attempts.length, 0);
});

test("8.bounds.deliveries-at-once: 256 are under way, the rest wait as rows", async () => {
  const world = await outboxWorld({ timeout_ms: 60_000 });
  const receiver = await httpReceiver(() => undefined);
  for (let n = 0; n < 300; n += 1) await world.webhook(receiver.url);
  await world.emit();
  while (receiver.got.length < 256) await new Promise(setImmediate);
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  assert.equal(receiver.got.length, 256);
  assert.equal((await world.pending()).length, 300);
});

test("8.bounds.doubtful-deliveries: what failed before never takes all places", async () => {
  const world = await outboxWorld({ timeout_ms: 60_000 });
  const dead = await httpReceiver((count) => (count <= 300 ? 500 : undefined));
  const healthy = await httpReceiver();
  for (let n = 0; n < 300; n += 1) await world.webhook(dead.url);
  await world.emit();
  await world.idle();
  const well = await world.webhook(healthy.url);
  await world.emit();
  while ((await world.log(well)).some(({ status }) => status === "pending")) await new Promise(setImmediate);
  while (dead.got.length < 492) await new Promise(setImmediate);
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  assert.equal(dead.got.length, 492);
});

test("3.delivery-cancelled.gone: 410 fails its delivery, switches the webhook off and cancels the others", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver((count) => (count === 1 ? 500 : 410));
  const webhook = await world.webhook(receiver.url);
  await world.emit({ n: 1 });
  await world.idle();
  await world.emit({ n: 2 });
  await world.emit({ n: 3 });
  await world.idle();
  const { active, disabled_reason } = await world.read(webhook);
  assert.deepEqual({ active, disabled_reason }, { active: false, disabled_reason: "gone" });
  assert.deepEqual(
    (await world.log(webhook)).map(({ status }) => status),
    ["cancelled", "failed", "cancelled"],
  );
  assert.equal(receiver.got.length, 2);
  await world.advance(100 * H);
  assert.equal(receiver.got.length, 2);
  kept(await changeWebhook(world.unit, world.caller, webhook.id, { active: true }, anything));
  assert.equal((await world.read(webhook)).disabled_reason, null);
});

test("3.delivery-cancelled.failing: without a success for five days it is switched off, not a moment earlier", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver(() => 500);
  const webhook = await world.webhook(receiver.url);
  await world.emit({ n: 1 });
  await world.advance(120 * H - 1);
  await world.emit({ n: 2 });
  await world.idle();
  assert.equal((await world.read(webhook)).active, true);
  await world.advance(1);
  await world.emit({ n: 3 });
  await world.idle();
  const { active, disabled_reason } = await world.read(webhook);
  assert.deepEqual({ active, disabled_reason }, { active: false, disabled_reason: "failing" });
  assert.deepEqual(
    (await world.log(webhook)).map(({ status }) => status),
    ["failed", "cancelled", "cancelled"],
  );
});

test("a success ends the count of failing days", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver((count) => (count === 2 ? 200 : 500));
  const webhook = await world.webhook(receiver.url);
  await world.emit();
  await world.advance(121 * H);
  assert.equal((await world.read(webhook)).failing_since, null);
  await world.emit();
  await world.idle();
  assert.equal((await world.read(webhook)).active, true);
});

test("a new address does not answer for the failures of the old one", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver(() => 500);
  const webhook = await world.webhook(receiver.url);
  await world.emit();
  await world.advance(119 * H);
  kept(await changeWebhook(world.unit, world.caller, webhook.id, { url: `${receiver.url}/new` }, anything));
  await world.advance(2 * H);
  await world.emit();
  await world.idle();
  assert.equal((await world.read(webhook)).active, true);
});

test("switched off while an attempt is under way: a failure stays cancelled, a success counts", async () => {
  for (const [status, becomes] of [
    [500, "cancelled"],
    [200, "succeeded"],
  ] as const) {
    const world = await outboxWorld();
    const receiver = await httpReceiver((_, response) => {
      void changeWebhook(world.unit, world.caller, webhook.id, { active: false }, anything).then(() =>
        response.writeHead(status).end(),
      );
      return undefined;
    });
    const webhook = await world.webhook(receiver.url);
    await world.emit();
    await world.idle();
    const [delivery] = await world.log(webhook);
    assert.deepEqual([delivery?.status, delivery?.attempts.length, delivery?.next_attempt_at], [becomes, 1, null]);
  }
});

test("4.webhook-endpoints.rotation: url and secret are read again at each attempt; a changed secret is accompanied by the old one for 24 h", async () => {
  const world = await outboxWorld();
  const [before, now] = [await httpReceiver(() => 500), await httpReceiver(() => 500)];
  const webhook = await world.webhook(before.url);
  await world.emit();
  await world.idle();
  kept(await changeWebhook(world.unit, world.caller, webhook.id, { url: now.url, secret: "second" }, anything));
  await world.advance(23 * H);
  const { headers, body } = now.got[0] ?? { headers: {}, body: "" };
  assert.ok(verifySignature(body, String(headers["x-service-signature"]), "second"));
  assert.match(String(headers["webhook-signature"]), /^v1,\S{44} v1,\S{44}$/);
  await world.advance(24 * H);
  assert.match(String(now.got.at(-1)?.headers["webhook-signature"]), /^v1,\S{44}$/);
  assert.equal(before.got.length, 1);
});

test("a failure by hand leaves the schedule where it was, neither lost nor doubled", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver(() => 500);
  const webhook = await world.webhook(receiver.url);
  await world.emit();
  await world.idle();
  const [first] = await world.log(webhook);
  for (let again = 0; again < 2; again += 1) {
    kept(await redeliver(world.unit, world.caller, webhook.id, first?.id ?? ""));
    await world.idle();
  }
  const [after] = await world.log(webhook);
  assert.equal(after?.next_attempt_at, first?.next_attempt_at);
  await world.advance(100 * H);
  const [over] = await world.log(webhook);
  assert.equal(over?.attempts.filter(({ trigger }) => trigger === "schedule").length, 10);
  assert.equal(over?.attempts.length, 12);
  assert.equal(over?.status, "failed");
});

test("one that is over goes once more and ends as it ends; a success before stays a success", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver((count) => (count === 1 ? 200 : 500));
  const webhook = await world.webhook(receiver.url);
  await world.emit();
  await world.idle();
  const [done] = await world.log(webhook);
  const asked = kept(await redeliver(world.unit, world.caller, webhook.id, done?.id ?? ""));
  assert.deepEqual([asked.status, asked.next_attempt_at], ["pending", null]);
  await world.advance(100 * H);
  const [after] = await world.log(webhook);
  assert.deepEqual([after?.status, after?.attempts.length], ["succeeded", 2]);
});

test("a delivery asked for by hand while its automatic attempt is under way is sent once more", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver((count, response) => {
    if (count > 1) return 200;
    void world.log(webhook).then(async ([delivery]) => {
      kept(await redeliver(world.unit, world.caller, webhook.id, delivery?.id ?? ""));
      response.writeHead(200).end();
    });
    return undefined;
  });
  const webhook = await world.webhook(receiver.url);
  await world.emit();
  await world.idle();
  const [delivery] = await world.log(webhook);
  assert.deepEqual(
    delivery?.attempts.map(({ trigger }) => trigger),
    ["schedule", "manual"],
  );
  assert.equal(delivery?.status, "succeeded");
});

test("a test delivery of each type goes out once, whatever the webhook subscribes to and though it is off", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver(() => 500);
  const webhook = await world.webhook(receiver.url);
  kept(await changeWebhook(world.unit, world.caller, webhook.id, { active: false }, anything));
  for (const type of EVENT_TYPES) kept(await sendTest(world.unit, world.caller, webhook.id, type));
  await world.advance(100 * H);
  assert.deepEqual(
    receiver.got.map(({ headers }) => headers["x-service-event"]),
    EVENT_TYPES,
  );
  const log = await world.log(webhook);
  assert.ok(log.every(({ status, attempts }) => status === "failed" && attempts.length === 1));
  for (const { body, headers } of receiver.got) {
    const event = JSON.parse(body);
    assert.equal(event.type, headers["x-service-event"]);
    assert.equal("account" in event, event.type !== "user.interaction");
    assert.ok(Object.keys(event.data.object).length >= 3);
  }
});

test("what was due or under way at a stop is sent after the next start", async () => {
  const store = memoryStore();
  const first = await outboxWorld({ store: await opened(store) });
  const silent = await httpReceiver((count) => (count === 1 ? undefined : 200));
  const webhook = await first.webhook(silent.url);
  await first.emit({ n: 1 });
  await first.emit({ n: 2 });
  while (silent.got.length === 0) await new Promise(setImmediate);
  await first.stop();
  assert.deepEqual(
    (await first.log(webhook)).map(({ status, attempts }) => [status, attempts.length]),
    [
      ["pending", 0],
      ["pending", 0],
    ],
  );
  const second = await outboxWorld({ store });
  await second.outbox.start();
  await second.idle();
  assert.deepEqual(
    (await second.log(webhook)).map(({ status, attempts }) => [status, attempts.length]),
    [
      ["succeeded", 1],
      ["succeeded", 1],
    ],
  );
  assert.equal(silent.got.length, 3);
});

test("two processes on one store send each delivery once", async () => {
  const store = await opened(memoryStore());
  const receiver = await httpReceiver();
  const one = await outboxWorld({ store });
  const two = await outboxWorld({ store });
  await one.webhook(receiver.url);
  for (let n = 0; n < 20; n += 1) {
    await one.emit({ n });
    await two.outbox.start();
  }
  await one.idle();
  await two.idle();
  await two.advance(2 * S);
  assert.equal(receiver.got.length, 20);
  assert.equal(new Set(receiver.got.map(({ headers }) => headers["webhook-id"])).size, 20);
});

test("an outcome that the store refuses is written down later, and nothing is sent twice", async () => {
  const store = await opened(memoryStore());
  let full = false;
  const failing = overridden(store, {
    transact: (work) => (full ? Promise.reject(new StorageUnavailable("full")) : store.transact(work)),
  });
  const world = await outboxWorld({ store: failing });
  const receiver = await httpReceiver(() => {
    full = true;
    return 200;
  });
  const webhook = await world.webhook(receiver.url);
  await world.emit();
  await world.idle();
  await world.advance(5 * S);
  assert.deepEqual(
    (await world.log(webhook)).map(({ status, attempts }) => [status, attempts.length]),
    [["pending", 0]],
  );
  assert.equal(world.errors.length, 1);
  full = false;
  await world.advance(1 * S);
  assert.deepEqual(
    (await world.log(webhook)).map(({ status, attempts }) => [status, attempts.length]),
    [["succeeded", 1]],
  );
  assert.equal(receiver.got.length, 1);
});

test("what could not be written down before a stop is not written down after it", async () => {
  const store = await opened(memoryStore());
  let full = false;
  const transact: Store["transact"] = (work) =>
    full ? Promise.reject(new StorageUnavailable("full")) : store.transact(work);
  const world = await outboxWorld({ store: overridden(store, { transact }) });
  const receiver = await httpReceiver(() => {
    full = true;
    return 200;
  });
  const webhook = await world.webhook(receiver.url);
  await world.emit();
  await world.idle();
  await world.stop();
  full = false;
  await world.advance(1 * S);
  assert.equal((await world.log(webhook))[0]?.attempts.length, 0);
});

test("a row that another process holds is asked for again after a second, and not before", async () => {
  const store = await opened(memoryStore());
  let asked = 0;
  const lease: Store["lease"] = async (name, for_ms) => {
    asked += 1;
    return asked === 1 ? undefined : store.lease(name, for_ms);
  };
  const world = await outboxWorld({ store: overridden(store, { lease }) });
  const receiver = await httpReceiver();
  await world.webhook(receiver.url);
  await world.emit();
  await world.advance(1 * S - 1);
  assert.deepEqual([asked, receiver.got.length], [1, 0]);
  await world.advance(1);
  assert.deepEqual([asked, receiver.got.length], [2, 1]);
});

test("a row that another process has sent meanwhile is looked at again: its retry is not made before its time", async () => {
  const store = await opened(memoryStore());
  const receiver = await httpReceiver(() => 500);
  const one = await outboxWorld({ store });
  // Both see the row when it is due; this one gets to it when the other is done with it.
  const lease: Store["lease"] = (name, for_ms) => one.idle().then(() => store.lease(name, for_ms));
  const two = await outboxWorld({ store: overridden(store, { lease }) });
  const webhook = await one.webhook(receiver.url);
  await one.emit();
  await two.idle();
  assert.equal(receiver.got.length, 1);
  const [failed] = await one.log(webhook);
  const wait_ms = Date.parse(failed?.next_attempt_at ?? "") - START;
  await two.advance(wait_ms - 1);
  assert.equal(receiver.got.length, 1);
  await two.advance(1);
  assert.equal(receiver.got.length, 2);
});

test("a claimed row whose webhook was switched off meanwhile is not sent", async () => {
  const store = await opened(memoryStore());
  const receiver = await httpReceiver();
  const lease: Store["lease"] = async (name, for_ms) => {
    kept(await changeWebhook(world.unit, world.caller, webhook.id, { active: false }, anything));
    return store.lease(name, for_ms);
  };
  const world = await outboxWorld({ store: overridden(store, { lease }) });
  const webhook = await world.webhook(receiver.url);
  await world.emit();
  await world.idle();
  const [delivery] = await world.log(webhook);
  assert.deepEqual([delivery?.status, receiver.got.length], ["cancelled", 0]);
});

const MANY = 2_500;

/** So many deliveries that wait for their retry. */
const failedOnce = (world: World, webhook: WebhookRecord, count: number) =>
  world.unit.transact(async (w) => {
    const event = await recordEvent(w, world.caller.account, "app.updated", {});
    const next_attempt_at = iso(w.now + H);
    for (let n = 0; n < count; n += 1)
      await putDelivery(w.tx, { ...newDelivery(w, webhook, event), next_attempt_at, queue: `2${next_attempt_at}` });
    return null;
  });

const cancelledOf = ({ store }: World, { id }: WebhookRecord) =>
  store.count(deliveries, "webhook_status", [id, "cancelled"]);

test("3.delivery-cancelled: switched off or removed with thousands pending: 100 at most in one turn of the event loop", async () => {
  for (const end of ["off", "removed"]) {
    const world = await outboxWorld();
    const webhook = await world.webhook("http://127.0.0.1:9/");
    await failedOnce(world, webhook, MANY);
    await world.idle();
    if (end === "off") kept(await changeWebhook(world.unit, world.caller, webhook.id, { active: false }, anything));
    else assert.equal(await removeWebhook(world.unit, world.caller, webhook.id, anything), null);
    assert.equal(await cancelledOf(world, webhook), 0, "nothing in the transaction that answers");
    let before = 0;
    while (world.background.busy) {
      await new Promise(setImmediate);
      const now = await cancelledOf(world, webhook);
      assert.ok(now - before <= 100, `${now - before} in one turn`);
      before = now;
    }
    assert.equal(before, MANY);
    assert.deepEqual(await world.pending(), []);
  }
});

test("3.delivery-cancelled: switched off and on again at once: what was pending is not sent, what comes then is", async () => {
  const world = await outboxWorld();
  const receiver = await httpReceiver((count) => (count === 1 ? 500 : 200));
  const webhook = await world.webhook(receiver.url);
  await world.emit({ n: 1 });
  await world.idle();
  await failedOnce(world, webhook, 300);
  for (const active of [false, true])
    kept(await changeWebhook(world.unit, world.caller, webhook.id, { active }, anything));
  const [again] = await world.log(webhook);
  const asked = kept(await redeliver(world.unit, world.caller, webhook.id, again?.id ?? ""));
  assert.deepEqual([asked.status, asked.next_attempt_at], ["pending", null]);
  const event = await world.emit({ n: 2 });
  await world.advance(100 * H);
  assert.equal(await cancelledOf(world, webhook), 300);
  assert.deepEqual(
    receiver.got.map(({ headers }) => headers["webhook-id"]),
    [again?.event_id, again?.event_id, event.id],
  );
  assert.equal((await world.read(webhook)).active, true);
});

test("3.delivery-cancelled: what a crash has left of them is cancelled after the next start", async () => {
  const store = await opened(memoryStore());
  const first = await outboxWorld({ store });
  const webhook = await first.webhook("http://127.0.0.1:9/");
  await failedOnce(first, webhook, 300);
  await first.idle();
  await first.stop();
  assert.equal(await removeWebhook(first.unit, first.caller, webhook.id, anything), null);
  assert.equal(await cancelledOf(first, webhook), 0);
  const second = await outboxWorld({ store });
  await second.outbox.start();
  await second.idle();
  assert.equal(await cancelledOf(second, webhook), 300);
});

/** The store, but for some of its ways. */
const overridden = (store: Store, ways: Partial<Store>): Store =>
  new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(name in ways ? ways : target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });

async function opened(store: Store): Promise<Store> {
  await store.open(ROWS);
  return store;
}
