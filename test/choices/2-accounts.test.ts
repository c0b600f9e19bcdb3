// Users, API keys, OAuth clients and the account as resources (contract, parts 2 to 4): the specification names users and
// their permissions and shows no field. What a credential opens is part 5.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { fieldRules, ISO_TIME, idOf, NOT_FLAG, NOT_TEXT, requiredFields, wide } from "../support/fields.ts";
import { freshAddress } from "../support/fresh.ts";
import { ALL_SCOPES } from "../support/oauth.ts";
import { invalid, problem } from "../support/problem.ts";
import { eventually } from "../support/wait.ts";

choice("2.user-fields", "are six, and only the 201 answer has sign_in_url", async ({ api, authUrl }) => {
  const email = freshAddress();
  const { id, created_at, updated_at, sign_in_url, ...rest } = await api.create("/users", { email });
  assert.match(id, idOf("usr"));
  assert.match(String(created_at), ISO_TIME);
  assert.equal(updated_at, created_at);
  assert.ok(String(sign_in_url).startsWith(`${authUrl}/dashboard/`), String(sign_in_url));
  assert.deepEqual(rest, { email, name: "", permissions: [] });
  assert.deepEqual((await api.get(`/users/${id}`)).json, { id, ...rest, created_at, updated_at });
});

choice("2.user-fields.email", "is required and has to be an address", async ({ api }) => {
  invalid(await api.post("/users", {}), "#/email");
  const good = [`Ada+tag.${freshAddress()}`, `o'brien.${freshAddress()}`, `UPPER.${freshAddress()}`];
  const controls = [..."\u0001\u001b\u001f\u007f\u0080\u009b\u009f"];
  const bad = [
    ...["", "x", "a@", "@b.example", "a@b@c.example", "a b@c.example", "a@c example", "a@c.example\n", ...NOT_TEXT],
    ...controls.flatMap((control) => [`a${control}b@c.example`, `a@c${control}.example`]),
  ];
  await fieldRules(api, "POST /users", {}, { field: "email", good, bad });
});

choice("2.user-fields.permissions", "are some of the five scopes; a name is any text", async ({ api }) => {
  const twice = ["read:apps", "read:apps"];
  const unknown = [["root"], ["Admin"], [""], [null], [5], [["admin"]]];
  const request = `PATCH /users/${(await api.create("/users", { email: freshAddress() })).id}`;
  for (const rule of [
    { field: "name", good: ["", "Ada", "名", "n".repeat(200)], bad: [...NOT_TEXT, wide(10_000)] },
    { field: "permissions", good: [["read:apps"], ALL_SCOPES, ["admin"], []], bad: [null, "admin", 5, {}, twice] },
    { field: "permissions", good: [], bad: unknown, at: "#/permissions/0" },
  ])
    await fieldRules(api, request, {}, rule);
});

choice("7.error-codes.email_taken", "an address is one user of the account, in any capitals", async ({ api }) => {
  const email = freshAddress();
  const shouted = { email: email.toUpperCase() };
  const { id } = await api.create("/users", { email });
  const other = await api.create("/users", { email: freshAddress() });
  for (const body of [{ email }, shouted]) problem(await api.post("/users", body), "email_taken");
  problem(await api.patch(`/users/${other.id}`, shouted), "email_taken");
  assert.equal((await api.get(`/users/${other.id}`)).json.email, other.email, "nothing was changed");
  assert.equal((await api.patch(`/users/${id}`, shouted)).json.email, shouted.email, "one's own may change");
  await api.delete(`/users/${id}`);
  await api.create("/users", { email });
});

choice("1.test-controls.first-account", "has one key, an owner who is admin, nothing else", {}, async ({ api }) => {
  const { name, state } = (await api.get("/account")).json;
  assert.deepEqual([typeof name, state], ["string", "active"]);
  const lists = ["/api-keys", "/users", "/apps", "/data-sources", "/webhooks", "/events", "/oauth-clients"];
  const found = await Promise.all(lists.map(async (path) => (await api.get(path)).json.total));
  assert.deepEqual(found, [1, 1, 0, 0, 0, 0, 0]);
  const [owner] = (await api.get("/users")).items;
  assert.deepEqual([owner?.email, owner?.permissions], ["owner@example.com", ["admin"]]);
});

choice("7.error-codes.last_admin", "the last admin can neither go nor lose the permission", {}, async ({ api }) => {
  const [owner] = (await api.get("/users")).items;
  const path = `/users/${owner?.id}`;
  problem(await api.delete(path), "last_admin");
  problem(await api.patch(path, { permissions: ["read:apps"] }), "last_admin");
  assert.deepEqual((await api.get(path)).json, owner);
  assert.equal((await api.patch(path, { name: "Owner", permissions: ["admin", "read:apps"] })).status, 200);
  await api.create("/users", { email: freshAddress(), permissions: ["admin"] });
  assert.equal((await api.patch(path, { permissions: [] })).status, 200);
  assert.equal((await api.delete(path)).status, 204);
});

