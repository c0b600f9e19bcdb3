// Fault injection for requests and chaos rules for deliveries: counted, limited, marked in the journals. Also settled,
// and the clock under the test's control.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { API_ROUTES } from "../../src/http/api.ts";
import type { HttpRequest } from "../../src/http/message.ts";
import { type ChaosRule, memoryStore, type ReceiverAnswer, type Store } from "../../src/index.ts";
import { AdjustableClock } from "../../src/lib/clock.ts";
import { TaskTracker } from "../../src/lib/tasks.ts";
import { createFaults } from "../../src/testing/faults.ts";
import { choice } from "../support/clauses.ts";
import { str } from "../support/client.ts";
import { closeLater } from "../support/closing.ts";
import { embedded, FIXED, ruleRefused, struck, titles } from "../support/embedded.ts";
import { overridden } from "../support/other-stores.ts";
import { hooked, SECRET } from "../support/receivers.ts";
import { eventually, turns } from "../support/wait.ts";

const LIST = { method: "GET", path: "/v1/apps" } as const;
const CREATE = { method: "POST", path: "/v1/apps" } as const;

test("a fault replaces one response of its operation and is marked in the journal", async () => {
  await using it = await embedded();
  it.service.faults.add({ ...CREATE, status: 500 });
  await it.api.get("/apps");
  assert.equal((await it.api.post("/apps", { title: "A" })).json.code, "internal_error");
  assert.equal((await it.api.get("/apps")).total, 0);
  await it.api.post("/apps", { title: "A" });
  const recorded = it.service.requests.map(({ status, fault }) => `${status} ${fault?.status}`);
  assert.deepEqual(recorded, ["200 undefined", "500 500", "200 undefined", "201 undefined"]);
});

test("times limits a rule, rules apply in their order, and clear removes them", async () => {
  await using it = await embedded();
  it.service.faults.add({ ...LIST, status: 503, times: 2 });
  it.service.faults.add({ ...LIST, status: 418, times: 9 });
  for (const status of [503, 503, 418]) (await it.api.get("/apps")).is(status);
  it.service.faults.clear();
  (await it.api.get("/apps")).is(200);
});

test("a rule's path is a template or the path of one resource, and HEAD matches GET", async () => {
  await using it = await embedded();
  const one = await it.api.create("/apps", { title: "One" });
  const two = await it.api.create("/apps", { title: "Two" });
  it.service.faults.add({ method: "GET", path: `/v1/apps/${one.id}`, status: 500 });
  (await it.api.get(`/apps/${two.id}`)).is(200);
  (await it.api.get(`/apps/${one.id}`)).is(500);
  it.service.faults.add({ method: "GET", path: "/v1/apps/{app_id}", status: 500 });
  (await it.api.head(`/apps/${two.id}`)).is(500);
});

test("an invalid rule, or one that can never match, is rejected by name", async () => {
  await using it = await embedded();
  const { add } = it.service.faults;
  for (const [fields, message] of [
    [{ path: "/v1/nothing" }, "#/path GET /v1/nothing is no operation"],
    [{ path: "/v1/apps/{id}" }, "GET /v1/apps/{id} is no operation"],
    [{ path: "/v1/apps/app_1?x=1" }, "is no operation"],
    [{ status: 399 }, "#/status must be a whole number from 400 to 599"],
    [{ delay: 5 }, "#/delay is not a known member"],
    [{ status: undefined }, "must have a status, a connection or a delayMs"],
  ] as const)
    ruleRefused("faults.add", add, { ...LIST, status: 500, ...fields }, message);
});

test("a fault can reset or close the connection without a response; the journal shows both without a status", async () => {
  await using it = await embedded();
  it.service.faults.add({ ...CREATE, connection: "reset" });
  await assert.rejects(it.api.post("/apps", { title: "A" }), /ECONNRESET/);
  it.service.faults.add({ ...LIST, connection: "empty" });
  await assert.rejects(it.api.get("/apps"), /socket hang up/);
  const recorded = it.service.requests.map(({ status, fault }) => `${status} ${fault?.connection}`);
  assert.deepEqual(recorded, ["null reset", "null empty"]);
  assert.equal((await it.api.get("/apps")).total, 0);
});

test("a delay runs on the service's clock, and an advance waits for the request and its deliveries", async () => {
  const real = memoryStore();
  const transact: Store["transact"] = async (work) => {
    await turns(5);
    return real.transact(work);
  };
  await using it = await embedded({ ...FIXED, store: overridden(real, { transact }) });
  await hooked(it.api, ["app.created"]);
  it.service.faults.add({ ...CREATE, delayMs: 5_000 });
  const delayed = it.api.post("/apps", { title: "Late" });
  await struck(it);
  await it.service.clock.advance("4999ms");
  assert.equal((await it.api.get("/apps")).total, 0);
  const at = "2026-01-01T00:00:05.000Z";
  const ran = await it.service.clock.advance("1h");
  assert.deepEqual(ran[0], { at, what: "delayed request" });
  assert.equal(it.service.deliveries[0]?.attempts[0]?.at, at);
  assert.equal((await delayed).json.created_at, at);
});

