// The test controls over HTTP (contract, part 10): off by default, open to the start-up key only. They provide all
// functions of the embedding handle. Every response is validated against the OpenAPI document.
import assert from "node:assert/strict";
import { type Context, choice } from "../support/clauses.ts";
import { type Client, members, str } from "../support/client.ts";
import { FIXED, titles } from "../support/embedded.ts";
import { hooked } from "../support/receivers.ts";
import { eventually } from "../support/wait.ts";

/** A test of the controls, with a client whose root is the control URL. */
const controls = (
  title: string,
  use: (own: Context & { readonly control: Client }) => Promise<void>,
) =>
  choice("1.test-controls", title, { ...FIXED, control: true }, (own) =>
    use({ ...own, control: own.api.at(`${own.authUrl}/_control`) }),
  );

controls(
  "the contract's control routes have their own OpenAPI document with their own operation names",
  async (own) => {
    const { document, authUrl } = own;
    const { controls } = document;
    assert.ok(controls);
    assert.deepEqual([controls.document.servers].flat(), [
      { url: authUrl, description: "This server" },
    ]);
    const found = controls.operations;
    const routes = found.map(({ method, path }) => `${method} ${path.slice("/_control".length)}`);
    assert.equal(
      routes.toSorted().join(", "),
      "DELETE /chaos, DELETE /faults, GET /deliveries, GET /events, GET /requests, GET /snapshot, " +
        "GET /trace/{request_id}, PATCH /account, POST /chaos, POST /clock, POST /faults, POST /reset, POST /settled, " +
        "POST /sign-in, PUT /snapshot",
    );
    for (const { value } of found)
      assert.deepEqual([value.tags, value.security], [["control"], [{ apiKey: [] }]]);
    assert.ok(!JSON.stringify(found).includes("Idempotency-Key"), "they remember nothing");
    assert.equal(
      found.map(({ value }) => value.operationId).join(", "),
      "changeClock, waitUntilSettled, addFault, clearFaults, addChaosRule, clearChaosRules, listRecordedRequests, " +
        "listRecordedEvents, listRecordedDeliveries, traceRequest, resetService, createSnapshot, restoreSnapshot, " +
        "setAccountState, signInUser",
    );
    assert.ok(document.api.length > 30);
    assert.deepEqual(
      document.operations,
      document.api,
      "and none of them is in the document of the REST API",
    );
    assert.match(
      JSON.stringify(document.document.info),
      /\/_control\/openapi\.json/,
      "which names it",
    );
    assert.doesNotMatch(
      JSON.stringify([document.document.paths, controls.document.paths]),
      /"servers"/,
    );
  },
);

controls("the controls are open to the start-up key only", async ({ service, api, control }) => {
  const { access_token } = await service.signIn({ scopes: ["admin"] });
  const other = str((await api.create("/api-keys", { name: "Another" })).key);
  assert.equal((await control.as(null).get("/requests")).status, 401);
  for (const key of [other, access_token, "no-key-at-all"]) {
    const answer = await control.as(key).get("/requests");
    assert.deepEqual([answer.status, answer.json.code], [403, "insufficient_scope"]);
    assert.match(str(answer.json.detail), /start-up API key/);
  }
  const [own] = (await api.get("/api-keys")).items;
  assert.equal((await api.delete(`/api-keys/${str(own?.id)}`)).status, 204);
  assert.equal((await control.post("/reset")).status, 204);
  assert.equal((await api.get("/apps")).status, 200);
});

controls(
  "unknown paths, methods, parameters and members are rejected by name",
  async ({ control }) => {
    for (const [method, path, body, status] of [
      ["GET", "/nothing", undefined, 404],
      ["GET", "/trace/", undefined, 404],
      ["GET", "/trace/req_never", undefined, 404],
      ["POST", "/settled?timeout=soon", undefined, 400],
      ["POST", "/settled?patience=5s", undefined, 400],
      ["POST", "/clock", { advanced: "5m" }, 422],
      ["POST", "/clock", {}, 422],
      ["POST", "/clock", { freeze: true, resume: true }, 422],
      ["PATCH", "/account", { state: "closed" }, 422],
      ["POST", "/sign-in", {}, 422],
      ["POST", "/sign-in", { scopes: [] }, 422],
      ["POST", "/sign-in", { scopes: ["read:everything"] }, 422],
      ["POST", "/sign-in", { scopes: ["read:apps"], userId: "usr_never" }, 422],
    ] as const)
      assert.equal((await control.call(method, path, body)).status, status, path);
    const wrong = await control.get("/reset");
    assert.deepEqual([wrong.status, wrong.header("Allow")], [405, "POST"]);
    const far = await control.post("/clock", { advance: "999999999999d" });
    assert.deepEqual(far.json.errors, [
      { pointer: "#/advance", detail: "advance must not go beyond the year 9999" },
    ]);
    assert.equal((await control.send("POST", "/clock", { body: "{}" })).status, 415);
    const { errors } = (
      await control.post("/faults", { method: "GET", path: "/v1/nothing", status: 500 })
    ).json;
    assert.deepEqual(errors, [
      { pointer: "#/path", detail: "GET /v1/nothing is no operation of the REST API" },
    ]);
  },
);

