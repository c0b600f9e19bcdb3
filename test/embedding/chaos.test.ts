// Disturbed deliveries, exact waiting and the clock in the test's hand (contract, part 10).
import assert from "node:assert/strict";
import { test } from "node:test";
import { OptionError } from "../../src/index.ts";
import { str } from "../support/client.ts";
import { type Embedded, embedded, subscribed, titles } from "../support/embedded.ts";

const create = async ({ api }: Embedded, ...names: readonly string[]) => {
  for (const title of names) await api.create("/apps", { title });
};

/** Of each attempt: what was done to it on purpose, and what came of it. */
const marks = ({ service }: Embedded) =>
  service.deliveries.flatMap(({ attempts }) => attempts.map(({ chaos, error }) => [chaos, error]));

test("1.chaos.duplicate: the receiver gets the same attempt twice, the log has it once", async () => {
  await using it = await embedded();
  await using hook = await subscribed(it.api, ["app.created"]);
  it.service.chaos.add({ effect: "duplicate" });
  await create(it, "A", "B");
  await it.service.settled();
  const [first, second] = hook.receiver.received;
  assert.deepEqual(
    first?.attempts.map(({ headers }) => headers["x-service-attempt"]),
    ["1", "1"],
  );
  assert.equal(first?.attempts[0]?.rawBody, first?.attempts[1]?.rawBody);
  assert.equal(second?.attempts.length, 1);
  assert.deepEqual(marks(it), [
    ["duplicate", null],
    [null, null],
  ]);
});

test("1.chaos.drop: nothing arrives, the attempt counts as failed and is tried again", async () => {
  await using it = await embedded();
  await using hook = await subscribed(it.api, ["app.created"]);
  it.service.chaos.add({ effect: "drop", times: 2 });
  await create(it, "A");
  assert.deepEqual(await it.service.settled(), { settled: true, pending: [] });
  assert.deepEqual(titles(hook.receiver), []);
  await it.service.clock.advance("10s");
  await it.service.clock.advance("10m");
  assert.deepEqual(titles(hook.receiver), ["A"]);
  assert.deepEqual(marks(it), [
    ["drop", "dropped"],
    ["drop", "dropped"],
    [null, null],
  ]);
});

test("1.chaos.bad_signature: a correct receiver refuses it, and takes the next attempt", async () => {
  await using it = await embedded();
  await using hook = await subscribed(it.api, ["app.created"]);
  it.service.chaos.add({ effect: "bad_signature" });
  await create(it, "A");
  await it.service.settled();
  assert.deepEqual(titles(hook.receiver), []);
  const [attempt] = it.service.deliveries[0]?.attempts ?? [];
  assert.deepEqual([attempt?.chaos, attempt?.response_status], ["bad_signature", 401]);
  await it.service.clock.advance("10s");
  assert.deepEqual(titles(hook.receiver), ["A"]);
});

test("1.chaos.reorder: one waits until the next to the same webhook has gone", async () => {
  await using it = await embedded();
  await using hook = await subscribed(it.api, ["app.created"]);
  it.service.chaos.add({ effect: "reorder" });
  await create(it, "A", "B", "C");
  await it.service.settled();
  assert.deepEqual(titles(hook.receiver), ["B", "A", "C"]);
  assert.deepEqual(marks(it), [
    ["reorder", null],
    [null, null],
    [null, null],
  ]);
});

test("1.chaos.reorder: while it waits it is pending, and settled says which", async () => {
  await using it = await embedded();
  await using hook = await subscribed(it.api, ["app.created"]);
  it.service.chaos.add({ effect: "reorder" });
  await create(it, "A");
  const { settled, pending } = await it.service.settled({ timeoutMs: 30 });
  assert.equal(settled, false);
  assert.deepEqual(
    pending.map(({ id, event_type }) => [id, event_type]),
    [[it.service.deliveries[0]?.id, "app.created"]],
  );
  await it.service.clock.advance("1d");
  assert.deepEqual(titles(hook.receiver), []);
  const wait = it.service.settled();
  await create(it, "B");
  assert.deepEqual(await wait, { settled: true, pending: [] });
  assert.deepEqual(titles(hook.receiver), ["B", "A"]);
});