test("clear lets a delayed request go on", async () => {
  await using it = await embedded();
  it.service.faults.add({ ...LIST, delayMs: 5_000, status: 503 });
  const delayed = it.api.get("/apps");
  await struck(it);
  it.service.faults.clear();
  (await delayed).is(503);
  assert.deepEqual(await it.service.clock.advance("5s"), []);
});

test("a delayed request that fails reports its error to its caller only", async () => {
  const reported: unknown[] = [];
  const clock = new AdjustableClock(0);
  const tasks = new TaskTracker((error) => reported.push(error));
  const faults = createFaults({ clock, tasks, annotate: () => {} });
  const operation = API_ROUTES.find("/apps")?.methods.get("GET");
  assert.ok(operation);
  faults.add({ ...LIST, delayMs: 5 });
  const request = { id: "req_1", path: LIST.path } as HttpRequest;
  const fails = () => Promise.reject(new Error("full"));
  const rejected = assert.rejects(faults.apply(request, operation, fails), /full/);
  await clock.advance(5, () => tasks.idle());
  await rejected;
  assert.deepEqual(reported, []);
});

choice(
  "1.test-controls.fault-place",
  "the operation is not run, so a retry with the same idempotency key succeeds",
  async () => {
    await using it = await embedded();
    it.service.faults.add({ ...CREATE, status: 503 });
    const again = { "Idempotency-Key": "k" };
    (await it.api.post("/apps", { title: "A" }, again)).is(503);
    const { status, headers } = await it.api.post("/apps", { title: "A" }, again);
    assert.deepEqual([status, headers["idempotency-replayed"]], [201, undefined]);
  },
);

choice(
  "1.test-controls.fault-place",
  "an unauthorized request gets its own error and uses up no fault",
  async () => {
    await using it = await embedded();
    it.service.faults.add({ method: "DELETE", path: "/v1/apps/{app_id}", status: 500 });
    const { access_token } = await it.service.signIn({ scopes: ["read:apps"] });
    (await it.api.as(null).delete("/apps/app_1")).is(401);
    (await it.api.as(access_token).delete("/apps/app_1")).is(403);
    (await it.api.delete("/apps/app_1")).is(500);
  },
);

test("a fault's response is a problem with a code of its status", async () => {
  await using it = await embedded();
  for (const [status, code] of [
    [401, "expired_credential"],
    [403, "rate_limit_exceeded"],
    [422, "validation_failed"],
    [429, "injected_fault"],
    [500, "internal_error"],
  ] as const) {
    it.service.faults.add({ ...LIST, status });
    const answer = await it.api.get("/apps");
    const { headers, json } = answer;
    assert.deepEqual([answer.status, json.status, json.code], [status, status, code]);
    assert.equal(json.instance, headers["x-request-id"]);
    assert.match(answer.header("Content-Type"), /^application\/problem\+json/);
    assert.equal("www-authenticate" in headers, status === 401);
    assert.equal("retry-after" in headers, status === 403);
  }
});

/** Starts a service with one webhook, whose deliveries are subject to this chaos rule. */
async function startWithChaos(rule?: ChaosRule, answers?: readonly ReceiverAnswer[]) {
  const own = await embedded(FIXED);
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
  const { clock, chaos } = service;
  return { ...own, clock, chaos, webhook, receiver, create, arrived, marks };
}

test("1.chaos.duplicate: the receiver gets the same attempt twice, and the log records one", async () => {
  await using it = await startWithChaos({ effect: "duplicate" });
  assert.deepEqual(await it.create("AB"), []);
  const sent = it.receiver.received.map(({ attempts }) =>
    attempts.map(({ headers }) => headers["x-service-attempt"]),
  );
  assert.deepEqual(sent, [["1", "1"], ["1"]]);
  assert.equal(it.marks(), "duplicate null, null null");
});

