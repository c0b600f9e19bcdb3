// Fault injection (contract, part 10): counted, limited to one operation, marked in the journal.
import assert from "node:assert/strict";
import { test } from "node:test";
import { API } from "../../src/http/api.ts";
import type { HttpRequest } from "../../src/http/message.ts";
import { memoryStore, type Store } from "../../src/index.ts";
import { AdjustableClock } from "../../src/lib/clock.ts";
import { TaskTracker } from "../../src/lib/tasks.ts";
import { createFaults } from "../../src/testing/faults.ts";
import { choice } from "../support/clauses.ts";
import { embedded, FIXED, ruleRefused, struck } from "../support/embedded.ts";
import { overridden } from "../support/other-stores.ts";
import { hooked } from "../support/receivers.ts";
import { turns } from "../support/wait.ts";

const LIST = { method: "GET", path: "/v1/apps" } as const;
const CREATE = { method: "POST", path: "/v1/apps" } as const;

test("a fault replaces one response of its operation and is marked in the journal", async () => {
  await using it = await embedded();
  it.service.faults.add({ ...CREATE, status: 500 });
  await it.api.get("/apps");
  assert.equal((await it.api.post("/apps", { title: "A" })).json.code, "internal_error");
  assert.equal((await it.api.get("/apps")).json.total, 0);
  await it.api.post("/apps", { title: "A" });
  const recorded = it.service.requests.map(({ status, fault }) => `${status} ${fault?.status}`);
  assert.deepEqual(recorded, ["200 undefined", "500 500", "200 undefined", "201 undefined"]);
});

test("times limits a rule, rules apply in their order, and clear removes them", async () => {
  await using it = await embedded();
  it.service.faults.add({ ...LIST, status: 503, times: 2 });
  it.service.faults.add({ ...LIST, status: 418, times: 9 });
  for (const status of [503, 503, 418]) assert.equal((await it.api.get("/apps")).status, status);
  it.service.faults.clear();
  assert.equal((await it.api.get("/apps")).status, 200);
});

test("a rule's path is a template or the path of one resource, and HEAD matches GET", async () => {
  await using it = await embedded();
  const one = await it.api.create("/apps", { title: "One" });
  const two = await it.api.create("/apps", { title: "Two" });
  it.service.faults.add({ method: "GET", path: `/v1/apps/${one.id}`, status: 500 });
  assert.equal((await it.api.get(`/apps/${two.id}`)).status, 200);
  assert.equal((await it.api.get(`/apps/${one.id}`)).status, 500);
  it.service.faults.add({ method: "GET", path: "/v1/apps/{app_id}", status: 500 });
  assert.equal((await it.api.head(`/apps/${two.id}`)).status, 500);
});

test("an invalid rule, or one that can never match, is rejected by name", async () => {
  await using it = await embedded();
  const { add } = it.service.faults;
  for (const [fields, message] of [
    [{ path: "/v1/nothing" }, /#\/path GET \/v1\/nothing is no operation/],
    [{ path: "/v1/apps/{id}" }, /GET \/v1\/apps\/\{id\} is no operation/],
    [{ path: "/v1/apps/app_1?x=1" }, /is no operation/],
    [{ status: 399 }, /#\/status must be a whole number from 400 to 599/],
    [{ delay: 5 }, /#\/delay is not a known member/],
    [{ status: undefined }, /must have a status, a connection or a delayMs/],
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
  assert.equal((await it.api.get("/apps")).json.total, 0);
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
  assert.equal((await it.api.get("/apps")).json.total, 0);
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
  assert.equal((await delayed).status, 503);
  assert.deepEqual(await it.service.clock.advance("5s"), []);
});

test("a delayed request that fails reports its error to its caller only", async () => {
  const reported: unknown[] = [];
  const clock = new AdjustableClock(0);
  const tasks = new TaskTracker((error) => reported.push(error));
  const faults = createFaults({ clock, tasks, annotate: () => {} });
  const operation = API.find("/apps")?.methods.get("GET");
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
    assert.equal((await it.api.post("/apps", { title: "A" }, again)).status, 503);
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
    assert.equal((await it.api.as(null).delete("/apps/app_1")).status, 401);
    assert.equal((await it.api.as(access_token).delete("/apps/app_1")).status, 403);
    assert.equal((await it.api.delete("/apps/app_1")).status, 500);
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
