// Chaos rules for deliveries, settled, and the clock under the test's control (contract, part 10).
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import {
  type ChaosRule,
  type ReceiverAnswer,
  type ServiceOptions,
  verifySignature,
} from "../../src/index.ts";
import { str } from "../support/client.ts";
import { closeLater } from "../support/closing.ts";
import { embedded, FIXED, ruleRefused, titles } from "../support/embedded.ts";
import { hooked, httpReceiver, SECRET } from "../support/receivers.ts";

/** Starts a service with one webhook, whose deliveries are subject to this chaos rule. */
async function startWithChaos(
  rule?: ChaosRule,
  answers?: readonly ReceiverAnswer[],
  options?: ServiceOptions,
) {
  const own = await embedded(options);
  const { service, api } = own;
  closeLater(service.close); // also if the setup below fails
  const { webhook, ...receiver } = await hooked(api, ["app.created"], {}, answers);
  if (rule) service.chaos.add(rule);
  /** Creates an app for each letter of `names`; returns the deliveries still pending after the timeout. */
  const create = async (names: string, timeoutMs = 5_000) => {
    for (const title of names) await api.create("/apps", { title });
    return (await service.settled({ timeoutMs })).pending;
  };
  const arrived = () => titles(receiver).join("");
  /** The chaos effect and the error of each attempt. */
  const marks = () =>
    service.deliveries
      .flatMap(({ attempts }) => attempts.map(({ chaos, error }) => `${chaos} ${error}`))
      .join(", ");
  /** Requests a manual redelivery of the first delivery. */
  const again = () =>
    api.post(`/webhooks/${webhook.id}/deliveries/${service.deliveries[0]?.id}/redeliver`);
  const { clock, chaos } = service;
  return { ...own, clock, chaos, webhook, receiver, create, arrived, marks, again };
}

test("1.chaos.duplicate: the receiver gets the same attempt twice, and the log records one", async () => {
  await using it = await startWithChaos({ effect: "duplicate" });
  assert.deepEqual(await it.create("AB"), []);
  const sent = it.receiver.received.map(({ attempts }) =>
    attempts.map(({ headers }) => headers["x-service-attempt"]),
  );
  assert.deepEqual(sent, [["1", "1"], ["1"]]);
  const [first, second] = it.receiver.received[0]?.attempts ?? [];
  assert.equal(first?.rawBody, second?.rawBody);
  assert.equal(it.marks(), "duplicate null, null null");
});

test("1.chaos.duplicate: no duplicate is sent after a close, a reset or a restore", async () => {
  for (const end of ["close", "reset", "restore"] as const) {
    await using it = await startWithChaos({ effect: "duplicate" }, ["hang"]);
    const snapshot = await it.service.snapshot();
    await it.create("A", 30);
    const { attempts } = await it.receiver.next("app.created");
    await it.service[end](snapshot);
    assert.equal(attempts.length, 1, end);
  }
});

test("1.chaos.drop: nothing arrives, the attempt counts as failed and is retried", async () => {
  await using it = await startWithChaos({ effect: "drop", times: 2 });
  assert.deepEqual(await it.create("A"), []);
  assert.equal(it.arrived(), "");
  for (const by of ["10s", "10m"]) await it.clock.advance(by);
  assert.equal(it.arrived(), "A");
  assert.equal(it.marks(), "drop dropped, drop dropped, null null");
  const details = it.service.deliveries[0]?.attempts.map(({ error_detail }) => error_detail);
  assert.deepEqual(details, [...Array(2).fill("A chaos rule dropped this attempt."), null]);
});

test("1.chaos.bad_signature: a correct receiver rejects the attempt and accepts the next one", async () => {
  await using it = await startWithChaos({ effect: "bad_signature" });
  await it.create("A");
  const [attempt] = it.service.deliveries[0]?.attempts ?? [];
  assert.deepEqual(
    [it.arrived(), attempt?.chaos, attempt?.response_status],
    ["", "bad_signature", 401],
  );
  await it.clock.advance("10s");
  assert.equal(it.arrived(), "A");
});