test("1.chaos.reorder: a second rule waits until the first has let go", async () => {
  await using it = await embedded();
  await using hook = await subscribed(it.api, ["app.created"]);
  it.service.chaos.add({ effect: "reorder", times: 2 });
  await create(it, "A", "B", "C", "D");
  await it.service.settled();
  assert.deepEqual(titles(hook.receiver).toSorted(), ["A", "B", "C", "D"]);
  assert.deepEqual(titles(hook.receiver).slice(0, 2), ["B", "A"]);
});

test("1.chaos.delay: it is due later by the service's clock, and holds up no other", async () => {
  await using it = await embedded();
  await using hook = await subscribed(it.api, ["app.created"]);
  it.service.chaos.add({ effect: "delay", delayMs: 60_000 });
  await create(it, "A", "B");
  assert.deepEqual(await it.service.settled(), { settled: true, pending: [] });
  assert.deepEqual(titles(hook.receiver), ["B"]);
  await it.service.clock.advance("59999ms");
  assert.deepEqual(titles(hook.receiver), ["B"]);
  await it.service.clock.advance("1ms");
  assert.deepEqual(titles(hook.receiver), ["B", "A"]);
});

test("1.chaos.delay: the log says when it is due, and clear lets it go", async () => {
  await using it = await embedded();
  await using hook = await subscribed(it.api, ["app.created"]);
  it.service.chaos.add({ effect: "delay", delayMs: 60_000 });
  await create(it, "A");
  await it.service.settled();
  const [delivery] = (await it.api.get(`/webhooks/${hook.webhook.id}/deliveries`)).items;
  assert.deepEqual([delivery?.status, delivery?.next_attempt_at], ["pending", "2026-01-01T00:01:00.000Z"]);
  it.service.chaos.clear();
  assert.deepEqual(await it.service.settled(), { settled: true, pending: [] });
  assert.deepEqual(titles(hook.receiver), ["A"]);
});

test("1.chaos.delay: of each of so many attempts, asked for by hand or not, and marked in the journal", async () => {
  await using it = await embedded();
  await using hook = await subscribed(it.api, ["app.created"], [500, 200]);
  it.service.chaos.add({ effect: "delay", delayMs: 60_000, times: 2 });
  await create(it, "A");
  await it.service.settled();
  const [delivery] = it.service.deliveries;
  await it.api.post(`/webhooks/${hook.webhook.id}/deliveries/${delivery?.id}/redeliver`);
  await it.service.settled();
  assert.deepEqual(titles(hook.receiver), []);
  await it.service.clock.advance("60s");
  await it.service.clock.advance("59s");
  assert.equal(hook.receiver.received[0]?.attempts.length, 1);
  await it.service.clock.advance("10s");
  assert.deepEqual(marks(it), [
    ["delay", "status"],
    ["delay", null],
  ]);
});

test("1.chaos.reorder: a retry to the same webhook is a next one too", async () => {
  await using it = await embedded({ retrySchedule: "5s" });
  await using hook = await subscribed(it.api, ["app.created"], [500, 200]);
  await create(it, "A");
  await it.service.settled();
  it.service.chaos.add({ effect: "reorder" });
  await create(it, "B");
  assert.equal((await it.service.settled({ timeoutMs: 30 })).settled, false);
  await it.service.clock.advance("10s");
  assert.deepEqual(titles(hook.receiver), ["A", "B"]);
});

test("1.chaos: a rule falls on its type and its webhook only; clear lets go what is held back", async () => {
  await using it = await embedded();
  await using one = await subscribed(it.api, ["app.created", "app.deleted"]);
  await using two = await subscribed(it.api, ["app.created", "app.deleted"]);
  it.service.chaos.add({ effect: "reorder", type: "app.deleted", webhookId: one.webhook.id });
  await create(it, "A");
  const [app] = (await it.api.get("/apps")).items;
  await it.api.delete(`/apps/${str(app?.id)}`);
  assert.equal((await it.service.settled({ timeoutMs: 30 })).settled, false);
  assert.deepEqual([one.receiver.received.length, two.receiver.received.length], [1, 2]);
  it.service.chaos.clear();
  assert.equal((await it.service.settled()).settled, true);
  assert.equal(one.receiver.received.length, 2);
});

