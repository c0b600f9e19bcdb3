// Users: the specification names them and their permissions and shows no field; all of this is ours (contract, parts 2-4).
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { changeRule, fieldRule, ISO_TIME, idOf, NOT_TEXT, wide } from "../support/fields.ts";
import { freshAddress } from "../support/fresh.ts";
import { ALL_SCOPES } from "../support/oauth.ts";
import { invalid, problem } from "../support/problem.ts";

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
  await fieldRule(api, "/users", {}, { field: "email", good, bad });
});

choice("2.user-fields.permissions", "are some of the five scopes; a name is any text", async ({ api }) => {
  const path = `/users/${(await api.create("/users", { email: freshAddress() })).id}`;
  const twice = ["read:apps", "read:apps"];
  const unknown = [["root"], ["Admin"], [""], [null], [5], [["admin"]]];
  for (const rule of [
    { field: "name", good: ["", "Ada", "名", "n".repeat(200)], bad: [...NOT_TEXT, wide(10_000)] },
    { field: "permissions", good: [["read:apps"], ALL_SCOPES, ["admin"], []], bad: [null, "admin", 5, {}, twice] },
    { field: "permissions", good: [], bad: unknown, at: "#/permissions/0" },
  ])
    await changeRule(api, path, rule);
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