test("1.chaos.duplicate: no duplicate is sent after a close or a reset", async () => {
  for (const end of ["close", "reset"] as const) {
    await using it = await startWithChaos({ effect: "duplicate" }, ["hang"]);
    await it.create("A", 30);
    const { attempts } = await it.receiver.next("app.created");
    await it.service[end]();
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
});

test("1.chaos.bad_signature: a correct receiver rejects the attempt and accepts the next one", async () => {
  await using it = await startWithChaos({ effect: "bad_signature" });
  await it.create("A");
  assert.equal(it.arrived(), "");
  await it.clock.advance("10s");
  assert.equal(it.arrived(), "A");
  assert.equal(it.marks(), "bad_signature status, null null");
});

test("1.chaos.reformat: the body is the same JSON in other bytes with valid signatures, for the given number of times", async () => {
  await using it = await startWithChaos({ effect: "reformat", times: 2 });
  for (const title of [String.raw`a": "b\", {"c":1}`, "B", "C"])
    await it.api.create("/apps", { title });
  await it.service.settled();
  assert.equal(it.marks(), "reformat null, reformat null, null null");
  for (const [at, { attempts }] of it.receiver.received.entries()) {
    const { headers, rawBody = "" } = attempts[0] ?? {};
    const event = JSON.stringify(it.service.events[at]);
    assert.equal(JSON.stringify(JSON.parse(rawBody)), event);
    assert.equal(rawBody === event, at === 2);
    assert.equal(headers?.["content-length"], String(Buffer.byteLength(rawBody)));
    const signed = `${headers?.["webhook-id"]}.${headers?.["webhook-timestamp"]}.${rawBody}`;
    const signature = createHmac("sha256", SECRET).update(signed).digest("base64");
    assert.equal(headers?.["webhook-signature"], `v1,${signature}`);
  }
});

test("1.chaos.reorder: a delivery waits until the webhook's next delivery is sent; settled lists it as pending meanwhile", async () => {
  await using it = await startWithChaos({ effect: "reorder" });
  assert.deepEqual(await it.create("A", 30), it.service.deliveries);
  await it.clock.advance("1d");
  assert.equal(it.arrived(), "");
  const wait = it.service.settled();
  await it.create("B");
  assert.deepEqual(await wait, { settled: true, pending: [] });
  assert.equal(it.arrived(), "BA");
  assert.equal(it.marks(), "reorder null, null null");
  it.chaos.add({ effect: "reorder", times: 2 });
  await it.create("CDEF");
  assert.match(it.arrived(), /^BADC(EF|FE)$/, "a second one waits until the first has gone");
});

test("1.chaos.delay: a delivery is delayed by the service's clock, its log shows the time, and others are not held up", async () => {
  await using it = await startWithChaos({ effect: "delay", delayMs: 60_000 });
  assert.deepEqual(await it.create("AB"), []);
  assert.equal(it.service.deliveries[0]?.next_attempt_at, "2026-01-01T00:01:00.000Z");
  await it.clock.advance("59999ms");
  assert.equal(it.arrived(), "B");
  await it.clock.advance("1ms");
  assert.equal(it.arrived(), "BA");
  assert.equal(it.marks(), "delay null, null null");
});

test("1.chaos: clear removes the rules and releases a delivery that was held back", async () => {
  await using it = await startWithChaos({ effect: "reorder" });
  await it.create("A", 30);
  it.chaos.add({ effect: "drop", times: 9 });
  it.chaos.clear();
  assert.deepEqual(await it.create("B"), []);
  assert.match(it.arrived(), /^(AB|BA)$/);
});

test("1.chaos: a rule applies only to its event type and its webhook", async () => {
  await using it = await startWithChaos();
  const types = ["app.created", "app.deleted"];
  const one = await hooked(it.api, types);
  const two = await hooked(it.api, types);
  it.chaos.add({ effect: "reorder", type: "app.deleted", webhookId: str(two.webhook.id) });
  const { id } = await it.api.create("/apps", { title: "A" });
  await it.api.delete(`/apps/${id}`);
  await eventually(async () => one.received.length === 2 && two.received.length === 1);
  assert.equal((await it.service.settled({ timeoutMs: 30 })).settled, false);
  assert.deepEqual([one.received.length, two.received.length], [2, 1]);
});

test("1.chaos: an invalid rule is rejected with the name of the member", async () => {
  await using it = await startWithChaos();
  for (const [rule, message] of [
    [{ effect: "lose" }, "#/effect must be one of"],
    [{ effect: "drop", type: "app.lost" }, "#/type must be one of"],
    [{ effect: "drop", times: 0 }, "#/times"],
    [{ effect: "delay" }, "#/delayMs must be the length of the delay"],
    [{ effect: "drop", webhook: "wh_1" }, "#/webhook is not a known member"],
  ] as const)
    ruleRefused("chaos.add", it.chaos.add, rule, message);
});

test("settled: it lists attempts in flight after the timeout, and ignores those of a deleted webhook", async () => {
  await using it = await startWithChaos(undefined, ["hang"]);
  const pending = await it.create("A", 50);
  assert.equal(pending.map(({ webhook_id }) => webhook_id).join(), it.webhook.id);
  for (const timeoutMs of [0.5, -3, Number.NaN])
    assert.equal((await it.service.settled({ timeoutMs })).settled, false);
  await it.api.delete(`/webhooks/${it.webhook.id}`);
  assert.deepEqual(await it.service.settled({ timeoutMs: 300 }), { settled: true, pending: [] });
});

test("1.test-controls.durations: an invalid duration is rejected by name", async () => {
  await using it = await embedded();
  const { clock } = it.service;
  for (const by of ["5", "5 m", "-5m", "1y", "", 5, undefined, "9999999d"])
    await assert.rejects(
      clock.advance(by as string),
      /^OptionError: advance must be a duration such as/,
    );
});
