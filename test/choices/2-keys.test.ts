// API keys, OAuth clients and the account as resources (contract, parts 2 and 4). What a credential opens is part 5.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { fieldRule, ISO_TIME, idOf, NOT_FLAG, NOT_TEXT, requiredFields, wide } from "../support/fields.ts";
import { invalid, problem } from "../support/problem.ts";
import { eventually } from "../support/wait.ts";

const CLIENT = { name: "Mailer", redirect_uris: ["https://c.example.com/cb"], scopes: ["read:apps"] };

choice("8.bounds.id-prefixes", "say what an id belongs to", async ({ api }) => {
  const hook = { url: "https://hooks.example.com/in", events: ["app.created"], active: false };
  for (const [path, prefix, body] of [
    ["/data-sources", "ds", { name: "N", type: "json", data: [] }],
    ["/users", "usr", { email: "prefix@example.com" }],
    ["/webhooks", "wh", hook],
    ["/api-keys", "key", { name: "K" }],
    ["/oauth-clients", "cli", CLIENT],
  ] as const)
    assert.match((await api.create(path, body)).id, idOf(prefix));
});

choice("1.dashboard.api-keys.fields", "are five and, in the 201 answer only, the key", async ({ api }) => {
  const { id, created_at, key, last_four, ...rest } = await api.create("/api-keys", { name: "Build" });
  assert.match(id, idOf("key"));
  assert.match(String(created_at), ISO_TIME);
  assert.equal(last_four, String(key).slice(-4));
  assert.deepEqual(rest, { name: "Build", last_used_at: null });
  const later = (await api.get(`/api-keys/${id}`)).json;
  assert.deepEqual(later, { id, name: "Build", last_four, created_at, last_used_at: null });
  const listed = await api.get("/api-keys?limit=100");
  assert.equal(listed.text.includes(String(key)), false, "the key is shown once");
});

choice("1.dashboard.api-keys.format", "a key starts with ahs_ and holds 256 random bits", async ({ api }) => {
  const one = String((await api.create("/api-keys", { name: "One" })).key);
  const two = String((await api.create("/api-keys", { name: "Two" })).key);
  for (const key of [one, two]) assert.match(key, /^ahs_[A-Za-z0-9_-]{43,}$/);
  assert.notEqual(one.slice(0, 12), two.slice(0, 12));
});

choice("1.dashboard.api-keys.fields", "an answer with a secret in it is never cached", async ({ api }) => {
  for (const [path, body] of [
    ["/api-keys", { name: "K" }],
    ["/oauth-clients", CLIENT],
  ] as const)
    assert.equal((await api.post(path, body)).header("cache-control"), "no-store");
});

choice("1.dashboard.api-keys.name", "is required, has 1 to 200 characters and is not blank", async ({ api }) => {
  await requiredFields(api, "/api-keys", { name: "N" });
  const bad = ["", " ", "n".repeat(201), wide(201), ...NOT_TEXT];
  await fieldRule(api, "/api-keys", {}, { field: "name", good: ["n", "n".repeat(200)], bad });
  invalid(await api.post("/api-keys", { name: "N", key: "ahs_my-own-key", scopes: [] }), "#/key", "#/scopes");
});

choice("1.dashboard.api-keys.last-used", "is kept to the minute, behind the answer", async ({ api }) => {
  const { id, key } = await api.create("/api-keys", { name: "Used" });
  assert.equal((await api.as(String(key)).get("/account")).status, 200);
  const used = await eventually(async () => (await api.get(`/api-keys/${id}`)).json.last_used_at ?? undefined);
  assert.match(String(used), /T\d\d:\d\d:00\.000Z$/);
});

choice("1.dashboard.api-keys.delete", "ends the key at once", async ({ api }) => {
  const { id, key } = await api.create("/api-keys", { name: "Doomed" });
  const holder = api.as(String(key));
  assert.equal((await holder.get("/account")).status, 200);
  assert.equal((await api.delete(`/api-keys/${id}`)).status, 204);
  problem(await holder.get("/account"), 401, "invalid_credential");
  problem(await api.delete(`/api-keys/${id}`), 404, "not_found");
});

choice("1.dashboard.oauth-clients.fields", "are six and, in the 201 answer only, the secret", async ({ api }) => {
  const { id, created_at, client_secret, ...rest } = await api.create("/oauth-clients", CLIENT);
  assert.match(id, idOf("cli"));
  assert.match(String(client_secret), /^[A-Za-z0-9._~-]{32,}$/);
  assert.deepEqual(rest, { ...CLIENT, public: false });
  assert.deepEqual((await api.get(`/oauth-clients/${id}`)).json, { id, ...rest, created_at });
  assert.equal((await api.create("/oauth-clients", { ...CLIENT, public: true })).client_secret, null);
});

choice("1.dashboard.oauth-clients.required", "name, redirect_uris and scopes are required", ({ api }) =>
  requiredFields(api, "/oauth-clients", CLIENT),
);

choice(
  "1.dashboard.oauth-clients.redirect_uris",
  "are https, or http to loopback, without fragment",
  async ({ api }) => {
    const good = [
      ["https://c.example.com/cb?x=1"],
      ["http://127.0.0.1:8080/cb", "http://localhost/cb", "http://localhost./cb", "http://[::1]/"],
    ];
    const bad = [[], ["https://c.example.com/", "https://c.example.com/"], null, "https://c.example.com/", {}];
    const rule = { field: "redirect_uris", good, bad };
    await fieldRule(api, "/oauth-clients", CLIENT, rule);
    const uris = [
      "",
      "/cb",
      "http://c.example.com/cb",
      "https://c.example.com/#f",
      "https://c.example.com/#",
      "app:/cb",
      "https:c.example.com/cb",
      "https://c.example.com/c b",
      "https://c.example.com/\r\nx: y",
      " https://c.example.com/",
      "https://c.example.com/\u65e5",
      "https://\u65e5.example.com/",
      null,
      5,
    ];
    const one = { field: "redirect_uris", good: [], at: "#/redirect_uris/0", bad: uris.map((uri) => [uri]) };
    await fieldRule(api, "/oauth-clients", CLIENT, one);
  },
);

choice("1.dashboard.oauth-clients.scopes", "are some of the five", async ({ api }) => {
  const rule = {
    field: "scopes",
    good: [["admin"], ["read:apps", "write:apps"]],
    bad: [null, "admin", ["admin", "admin"]],
  };
  await fieldRule(api, "/oauth-clients", CLIENT, rule);
  const unknown = { field: "scopes", good: [], at: "#/scopes/0", bad: [["root"], [""], [null]] };
  await fieldRule(api, "/oauth-clients", CLIENT, unknown);
  await fieldRule(api, "/oauth-clients", CLIENT, { field: "public", good: [true, false], bad: NOT_FLAG });
});

choice("1.dashboard.events.account", "shows id, name and state", { needs: "embedded" }, async ({ api, service }) => {
  const { json } = await api.get("/account");
  assert.deepEqual(Object.keys(json).sort(), ["id", "name", "state"]);
  assert.equal(json.state, "active");
  assert.equal(json.id, service.account.id);
});
