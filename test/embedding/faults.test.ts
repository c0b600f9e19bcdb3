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
import {
  closeLater,
  embedded,
  eventually,
  FIXED,
  hooked,
  overridden,
  ruleRefused,
  SECRET,
  served,
  str,
  struck,
  titles,
  turns,
} from "../support/index.ts";

const LIST = { method: "GET", path: "/v1/apps" } as const;
const CREATE = { method: "POST", path: "/v1/apps" } as const;

served(
  "a fault replaces one response of its operation and is marked in the journal",
  async ({ api, service }) => {
    service.faults.add({ ...CREATE, status: 500 });
    await api.get("/apps");
    assert.equal((await api.post("/apps", { title: "A" })).json.code, "internal_error");
    assert.equal((await api.get("/apps")).total, 0);
    await api.post("/apps", { title: "A" });
    const recorded = service.requests.map(({ status, fault }) => `${status} ${fault?.status}`);
    assert.deepEqual(recorded, ["200 undefined", "500 500", "200 undefined", "201 undefined"]);
  },
);

served(
  "times limits a rule, rules apply in their order, and clear removes them",
  async ({ api, service }) => {
    service.faults.add({ ...LIST, status: 503, times: 2 });
    service.faults.add({ ...LIST, status: 418, times: 9 });
    for (const status of [503, 503, 418]) (await api.get("/apps")).is(status);
    service.faults.clear();
    (await api.get("/apps")).is(200);
  },
);

served(
  "a rule's path is a template or the path of one resource, and HEAD matches GET",
  async ({ api, service }) => {
    const one = await api.newApp();
    const two = await api.newApp();
    service.faults.add({ method: "GET", path: `/v1/apps/${one.id}`, status: 500 });
    (await api.get(`/apps/${two.id}`)).is(200);
    (await api.get(`/apps/${one.id}`)).is(500);
    service.faults.add({ method: "GET", path: "/v1/apps/{app_id}", status: 500 });
    (await api.head(`/apps/${two.id}`)).is(500);
  },
);