test("1.chaos.reformat: the body is the same JSON in other bytes with valid signatures, for the given number of times", async () => {
  await using it = await startWithChaos({ effect: "reformat", times: 2 });
  const title = String.raw`a": "b\", {"c":1}`;
  for (const name of [title, "B", "C"]) await it.api.create("/apps", { title: name });
  await it.service.settled();
  assert.equal(it.marks(), "reformat null, reformat null, null null");
  const bodies = it.receiver.received.map(({ attempts }) => String(attempts[0]?.rawBody));
  const events = it.service.events.map((event) => JSON.stringify(event));
  const isCompact = bodies.map((body, at) => [
    JSON.stringify(JSON.parse(body)) === events[at],
    body === events[at],
  ]);
  assert.deepEqual(isCompact, [
    [true, false],
    [true, false],
    [true, true],
  ]);
  assert.match(bodies[0] ?? "", /^\{\n {2}"id": "evt_/);
  for (const { attempts } of it.receiver.received) {
    const { headers, rawBody = "" } = attempts[0] ?? {};
    assert.equal(headers?.["content-length"], String(Buffer.byteLength(rawBody)));
    const signed = `${headers?.["webhook-id"]}.${headers?.["webhook-timestamp"]}.${rawBody}`;
    const standard = createHmac("sha256", SECRET).update(signed).digest("base64");
    assert.equal(headers?.["webhook-signature"], `v1,${standard}`);
  }
});

test("1.chaos.reformat: a receiver that verifies a re-serialized body rejects the attempt, and the retry is unchanged", async () => {
  await using it = await startWithChaos();
  const answered: number[] = [];
  const { url, got } = await httpReceiver((count) => {
    const { headers, body = "" } = got[count - 1] ?? {};
    const rewritten = JSON.stringify(JSON.parse(body));
    const isValid = verifySignature(rewritten, headers?.["x-service-signature"], SECRET);
    return answered[answered.push(isValid ? 200 : 401) - 1];
  });
  const webhook = await it.api.create("/webhooks", {
    url,
    events: ["app.created"],
    secret: SECRET,
  });
  it.chaos.add({ effect: "reformat", webhookId: webhook.id });
  await it.create("A");
  assert.deepEqual([it.arrived(), answered], ["A", [401]]);
  await it.clock.advance("10s");
  assert.deepEqual(answered, [401, 200]);
});

test("1.chaos.reorder: a delivery waits until the webhook's next delivery is sent; settled lists it as pending meanwhile", async () => {
  await using it = await startWithChaos({ effect: "reorder" });
  const [pending, ...others] = await it.create("A", 30);
  assert.deepEqual(
    [pending?.id, pending?.event_type],
    [it.service.deliveries[0]?.id, "app.created"],
  );
  assert.deepEqual(others, []);
  await it.clock.advance("1d");
  assert.equal(it.arrived(), "");
  const wait = it.service.settled();
  await it.create("B");
  assert.deepEqual(await wait, { settled: true, pending: [] });
  assert.equal(it.arrived(), "BA");
  assert.equal(it.marks(), "reorder null, null null");
  it.chaos.clear();
  it.chaos.add({ effect: "reorder", times: 2 });
  await it.create("CDEF");
  assert.match(it.arrived(), /^BADC(EF|FE)$/, "a second one waits until the first has gone");
});

test("1.chaos.reorder: a retry to the same webhook counts as the next delivery", async () => {
  await using it = await startWithChaos(undefined, [500, 200], { retrySchedule: "5s" });
  await it.create("A");
  it.chaos.add({ effect: "reorder" });
  assert.equal((await it.create("B", 30)).length, 1);
  await it.clock.advance("10s");
  assert.equal(it.arrived(), "AB");
});

test("1.chaos.delay: a delivery is delayed by the service's clock, its log shows the time, and others are not held up", async () => {
  await using it = await startWithChaos({ effect: "delay", delayMs: 60_000 }, undefined, FIXED);
  assert.deepEqual(await it.create("AB"), []);
  const [delivery] = (await it.api.get(`/webhooks/${it.webhook.id}/deliveries`)).items;
  assert.deepEqual(
    [delivery?.status, delivery?.next_attempt_at],
    ["pending", "2026-01-01T00:01:00.000Z"],
  );
  await it.clock.advance("59999ms");
  assert.equal(it.arrived(), "B");
  await it.clock.advance("1ms");
  assert.equal(it.arrived(), "BA");
});

test("1.chaos.delay: the given number of attempts are delayed, manual ones included, and marked in the journal", async () => {
  await using it = await startWithChaos({ effect: "delay", delayMs: 60_000, times: 2 }, [500, 200]);
  await it.create("A");
  await it.again();
  await it.service.settled();
  assert.equal(it.arrived(), "");
  for (const by of ["60s", "59s"]) await it.clock.advance(by);
  assert.equal(it.receiver.received[0]?.attempts.length, 1);
  await it.clock.advance("10s");
  assert.equal(it.marks(), "delay status, delay null");
});

test("1.chaos.delay: a delayed delivery that is released early after a manual redelivery does not hold up another's retry", async () => {
  await using it = await startWithChaos({ effect: "delay", delayMs: 3_600_000 }, [500, 500, 200]);
  await it.create("A");
  await it.again();
  it.chaos.clear();
  await it.create("B");
  await it.clock.advance("10s");
  assert.equal(it.marks(), "delay status, null status, null null");
});

test("1.chaos: a rule applies only to its event type and its webhook", async () => {
  await using it = await startWithChaos();
  const types = ["app.created", "app.deleted"];
  const one = await hooked(it.api, types);
  const two = await hooked(it.api, types);
  it.chaos.add({ effect: "reorder", type: "app.deleted", webhookId: str(one.webhook.id) });
  await it.create("A");
  const [app] = (await it.api.get("/apps")).items;
  await it.api.delete(`/apps/${str(app?.id)}`);
  assert.equal((await it.service.settled({ timeoutMs: 30 })).settled, false);
  assert.deepEqual([one.received.length, two.received.length], [1, 2]);
});

test("1.chaos: an invalid rule is rejected with the name of the member", async () => {
  await using it = await startWithChaos();
  for (const [rule, message] of [
    [{ effect: "lose" }, /#\/effect must be one of/],
    [{ effect: "drop", type: "app.lost" }, /#\/type must be one of/],
    [{ effect: "drop", times: 0 }, /#\/times/],
    [{ effect: "delay" }, /#\/delayMs must be the length of the delay/],
    [{ effect: "drop", delayMs: 5 }, /#\/delayMs goes with the effect delay only/],
    [{ effect: "drop", webhook: "wh_1" }, /#\/webhook is not a known member/],
  ] as const)
    ruleRefused("chaos.add", it.chaos.add, rule, message);
});

test("1.chaos: a delivery without a matching rule is sent at once, even long before 1970", async () => {
  await using it = await startWithChaos(undefined, [], { startAt: "1960-01-01T00:00:00.000Z" });
  await it.create("A");
  assert.equal(it.arrived(), "A");
});

test("settled: it waits for attempts in flight, lists them after the timeout, and ignores those of a deleted webhook", async () => {
  await using it = await startWithChaos(undefined, ["hang"]);
  const pending = await it.create("A", 50);
  assert.equal(pending.map(({ webhook_id }) => webhook_id).join(), it.webhook.id);
  // The time left until a deadline may be a fraction or negative.
  for (const timeoutMs of [0.5, -3])
    assert.equal((await it.service.settled({ timeoutMs })).settled, false);
  await it.api.delete(`/webhooks/${it.webhook.id}`);
  assert.deepEqual(await it.service.settled({ timeoutMs: 300 }), { settled: true, pending: [] });
});

test("1.test-controls.durations: an invalid duration is rejected by name", async () => {
  await using it = await embedded();
  const { clock } = it.service;
  for (const by of ["5", "5 m", "-5m", "1y", "", 5, 0.5, undefined])
    await assert.rejects(
      Reflect.apply(clock.advance, clock, [by]),
      /^OptionError: advance must be given a duration/,
    );
  await assert.rejects(clock.advance("9999999d"), /year 9999/);
  for (const timeoutMs of ["5", "5s", Number.NaN, null])
    await assert.rejects(
      Reflect.apply(it.service.settled, it.service, [{ timeoutMs }]),
      /^OptionError: settled: timeoutMs must be a number of milliseconds/,
    );
});