controls("the clock can be frozen, advanced and resumed", async ({ service, api, control }) => {
  const hook = await hooked(api, ["app.created"], {}, [500, 500, 200]);
  await api.create("/apps", { title: "A" });
  assert.deepEqual((await control.post("/settled?timeout=5s")).json, {
    settled: true,
    pending: [],
  });
  assert.deepEqual((await control.post("/clock", { advance: "0ms" })).json.ran, []);
  const advanced = (await control.post("/clock", { advance: "10m" })).json;
  assert.equal(advanced.now, "2026-01-01T00:10:00.000Z");
  const [, ...again] = service.deliveries[0]?.attempts ?? [];
  const ran = again.map(({ at }) => ({ at, what: "webhook deliveries" }));
  assert.deepEqual(advanced.ran, ran, "a retry that follows from another runs, too");
  assert.equal(hook.received[0]?.attempts.length, 3);
  await control.post("/clock", { resume: true });
  await eventually(async () => service.clock.now() > Date.UTC(2026, 0, 1, 0, 10));
  await control.post("/clock", { freeze: true });
  const { now } = (await control.post("/clock", { advance: "0s" })).json;
  assert.equal((await control.post("/clock", { advance: "0s" })).json.now, now);
});

controls(
  "chaos rules are added and cleared, and settled lists pending deliveries after its timeout",
  async ({ api, control }) => {
    const hook = await hooked(api, ["app.created"]);
    const rule = {
      effect: "delay",
      delayMs: 1_000,
      webhookId: hook.webhook.id,
      type: "app.created",
    };
    for (const chaos of [rule, { effect: "reorder" }])
      assert.equal((await control.post("/chaos", chaos)).status, 201);
    for (const title of ["Delayed", "Held back"]) await api.create("/apps", { title });
    const longest = control.post("/settled?timeout=50d");
    const answer = await control.post("/settled?timeout=20ms");
    assert.deepEqual([answer.status, answer.json.settled, titles(hook)], [200, false, []]);
    assert.match(answer.text, /"pending":\[\{"id":"dlv_/);
    assert.equal((await control.delete("/chaos")).status, 204);
    assert.equal((await control.post("/settled")).json.settled, true);
    assert.equal((await longest).json.settled, true);
    assert.deepEqual(titles(hook).toSorted(), ["Delayed", "Held back"]);
  },
);

controls("faults are added and cleared, and apply to the API only", async ({ api, control }) => {
  await control.post("/faults", { method: "GET", path: "/v1/events", status: 500 });
  assert.deepEqual(
    [(await control.get("/events")).status, (await api.get("/events")).status],
    [200, 500],
  );
  const rule = { method: "GET", path: "/v1/apps", status: 500, times: 3 };
  const added = await control.post("/faults", rule);
  assert.deepEqual([added.status, added.json], [201, { ...rule, delayMs: 0 }]);
  assert.equal((await api.get("/apps")).status, 500);
  assert.equal((await control.delete("/faults")).status, 204);
  assert.equal((await api.get("/apps")).status, 200);
});

controls(
  "the journals and the trace equal those of the handle, without control requests",
  async ({ service, api, control }) => {
    await control.post("/reset");
    await hooked(api, ["app.created"]);
    const created = await api.post("/apps", { title: "A" });
    await control.post("/settled");
    for (const name of ["requests", "events", "deliveries"] as const) {
      const data = service[name];
      assert.equal(
        (await control.get(`/${name}`)).text,
        JSON.stringify({ data, total: data.length }),
      );
    }
    assert.equal(service.requests.length, 2);
    const id = created.header("X-Request-Id");
    assert.deepEqual(
      (await control.get(`/trace/${id}`)).json,
      JSON.parse(JSON.stringify(service.trace(id))),
    );
  },
);

controls(
  "a snapshot can be read and restored, and an invalid one is rejected",
  async ({ api, control }) => {
    await api.create("/apps", { title: "Kept" });
    const snapshot = (await control.get("/snapshot")).json;
    await control.post("/reset");
    assert.equal((await api.get("/apps")).json.total, 0);
    assert.equal((await control.put("/snapshot", snapshot)).status, 204);
    assert.equal((await api.get("/apps")).items[0]?.title, "Kept");
    const refused = await control.put("/snapshot", { ...snapshot, format: 3 });
    assert.deepEqual([refused.status, refused.json.code], [422, "validation_failed"]);
    const strange = { format: 2, collections: { ...members(snapshot.collections), strange: [] } };
    assert.equal((await control.put("/snapshot", strange)).status, 422);
  },
);

controls(
  "the account's state can be changed, even while the account is suspended",
  async ({ service, api, control }) => {
    const { id, name } = service.account;
    const { json } = await control.patch("/account", { state: "suspended" });
    assert.deepEqual(json, { id, name, state: "suspended", user: null });
    assert.equal((await api.get("/apps")).json.code, "account_suspended");
    assert.equal((await control.patch("/account", { state: "active" })).status, 200);
    assert.equal((await api.get("/apps")).status, 200);
  },
);

controls(
  "sign-in issues tokens to the first admin or a named user, limited to the user's permissions",
  async (own) => {
    const { api, control } = own;
    const tokens = await control.post("/sign-in", { scopes: ["read:apps"] });
    assert.deepEqual(
      [tokens.status, tokens.json.scope, tokens.json.expires_in],
      [200, "read:apps", 3_600],
    );
    assert.match(str(tokens.json.refresh_token), /^ahr_/);
    const owner = members((await api.as(str(tokens.json.access_token)).get("/account")).json.user);
    assert.equal(owner.email, "owner@example.com");
    const reader = await api.create("/users", {
      email: "reader@example.com",
      permissions: ["read:data"],
    });
    const userId = str(reader.id);
    const narrowed = await control.post("/sign-in", { scopes: ["read:apps", "read:data"], userId });
    assert.equal(narrowed.json.scope, "read:data");
    const denied = await control.post("/sign-in", { scopes: ["read:apps"], userId });
    assert.deepEqual([denied.status, denied.json.code], [422, "validation_failed"]);
  },
);