choice("4.user-area", "changes only what is sent", async ({ api }) => {
  const user = await api.create("/users", { email: freshAddress(), name: "Ada", permissions: ["read:data"] });
  const changed = (await api.patch(`/users/${user.id}`, { name: "Ada L." })).json;
  assert.deepEqual([changed.email, changed.name, changed.permissions], [user.email, "Ada L.", ["read:data"]]);
  invalid(await api.patch(`/users/${user.id}`, { sign_in_url: "x" }), "#/sign_in_url");
});

const CLIENT = { name: "Mailer", redirect_uris: ["https://c.example.com/cb"], scopes: ["read:apps"] };

choice("1.dashboard.api-keys.fields", "are five and, in the 201 answer only, the key", async ({ api }) => {
  const answer = await api.post("/api-keys", { name: "Build" });
  assert.equal(answer.header("cache-control"), "no-store");
  const { id, created_at, key, last_four, ...rest } = answer.json;
  assert.match(String(id), idOf("key"));
  assert.match(String(created_at), ISO_TIME);
  assert.match(String(key), /^ahs_[A-Za-z0-9_-]{43,}$/);
  assert.equal(last_four, String(key).slice(-4));
  assert.deepEqual(rest, { name: "Build", last_used_at: null });
  assert.deepEqual((await api.get(`/api-keys/${id}`)).json, { id, last_four, created_at, ...rest });
  assert.equal((await api.get("/api-keys?limit=100")).text.includes(String(key)), false, "the key is shown once");
  const other = (await api.create("/api-keys", { name: "Other" })).key;
  assert.notEqual(String(other).slice(0, 12), String(key).slice(0, 12));
});

choice("1.dashboard.api-keys.name", "is required, has 1 to 200 characters and is not blank", async ({ api }) => {
  await requiredFields(api, "/api-keys", { name: "N" });
  const bad = ["", " ", "n".repeat(201), wide(201), ...NOT_TEXT];
  await fieldRules(api, "POST /api-keys", {}, { field: "name", good: ["n", "n".repeat(200)], bad });
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
  problem(await holder.get("/account"), "invalid_credential");
  problem(await api.delete(`/api-keys/${id}`), "not_found");
});

choice("1.dashboard.oauth-clients.fields", "are six and, in the 201 answer only, the secret", async ({ api }) => {
  const answer = await api.post("/oauth-clients", CLIENT);
  assert.equal(answer.header("cache-control"), "no-store");
  const { id, created_at, client_secret, ...rest } = answer.json;
  assert.match(String(id), idOf("cli"));
  assert.match(String(client_secret), /^[A-Za-z0-9._~-]{32,}$/);
  assert.deepEqual(rest, { ...CLIENT, public: false });
  assert.deepEqual((await api.get(`/oauth-clients/${id}`)).json, { id, ...rest, created_at });
  assert.equal((await api.create("/oauth-clients", { ...CLIENT, public: true })).client_secret, null);
  await requiredFields(api, "/oauth-clients", CLIENT);
});

const NO_REDIRECTS = [
  ...["", "/cb", "http://c.example.com/cb", "https://c.example.com/#f", "https://c.example.com/#", "app:/cb", null, 5],
  ...[
    "https:c.example.com/cb",
    "https:///c.example.com/cb",
    "https://c.example.com/c b",
    "https://c.example.com/\r\nx: y",
    " https://c.example.com/",
  ],
  ...["https://c.example.com/\u65e5", "https://\u65e5.example.com/"],
].map((uri) => [uri]);
const LOOPBACK = ["http://127.0.0.1:8080/cb", "http://localhost/cb", "http://localhost./cb", "http://[::1]/"];
const TWICE = ["https://c.example.com/", "https://c.example.com/"];

choice("1.dashboard.oauth-clients.rules", "redirects to https or loopback, scopes of the five", async ({ api }) => {
  for (const rule of [
    {
      field: "redirect_uris",
      good: [["https://c.example.com/cb?x=1"], LOOPBACK],
      bad: [[], TWICE, null, TWICE[0], {}],
    },
    { field: "redirect_uris", good: [], at: "#/redirect_uris/0", bad: NO_REDIRECTS },
    { field: "scopes", good: [["admin"], ["read:apps", "write:apps"]], bad: [null, "admin", ["admin", "admin"]] },
    { field: "scopes", good: [], at: "#/scopes/0", bad: [["root"], [""], [null]] },
    { field: "public", good: [true, false], bad: NOT_FLAG },
  ])
    await fieldRules(api, "POST /oauth-clients", CLIENT, rule);
});

choice("1.dashboard.events.account", "shows id, name and state", async ({ api, service }) => {
  const { json } = await api.get("/account");
  assert.deepEqual(Object.keys(json).sort(), ["id", "name", "state"]);
  assert.deepEqual([json.id, json.state], [service.account.id, "active"]);
  assert.match(service.account.id, idOf("acc"));
});