test("1.chaos: a wrong rule is refused by name", async () => {
  await using it = await embedded();
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ effect: "lose" }, /#\/effect must be one of/],
    [{ effect: "drop", type: "app.lost" }, /#\/type must be one of/],
    [{ effect: "drop", times: 0 }, /#\/times/],
    [{ effect: "delay" }, /#\/delayMs must say how long/],
    [{ effect: "drop", delayMs: 5 }, /#\/delayMs goes with the effect delay only/],
    [{ effect: "drop", webhook: "wh_1" }, /#\/webhook is not a known member/],
  ];
  for (const [rule, says] of wrong)
    assert.throws(
      () => Reflect.apply(it.service.chaos.add, it.service.chaos, [rule]),
      (error: Error) =>
        error instanceof OptionError && error.message.startsWith("chaos.add: ") && says.test(error.message),
    );
});

test("settled: it waits for what is under way, and names it when the time is over", async () => {
  await using it = await embedded();
  await using hook = await subscribed(it.api, ["app.created"], ["hang"]);
  await create(it, "A");
  const { settled, pending } = await it.service.settled({ timeoutMs: 50 });
  assert.equal(settled, false);
  assert.deepEqual(
    pending.map(({ webhook_id }) => webhook_id),
    [hook.webhook.id],
  );
});

test("settled: data is processed and its event is sent", async () => {
  await using it = await embedded();
  await using hook = await subscribed(it.api, ["data.processed"]);
  await it.api.create("/data-sources", { name: "D", type: "csv", data: "a\n1\n" });
  await it.service.settled();
  assert.equal(hook.receiver.received.length, 1);
});

test("advance: retries run in the order of their time, and it answers what ran", async () => {
  await using it = await embedded({ retrySchedule: "1m,1m" });
  await using hook = await subscribed(it.api, ["app.created"], [500, 500, 200]);
  await create(it, "A");
  await it.service.settled();
  assert.deepEqual(await it.service.clock.advance("0ms"), []);
  const ran = await it.service.clock.advance("3m");
  assert.equal(hook.receiver.received[0]?.attempts.length, 3);
  assert.equal(ran.length, 2);
  const [, second, third] = it.service.deliveries[0]?.attempts ?? [];
  assert.deepEqual(
    ran.map(({ at, what }) => ({ at, what })),
    [
      { at: second?.at, what: "webhook deliveries" },
      { at: third?.at, what: "webhook deliveries" },
    ],
  );
  assert.equal(it.service.clock.now(), Date.UTC(2026, 0, 1, 0, 3));
});

test("advance: tokens and rate windows end by the same clock", async () => {
  await using it = await embedded({ rateLimit: 2 });
  const { access_token } = await it.service.signIn({ scopes: ["read:apps"] });
  for (const expected of [200, 200, 403]) assert.equal((await it.api.get("/apps")).status, expected);
  await it.service.clock.advance("1m");
  assert.equal((await it.api.as(access_token).get("/apps")).status, 200);
  await it.service.clock.advance("59m");
  assert.equal((await it.api.as(access_token).get("/apps")).json.code, "expired_credential");
});

test("1.test-controls.durations: what is none is refused by name", async () => {
  await using it = await embedded();
  const { clock } = it.service;
  for (const by of ["5", "5 m", "-5m", "1y", "", 5, 0.5, undefined])
    await assert.rejects(Reflect.apply(clock.advance, clock, [by]), /^OptionError: advance must be given a duration/);
  await assert.rejects(it.service.clock.advance("9999999d"), /year 9999/);
});

test("freeze and resume: a running clock stands still, and goes on from there", async () => {
  await using it = await embedded({ clock: "system" });
  it.service.clock.freeze();
  const at = it.service.clock.now();
  const app = await it.api.create("/apps", { title: "A" });
  assert.equal(app.created_at, new Date(at).toISOString());
  await it.service.clock.advance("1h");
  assert.equal(it.service.clock.now(), at + 3_600_000);
  it.service.clock.resume();
  assert.ok(it.service.clock.now() - at < 3_700_000);
});
