// The test controls over HTTP: off by default, open to the start-up key only. They provide all
// functions of the embedding handle.
import assert from "node:assert/strict";
import {
  type Client,
  type Context,
  choice,
  eventually,
  FIXED,
  hooked,
  members,
  str,
  titles,
} from "../support/index.ts";

/** A test of the controls, with a client whose root is the control URL. */
const controls = (title: string, use: (own: Context & { control: Client }) => Promise<void>) =>
  choice(`1.test-controls: ${title}`, { ...FIXED, control: true }, (own) =>
    use({ ...own, control: own.api.at(`${own.authUrl}/_control`) }),
  );

controls("the controls are open to the start-up key only", async ({ service, api, control }) => {
  const { access_token } = await service.signIn({ scopes: ["admin"] });
  const other = str((await api.create("/api-keys", { name: "Another" })).key);
  (await control.as(null).get("/requests")).is(401);
  for (const key of [other, access_token, "no-key-at-all"]) {
    const { status, json } = await control.as(key).get("/requests");
    assert.deepEqual([status, json.code], [403, "insufficient_scope"]);
  }
  const [own] = (await api.get("/api-keys")).items;
  (await api.delete(`/api-keys/${str(own?.id)}`)).is(204);
  (await control.post("/reset")).is(204);
  (await api.get("/apps")).is(200);
});

controls("unknown paths, methods, parameters and members are rejected", async ({ control }) => {
  for (const [method, path, body, status] of [
    ["GET", "/trace/req_never", undefined, 404],
    ["GET", "/reset", undefined, 405],
    ["POST", "/settled?timeout=soon", undefined, 400],
    ["POST", "/clock", { advanced: "5m" }, 422],
    ["POST", "/clock", { advance: "999999999999d" }, 422],
    ["POST", "/clock", {}, 422],
    ["POST", "/clock", { freeze: false }, 422],
    ["POST", "/clock", { freeze: true, resume: true }, 422],
    ["POST", "/clock", { freeze: true, advance: "1s" }, 422],
    ["POST", "/faults", { method: "GET", path: "/v1/nothing", status: 500 }, 422],
    ["POST", "/chaos", { effect: "lose" }, 422],
    ["PUT", "/snapshot", null, 422],
    ["PUT", "/snapshot", { format: 2, collections: { accounts: [{}] } }, 422],
    ["PATCH", "/account", { state: "closed" }, 422],
    ["POST", "/sign-in", { scopes: ["read:everything"] }, 422],
    ["POST", "/sign-in", { scopes: ["read:apps"], userId: "usr_never" }, 422],
  ] as const)
    (await control.call(method, path, body)).is(status, path);
});

controls("the clock can be frozen, advanced and resumed", async ({ service, api, control }) => {
  await hooked(api, ["app.created"], {}, [500, 500, 200]);
  await api.newApp();
  const settled = await control.post("/settled?timeout=5s");
  assert.deepEqual(settled.json, { settled: true, pending: [] });
  const advanced = (await control.post("/clock", { advance: "10m" })).json;
  assert.equal(advanced.now, "2026-01-01T00:10:00.000Z");
  const retries = service.deliveries[0]?.attempts.slice(1) ?? [];
  assert.deepEqual(
    advanced.ran,
    retries.map(({ at }) => ({ at, what: "webhook deliveries" })),
  );
  assert.equal(retries.length, 2);
  await control.post("/clock", { resume: true });
  await eventually(async () => service.clock.now() > Date.UTC(2026, 0, 1, 0, 10));
  const { now } = (await control.post("/clock", { freeze: true })).json;
  assert.equal((await control.post("/clock", { freeze: true })).json.now, now);
});

controls(
  "chaos rules are added and cleared, and settled lists pending deliveries after its timeout",
  async ({ api, control }) => {
    const hook = await hooked(api, ["app.created"]);
    (await control.post("/chaos", { effect: "reorder" })).is(201);
    await api.create("/apps", { title: "Held back" });
    const longest = control.post("/settled?timeout=50d");
    const { status, json, text } = await control.post("/settled?timeout=20ms");
    assert.deepEqual([status, json.settled, titles(hook)], [200, false, []]);
    assert.match(text, /"pending":\[\{"id":"dlv_/);
    (await control.delete("/chaos")).is(204);
    assert.equal((await longest).json.settled, true);
    assert.deepEqual(titles(hook), ["Held back"]);
  },
);

controls("faults are added and cleared, and apply to the API only", async ({ api, control }) => {
  const rule = { method: "GET", path: "/v1/events", status: 500, times: 3 };
  const added = await control.post("/faults", rule);
  assert.deepEqual([added.status, added.json], [201, { ...rule, delayMs: 0 }]);
  (await control.get("/events")).is(200);
  (await api.get("/events")).is(500);
  (await control.delete("/faults")).is(204);
  (await api.get("/events")).is(200);
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
      const { text } = await control.get(`/${name}`);
      assert.equal(text, JSON.stringify({ data, total: data.length }));
    }
    assert.equal(service.requests.length, 2);
    const id = created.header("X-Request-Id");
    assert.equal((await control.get(`/trace/${id}`)).text, JSON.stringify(service.trace(id)));
  },
);

controls("a snapshot can be read and restored", async ({ api, control }) => {
  await api.newApp({ title: "Old" });
  const snapshot = (await control.get("/snapshot")).json;
  await control.post("/reset");
  assert.equal((await api.get("/apps")).total, 0);
  (await control.put("/snapshot", snapshot)).is(204);
  assert.equal((await api.get("/apps")).items[0]?.title, "Old");
});

controls(
  "the account's state can be changed, even while the account is suspended",
  async ({ service, api, control }) => {
    const { json } = await control.patch("/account", { state: "suspended" });
    assert.deepEqual(json, { ...service.account, state: "suspended" });
    assert.equal((await api.get("/apps")).json.code, "account_suspended");
    (await control.patch("/account", { state: "active" })).is(200);
    (await api.get("/apps")).is(200);
  },
);

controls("sign-in issues tokens to the first admin", async ({ api, control }) => {
  const { status, json } = await control.post("/sign-in", { scopes: ["read:apps"] });
  assert.deepEqual([status, json.scope, json.expires_in], [200, "read:apps", 3_600]);
  const { json: account } = await api.as(str(json.access_token)).get("/account");
  assert.equal(members(account.user).email, "owner@example.com");
  const { id: userId } = await api.create("/users", { email: "r@example.com" });
  (await control.post("/sign-in", { scopes: ["admin"], userId })).is(422);
});
