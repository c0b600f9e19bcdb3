// Users: the specification names them and their permissions and shows no field; all of this is ours (contract, parts 2-4).
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { changeRule, fieldRule, ISO_TIME, idOf, NOT_TEXT, wide } from "../support/fields.ts";
import { freshAddress } from "../support/fresh.ts";
import { invalid, problem } from "../support/problem.ts";

const SCOPES = ["read:apps", "write:apps", "delete:apps", "read:data", "admin"];

choice("2.user-fields", "are six, and only the 201 answer has sign_in_url", async ({ api, authUrl }) => {
  const email = freshAddress();
  const { id, created_at, updated_at, sign_in_url, ...rest } = await api.create("/users", { email });
  assert.match(id, idOf("usr"));
  assert.match(String(created_at), ISO_TIME);
  assert.equal(updated_at, created_at);
  assert.ok(String(sign_in_url).startsWith(`${authUrl}/dashboard/`), String(sign_in_url));
  assert.deepEqual(rest, { email, name: "", permissions: [] });
  const later = (await api.get(`/users/${id}`)).json;
  assert.deepEqual(later, { id, ...rest, created_at, updated_at });
});

choice("2.user-fields.email", "is required and has to be an address", async ({ api }) => {
  invalid(await api.post("/users", {}), "#/email");
  const good = [`Ada+tag.${freshAddress()}`, `o'brien.${freshAddress()}`, `UPPER.${freshAddress()}`];
  const bad = [
    "",
    "x",
    "a@",
    "@b.example",
    "a@b@c.example",
    "a b@c.example",
    "a@c example",
    "a@c.example\n",
    ...["\u0001", "\u001b", "\u001f", "\u007f", "\u0080", "\u009b", "\u009f"].flatMap((c) => [
      `a${c}b@c.example`,
      `a@c${c}.example`,
    ]),
    ...NOT_TEXT,
  ];
  await fieldRule(api, "/users", {}, { field: "email", good, bad });
});

choice("2.user-fields.name", "is text and may be empty", async ({ api }) => {
  const user = await api.create("/users", { email: freshAddress() });
  const rule = { field: "name", good: ["", "Ada", "名", "n".repeat(200)], bad: NOT_TEXT };
  await changeRule(api, `/users/${user.id}`, rule);
  invalid(await api.post("/users", { email: freshAddress(), name: wide(10_000) }), "#/name");
});

choice("2.user-fields.permissions", "are any of the five scopes, none by default", async ({ api }) => {
  const user = await api.create("/users", { email: freshAddress() });
  assert.deepEqual(user.permissions, []);
  const path = `/users/${user.id}`;
  const good = [["read:apps"], SCOPES, ["admin"], []];
  await changeRule(api, path, { field: "permissions", good, bad: [null, "admin", 5, {}, ["read:apps", "read:apps"]] });
  const unknown = { field: "permissions", good: [], at: "#/permissions/0" };
  await changeRule(api, path, { ...unknown, bad: [["root"], ["Admin"], [""], [null], [5], [["admin"]]] });
});

choice(
  "7.error-codes.email_taken",
  "an address is one user of the account, however it is capitalised",
  async ({ api }) => {
    const email = freshAddress();
    await api.create("/users", { email });
    problem(await api.post("/users", { email }), 409, "email_taken");
    problem(await api.post("/users", { email: email.toUpperCase() }), 409, "email_taken");
    const other = await api.create("/users", { email: freshAddress() });
    problem(await api.patch(`/users/${other.id}`, { email: email.toUpperCase() }), 409, "email_taken");
    assert.equal((await api.get(`/users/${other.id}`)).json.email, other.email, "nothing was changed");
  },
);

choice(
  "7.error-codes.email_taken",
  "one's own address may change its capitals, and a removed user's is free again",
  async ({ api }) => {
    const email = freshAddress();
    const user = await api.create("/users", { email });
    assert.equal(
      (await api.patch(`/users/${user.id}`, { email: email.toUpperCase() })).json.email,
      email.toUpperCase(),
    );
    await api.delete(`/users/${user.id}`);
    assert.equal((await api.post("/users", { email })).status, 201);
  },
);

choice(
  "1.test-controls.first-account",
  "a fresh server has one account, active, with one key and nothing else",
  {
    needs: "embedded",
    options: {},
  },
  async ({ api }) => {
    const { name, state } = (await api.get("/account")).json;
    assert.deepEqual([typeof name, state], ["string", "active"]);
    const totals = ["/api-keys", "/users", "/apps", "/data-sources", "/webhooks", "/events", "/oauth-clients"];
    const found = await Promise.all(totals.map(async (path) => (await api.get(path)).json.total));
    assert.deepEqual(found, [1, 1, 0, 0, 0, 0, 0]);
  },
);

choice(
  "1.test-controls.first-owner",
  "a fresh account has one user, its owner and admin",
  { needs: "embedded" },
  async ({ api }) => {
    const [owner] = (await api.get("/users?limit=1")).items;
    assert.deepEqual([owner?.email, owner?.permissions], ["owner@example.com", ["admin"]]);
  },
);

choice(
  "7.error-codes.last_admin",
  "the last admin can neither go nor lose the permission",
  { needs: "embedded", options: {} },
  async ({ api }) => {
    const [owner] = (await api.get("/users")).items;
    const path = `/users/${owner?.id}`;
    problem(await api.delete(path), 409, "last_admin");
    problem(await api.patch(path, { permissions: ["read:apps"] }), 409, "last_admin");
    assert.deepEqual((await api.get(path)).json, owner);
    assert.equal((await api.patch(path, { name: "Owner", permissions: ["admin", "read:apps"] })).status, 200);
    await api.create("/users", { email: freshAddress(), permissions: ["admin"] });
    assert.equal((await api.patch(path, { permissions: [] })).status, 200);
    assert.equal((await api.delete(path)).status, 204);
  },
);

choice("4.user-area", "changes only what is sent", async ({ api }) => {
  const user = await api.create("/users", { email: freshAddress(), name: "Ada", permissions: ["read:data"] });
  const changed = (await api.patch(`/users/${user.id}`, { name: "Ada L." })).json;
  assert.deepEqual([changed.email, changed.name, changed.permissions], [user.email, "Ada L.", ["read:data"]]);
  invalid(await api.patch(`/users/${user.id}`, { sign_in_url: "x" }), "#/sign_in_url");
});
