// Fault injection (contract, part 10): counted, limited to one operation, marked in the journal.
import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryStore, type Store } from "../../src/index.ts";
import { choice } from "../support/clauses.ts";
import { type Embedded, embedded, FIXED, ruleRefused, struck } from "../support/embedded.ts";
import { overridden } from "../support/other-stores.ts";
import { hooked } from "../support/receivers.ts";
import { eventually, turns } from "../support/wait.ts";

const LIST = { method: "GET", path: "/v1/apps" } as const;
const CREATE = { method: "POST", path: "/v1/apps" } as const;

const statuses = async ({ api }: Embedded, times: number) => {
  const found: number[] = [];
  for (let n = 0; n < times; n += 1) found.push((await api.get("/apps")).status);
  return found;
};

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
  assert.deepEqual(await statuses(it, 3), [503, 503, 418]);
  it.service.faults.clear();
  assert.deepEqual(await statuses(it, 1), [200]);
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

const WRONG: readonly (readonly [object, RegExp])[] = [
  [{ ...LIST, path: "/v1/nothing", status: 500 }, /#\/path GET \/v1\/nothing is no operation/],
  [{ ...LIST, method: "PATCH", status: 500 }, /PATCH \/v1\/apps is no operation/],
  [{ ...LIST, path: "/apps", status: 500 }, /GET \/apps is no operation/],
  [{ ...LIST, path: "/v1/apps/{id}", status: 500 }, /GET \/v1\/apps\/\{id\} is no operation/],
  [
    { ...LIST, path: "/v1/apps/app_1?x=1", status: 500 },
    /GET \/v1\/apps\/app_1\?x=1 is no operation/,
  ],
  [{ ...LIST, method: "get", status: 500 }, /#\/method must be one of/],
  [{ ...LIST, status: 399 }, /#\/status must be a whole number from 400 to 599/],
  [{ ...LIST, status: 600 }, /#\/status must be/],
  [{ ...LIST, status: 500, times: 0 }, /#\/times must be/],
  [{ ...LIST, status: 500, delay: 5 }, /#\/delay is not a known member/],
  [{ ...LIST, status: 500, connection: "reset" }, /#\/connection sends no response/],
  [LIST, /must have a status, a connection or a delayMs/],
];

test("a rule that can never match is rejected by name, and members set to undefined are ignored", async () => {
  await using it = await embedded();
  for (const [rule, message] of WRONG)
    ruleRefused("faults.add", it.service.faults.add, rule, message);
  const rule = { ...LIST, connection: "reset" } as const;
  assert.deepEqual(it.service.faults.add({ ...rule, status: undefined }), {
    ...rule,
    times: 1,
    delayMs: 0,
  });
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

test("a delay runs on the service's clock and needs no other effect", async () => {
  await using it = await embedded(FIXED);
  it.service.faults.add({ ...LIST, delayMs: 5_000 });
  let answered = false;
  const answer = it.api.get("/apps").finally(() => {
    answered = true;
  });
  await struck(it);
  await it.service.clock.advance("4999ms");
  await it.api.get("/account");
  assert.equal(answered, false);
  const ran = await it.service.clock.advance("1ms");
  assert.deepEqual(ran, [{ at: "2026-01-01T00:00:05.000Z", what: "delayed request" }]);
  assert.equal((await answer).status, 200);
  it.service.faults.add({ ...LIST, delayMs: 5_000, status: 503 });
  const other = it.api.get("/apps");
  await struck(it);
  it.service.faults.clear();
  assert.equal((await other).status, 503, "what is cleared goes on");
  assert.deepEqual(await it.service.clock.advance("5s"), [], "and not once more");
});

test("an advance waits at a delayed request's time until the request and its deliveries are done", async () => {
  const real = memoryStore();
  const transact: Store["transact"] = async (work) => {
    await turns(5);
    return real.transact(work);
  };
  await using it = await embedded({ ...FIXED, store: overridden(real, { transact }) });
  await hooked(it.api, ["app.created"]);
  it.service.faults.add({ ...CREATE, delayMs: 5_000 });
  it.service.faults.add({ ...LIST, delayMs: 60_000 });
  const [answer, other] = [it.api.post("/apps", { title: "Late" }), it.api.get("/apps")];
  await struck(it, 2);
  await it.service.clock.advance("1h");
  await other;
  assert.equal((await answer).json.created_at, "2026-01-01T00:00:05.000Z");
  assert.equal(it.service.deliveries[0]?.attempts[0]?.at, "2026-01-01T00:00:05.000Z");
});

test("a delayed request whose client has disconnected does not hold up others", async () => {
  await using it = await embedded();
  it.service.faults.add({ ...CREATE, delayMs: 5_000 });
  const answer = it.api.post("/apps", { title: "Never" });
  await struck(it);
  it.api.close();
  await assert.rejects(answer, /socket hang up/);
  await eventually(async () => (await it.api.get("/account")).status === 200);
  await it.service.clock.advance("5s");
  assert.deepEqual(await it.service.settled(), { settled: true, pending: [] });
  assert.equal((await it.api.get("/apps")).json.total, 0);
});

choice(
  "1.test-controls.fault-place",
  "the operation is not run, so a retry with the same idempotency key succeeds",
  async () => {
    await using it = await embedded();
    it.service.faults.add({ ...CREATE, status: 503 });
    const again = { "Idempotency-Key": "k" };
    assert.equal(
      (await it.api.post("/apps", { title: "A" }, again)).json.code,
      "storage_unavailable",
    );
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
    assert.equal(
      (await it.api.as(access_token).delete("/apps/app_1")).json.code,
      "insufficient_scope",
    );
    assert.equal((await it.api.delete("/apps/app_1")).status, 500);
  },
);

/** The code of the server's own error with each status. */
const CODES = {
  400: "invalid_json",
  401: "expired_credential",
  403: "rate_limit_exceeded",
  404: "not_found",
  405: "method_not_allowed",
  408: "request_timeout",
  409: "idempotency_in_progress",
  412: "precondition_failed",
  413: "payload_too_large",
  414: "uri_too_long",
  415: "unsupported_media_type",
  422: "validation_failed",
  429: "injected_fault",
  431: "headers_too_large",
  500: "internal_error",
  503: "storage_unavailable",
};

test("a fault's response equals the server's own response with that status", async () => {
  await using it = await embedded();
  for (const [text, code] of Object.entries(CODES)) {
    const status = Number(text);
    it.service.faults.add({ ...LIST, status });
    const answer = await it.api.get("/apps");
    const { headers, json } = answer;
    assert.deepEqual([answer.status, json.status, json.code], [status, status, code]);
    assert.equal(json.instance, headers["x-request-id"]);
    assert.equal("errors" in json, status === 400 || status === 422);
    assert.match(String(json.detail), /[^.]\.$/);
    assert.match(answer.header("Content-Type"), /^application\/problem\+json/);
    assert.equal("www-authenticate" in headers, status === 401);
    assert.equal("retry-after" in headers, status === 403);
  }
});