served("an invalid rule, or one that can never match, is rejected by name", async ({ service }) => {
  const { add } = service.faults;
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

served(
  "a fault can reset or close the connection without a response; the journal shows both without a status",
  async ({ api, service }) => {
    service.faults.add({ ...CREATE, connection: "reset" });
    await assert.rejects(api.post("/apps", { title: "A" }), /ECONNRESET/);
    service.faults.add({ ...LIST, connection: "empty" });
    await assert.rejects(api.get("/apps"), /socket hang up/);
    const recorded = service.requests.map(({ status, fault }) => `${status} ${fault?.connection}`);
    assert.deepEqual(recorded, ["null reset", "null empty"]);
    assert.equal((await api.get("/apps")).total, 0);
  },
);

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

served("clear lets a delayed request go on", async (it) => {
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

served(
  "1.test-controls.fault-place: the operation is not run, so a retry with the same idempotency key succeeds",
  async ({ api, service }) => {
    service.faults.add({ ...CREATE, status: 503 });
    const again = { "Idempotency-Key": "k" };
    (await api.post("/apps", { title: "A" }, again)).is(503);
    const { status, headers } = await api.post("/apps", { title: "A" }, again);
    assert.deepEqual([status, headers["idempotency-replayed"]], [201, undefined]);
  },
);

served(
  "1.test-controls.fault-place: an unauthorized request gets its own error and uses up no fault",
  async ({ api, service }) => {
    service.faults.add({ method: "DELETE", path: "/v1/apps/{app_id}", status: 500 });
    const { access_token } = await service.signIn({ scopes: ["read:apps"] });
    (await api.as(null).delete("/apps/app_1")).is(401);
    (await api.as(access_token).delete("/apps/app_1")).is(403);
    (await api.delete("/apps/app_1")).is(500);
  },
);

served("a fault's response is a problem with a code of its status", async ({ api, service }) => {
  for (const [status, code] of [
    [401, "expired_credential"],
    [403, "rate_limit_exceeded"],
    [422, "validation_failed"],
    [429, "injected_fault"],
    [500, "internal_error"],
  ] as const) {
    service.faults.add({ ...LIST, status });
    const answer = await api.get("/apps");
    const { headers, json } = answer;
    assert.deepEqual([answer.status, json.status, json.code], [status, status, code]);
    assert.ok(json.title);
    assert.equal(json.instance, headers["x-request-id"]);
    assert.match(answer.header("Content-Type"), /^application\/problem\+json/);
    assert.equal("www-authenticate" in headers, status === 401);
    assert.equal(headers["retry-after"], status === 403 ? "1" : undefined);
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

type Chaos = Awaited<ReturnType<typeof startWithChaos>>;

const underChaos = (
  title: string,
  setting: Parameters<typeof startWithChaos>,
  run: (own: Chaos) => Promise<void>,
) =>
  test(title, async () => {
    await using own = await startWithChaos(...setting);
    await run(own);
  });

underChaos(
  "1.chaos.duplicate: the receiver gets the same attempt twice, and the log records one",
  [{ effect: "duplicate" }],
  async ({ create, marks, receiver }) => {
    assert.deepEqual(await create("AB"), []);
    const sent = receiver.received.map(({ attempts }) =>
      attempts.map(({ headers }) => headers["x-service-attempt"]),
    );
    assert.deepEqual(sent, [["1", "1"], ["1"]]);
    assert.equal(marks(), "duplicate null, null null");
  },
);

test("1.chaos.duplicate: no duplicate is sent after a close or a reset", async () => {
  for (const end of ["close", "reset"] as const) {
    await using it = await startWithChaos({ effect: "duplicate" }, ["hang"]);
    await it.create("A", 30);
    const { attempts } = await it.receiver.next("app.created");
    await it.service[end]();
    assert.equal(attempts.length, 1, end);
  }
});

for (const [effect, error, title] of [
  ["drop", "dropped", "nothing arrives, the attempt counts as failed and is retried"],
  ["bad_signature", "status", "a correct receiver rejects the attempts and accepts the next one"],
] as const)
  underChaos(
    `1.chaos.${effect}: ${title}`,
    [{ effect, times: 2 }],
    async ({ arrived, clock, create, marks }) => {
      assert.deepEqual(await create("A"), []);
      assert.equal(arrived(), "");
      for (const by of ["10s", "10m"]) await clock.advance(by);
      assert.equal(arrived(), "A");
      assert.equal(marks(), `${effect} ${error}, ${effect} ${error}, null null`);
    },
  );

underChaos(
  "1.chaos.reformat: the body is the same JSON in other bytes with valid signatures, for the given number of times",
  [{ effect: "reformat", times: 2 }],
  async ({ api, marks, receiver, service }) => {
    for (const title of [String.raw`a": "b\", {"c":1}`, "B", "C"])
      await api.create("/apps", { title });
    await service.settled();
    assert.equal(marks(), "reformat null, reformat null, null null");
    for (const [at, { attempts }] of receiver.received.entries()) {
      const { headers, rawBody = "" } = attempts[0] ?? {};
      const event = JSON.stringify(service.events[at]);
      assert.equal(JSON.stringify(JSON.parse(rawBody)), event);
      assert.equal(rawBody === event, at === 2);
      assert.equal(headers?.["content-length"], String(Buffer.byteLength(rawBody)));
      const signed = `${headers?.["webhook-id"]}.${headers?.["webhook-timestamp"]}.${rawBody}`;
      const signature = createHmac("sha256", SECRET).update(signed).digest("base64");
      assert.equal(headers?.["webhook-signature"], `v1,${signature}`);
    }
  },
);

underChaos(
  "1.chaos.reorder: a delivery waits until the webhook's next delivery is sent; settled lists it as pending meanwhile",
  [{ effect: "reorder" }],
  async ({ arrived, chaos, clock, create, marks, service }) => {
    assert.deepEqual(await create("A", 30), service.deliveries);
    await clock.advance("1d");
    assert.equal(arrived(), "");
    const wait = service.settled();
    await create("B");
    assert.deepEqual(await wait, { settled: true, pending: [] });
    assert.equal(arrived(), "BA");
    assert.equal(marks(), "reorder null, null null");
    chaos.add({ effect: "reorder", times: 2 });
    await create("CDEF");
    assert.match(arrived(), /^BADC(EF|FE)$/, "a second one waits until the first has gone");
  },
);

underChaos(
  "1.chaos.delay: a delivery is delayed by the service's clock, its log shows the time, and others are not held up",
  [{ effect: "delay", delayMs: 60_000 }],
  async ({ arrived, clock, create, marks, service }) => {
    assert.deepEqual(await create("AB"), []);
    assert.equal(service.deliveries[0]?.next_attempt_at, "2026-01-01T00:01:00.000Z");
    await clock.advance("59999ms");
    assert.equal(arrived(), "B");
    await clock.advance("1ms");
    assert.equal(arrived(), "BA");
    assert.equal(marks(), "delay null, null null");
  },
);

underChaos(
  "1.chaos: clear removes the rules and releases a delivery that was held back",
  [{ effect: "reorder" }],
  async ({ arrived, chaos, create }) => {
    await create("A", 30);
    chaos.add({ effect: "drop", times: 9 });
    chaos.clear();
    assert.deepEqual(await create("B"), []);
    assert.match(arrived(), /^(AB|BA)$/);
  },
);

underChaos(
  "1.chaos: a rule applies only to its event type and its webhook",
  [],
  async ({ api, chaos, service }) => {
    const types = ["app.created", "app.deleted"];
    const one = await hooked(api, types);
    const two = await hooked(api, types);
    chaos.add({ effect: "reorder", type: "app.deleted", webhookId: str(two.webhook.id) });
    const { id } = await api.newApp();
    await api.delete(`/apps/${id}`);
    await eventually(async () => one.received.length === 2 && two.received.length === 1);
    assert.equal((await service.settled({ timeoutMs: 30 })).settled, false);
    assert.deepEqual([one.received.length, two.received.length], [2, 1]);
  },
);

underChaos(
  "1.chaos: an invalid rule is rejected with the name of the member",
  [],
  async ({ chaos }) => {
    for (const [rule, message] of [
      [{ effect: "lose" }, "#/effect must be one of"],
      [{ effect: "drop", type: "app.lost" }, "#/type must be one of"],
      [{ effect: "drop", times: 0 }, "#/times"],
      [{ effect: "delay" }, "#/delayMs must be the length of the delay"],
      [{ effect: "drop", webhook: "wh_1" }, "#/webhook is not a known member"],
    ] as const)
      ruleRefused("chaos.add", chaos.add, rule, message);
  },
);

underChaos(
  "settled: it lists attempts in flight after the timeout, and ignores those of a deleted webhook",
  [undefined, ["hang"]],
  async ({ api, create, service, webhook }) => {
    const pending = await create("A", 50);
    assert.equal(pending.map(({ webhook_id }) => webhook_id).join(), webhook.id);
    for (const timeoutMs of [0.5, -3, Number.NaN])
      assert.equal((await service.settled({ timeoutMs })).settled, false);
    await api.delete(`/webhooks/${webhook.id}`);
    assert.deepEqual(await service.settled({ timeoutMs: 300 }), { settled: true, pending: [] });
  },
);

served(
  "1.test-controls.durations: an invalid duration is rejected by name",
  async ({ service }) => {
    const { clock } = service;
    for (const by of ["5", "5 m", "-5m", "1y", "", 5, undefined, "9999999d"])
      await assert.rejects(
        clock.advance(by as string),
        /^OptionError: advance must be a duration such as/,
      );
  },
);
