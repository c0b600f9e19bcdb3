// Users, API keys, OAuth clients and the account as resources (contract, parts 2 to 4): the specification names users and
// their permissions and shows no field. What a credential opens is part 5.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { str } from "../support/client.ts";
import { fieldRules, idOf, NOT_FLAG, NOT_TEXT, wide } from "../support/fields.ts";
import { freshAddress } from "../support/fresh.ts";
import { ALL_SCOPES } from "../support/oauth.ts";
import { invalid, problem } from "../support/problem.ts";
import { eventually } from "../support/wait.ts";

choice("2.user-fields.email", "is required and has to be an address", async ({ api }) => {
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

choice("1.test-controls.first-account", "has one key, an owner who is admin, nothing else", {}, async (own) => {
  const { api, service } = own;
  const { id, name, ...shown } = (await api.get("/account")).json;
  assert.deepEqual([id, typeof name, shown], [service.account.id, "string", { state: "active" }]);
  assert.match(str(id), idOf("acc"));
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

const CLIENT = { name: "Mailer", redirect_uris: ["https://c.example.com/cb"], scopes: ["read:apps"] };

choice("1.dashboard.api-keys.name", "is required, has 1 to 200 characters and is not blank", async ({ api }) => {
  const bad = ["", " ", "n".repeat(201), wide(201), ...NOT_TEXT];
  await fieldRules(api, "POST /api-keys", {}, { field: "name", good: ["n", "n".repeat(200)], bad });
  invalid(await api.post("/api-keys", { name: "N", key: "ahs_my-own-key", scopes: [] }), "#/key", "#/scopes");
});

choice(
  "1.dashboard.api-keys.last-used",
  "is kept to the minute; a key is shown once and ends at once",
  async ({ api }) => {
    const [one, other] = [
      await api.create("/api-keys", { name: "One" }),
      await api.create("/api-keys", { name: "Other" }),
    ];
    const key = str(one.key);
    assert.notEqual(str(other.key).slice(0, 12), key.slice(0, 12));
    assert.equal((await api.get("/api-keys?limit=100")).text.includes(key), false);
    assert.equal((await api.as(key).get("/account")).status, 200);
    const path = `/api-keys/${one.id}`;
    const used = await eventually(async () => (await api.get(path)).json.last_used_at ?? undefined);
    assert.match(str(used), /T\d\d:\d\d:00\.000Z$/);
    assert.equal((await api.delete(path)).status, 204);
    problem(await api.as(key).get("/account"), "invalid_credential");
  },
);

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
  assert.equal((await api.create("/oauth-clients", { ...CLIENT, public: true })).client_secret, null);
});
