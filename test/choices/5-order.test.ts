// The order of the checks (contract, part 5): each pair of neighbours with both faults present, so that swapping two
// steps breaks a test. Scopes need an access token and are held beside OAuth.
import assert from "node:assert/strict";
import { choice, type Needs } from "../support/clauses.ts";
import type { Client } from "../support/client.ts";
import { fresh, freshAddress, freshHost } from "../support/fresh.ts";
import { badHeader, badParameter, invalid, problem } from "../support/problem.ts";

const ID = "7.error-codes.order";
const NO_APP = "/apps/app_00000000000000000000000";
const JSON_TYPE = { "content-type": "application/json" };
const TEXT_TYPE = { "content-type": "text/plain" };
const TOO_LARGE = "x".repeat(1_048_577);

const held = (state: string, rateLimit?: number): Needs => {
  const account = { name: "Held", state, api_keys: [{ name: "k", key: "held-account-key" }] };
  return { needs: "embedded", options: { seed: { accounts: [account] }, ...(rateLimit && { rateLimit }) } };
};

/** Uses up a rate limit of 2. */
async function exhaust(api: Client): Promise<void> {
  for (let used = 0; used < 2; used += 1) await api.get("/account");
}

choice(ID, "credential before the account's state", held("suspended"), async ({ api }) => {
  problem(await api.as(null).get("/apps"), 401, "missing_credential");
  const twice = { authorization: [`Bearer ${api.key}`, `Bearer ${api.key}`] };
  problem(await api.as(null).get("/apps", twice), 401, "malformed_credential");
});

choice(ID, "credential before everything else", async ({ api }) => {
  const anyone = api.as(null);
  problem(await anyone.get("/nowhere"), 401, "missing_credential");
  problem(await anyone.send("PUT", "/apps"), 401, "missing_credential");
  problem(await anyone.get("/apps?limit=0"), 401, "missing_credential");
  problem(await anyone.send("POST", "/apps", { headers: TEXT_TYPE, body: "{" }), 401, "missing_credential");
});

choice(ID, "state before rate", held("limited", 2), async ({ api }) => {
  await exhaust(api);
  problem(await api.get("/account"), 403, "rate_limit_exceeded");
  problem(await api.post("/apps", { title: "T" }), 403, "account_limited");
});

choice(ID, "state before path, method, query, body and resource", held("suspended"), async ({ api }) => {
  problem(await api.get("/nowhere"), 403, "account_suspended");
  problem(await api.send("PUT", "/apps"), 403, "account_suspended");
  problem(await api.get("/apps?limit=0"), 403, "account_suspended");
  problem(await api.send("POST", "/apps", { headers: TEXT_TYPE, body: "{" }), 403, "account_suspended");
});

choice(ID, "rate before path and method", held("active", 2), async ({ api }) => {
  await exhaust(api);
  problem(await api.get("/nowhere"), 403, "rate_limit_exceeded");
  problem(await api.send("PUT", "/apps"), 403, "rate_limit_exceeded");
  problem(await api.get("/apps?limit=0"), 403, "rate_limit_exceeded");
});

choice(ID, "path and method before headers and query", async ({ api }) => {
  problem(await api.get("/nowhere?limit=0"), 404, "not_found");
  problem(await api.send("PUT", "/apps?limit=0"), 405, "method_not_allowed");
  problem(await api.post("/account?x=1", {}, { "idempotency-key": "" }), 405, "method_not_allowed");
});

choice(ID, "path and method before the body", async ({ api }) => {
  const bad = { headers: TEXT_TYPE, body: "{" };
  problem(await api.send("POST", "/nowhere", bad), 404, "not_found");
  problem(await api.send("PUT", "/apps", bad), 405, "method_not_allowed");
});

choice(ID, "headers and query before the body, both in one answer", async ({ api }) => {
  const bad = { headers: TEXT_TYPE, body: "{" };
  badParameter(await api.send("POST", "/apps?x=1", bad), "x");
  const long = { ...TEXT_TYPE, "idempotency-key": "k".repeat(256) };
  badHeader(await api.send("POST", "/apps", { headers: long, body: "{" }), "Idempotency-Key");
  badParameter(await api.send("POST", "/apps?x=1", { headers: JSON_TYPE, body: TOO_LARGE }), "x");
  const both = await api.post("/apps?x=1", { title: "T" }, { "idempotency-key": "k".repeat(256) });
  assert.equal(both.status, 400);
  assert.match(both.text, /"parameter":"x"/);
  assert.match(both.text, /"header":"Idempotency-Key"/);
});

choice(ID, "the body's size before its media type", async ({ api }) => {
  problem(await api.send("POST", "/apps", { headers: TEXT_TYPE, body: TOO_LARGE }), 413, "payload_too_large");
});

choice(ID, "the body's media type before its JSON", async ({ api }) => {
  problem(await api.send("POST", "/apps", { headers: TEXT_TYPE, body: "{" }), 415, "unsupported_media_type");
});

choice(ID, "the body before the resource", async ({ api }) => {
  const path = `${NO_APP}/deploy`;
  problem(await api.send("POST", path, { headers: JSON_TYPE, body: TOO_LARGE }), 413, "payload_too_large");
  problem(await api.send("POST", path, { headers: TEXT_TYPE, body: "{}" }), 415, "unsupported_media_type");
  problem(await api.send("POST", path, { headers: JSON_TYPE, body: "{" }), 400, "invalid_json");
  problem(await api.send("PATCH", NO_APP, { headers: JSON_TYPE, body: "{" }), 400, "invalid_json");
});

choice(ID, "the query before the resource", async ({ api }) => {
  badParameter(await api.get(`${NO_APP}/deployments?limit=0`), "limit");
  badParameter(await api.get(`${NO_APP}?x=1`), "x");
});

choice(ID, "the resource before the fields", async ({ api }) => {
  problem(await api.patch(NO_APP, { title: 5 }), 404, "not_found");
  problem(await api.post(`${NO_APP}/deploy`, {}), 404, "not_found");
  problem(await api.post(`${NO_APP}/interactions`, { x: 1 }), 404, "not_found");
  problem(await api.patch("/users/usr_00000000000000000000000", { email: 5 }), 404, "not_found");
  problem(await api.patch("/webhooks/wh_00000000000000000000000", { url: 5 }), 404, "not_found");
  problem(await api.post("/webhooks/wh_00000000000000000000000/test", {}), 404, "not_found");
});

choice(ID, "the fields before the state", async ({ api }) => {
  const custom_domain = freshHost();
  const [mine, other] = [await api.create("/apps", { title: "A" }), await api.create("/apps", { title: "B" })];
  await api.create(`/apps/${mine.id}/deploy`, { name: "R", custom_domain });
  invalid(await api.post(`/apps/${other.id}/deploy`, { name: "", custom_domain }), "#/name");
  const email = freshAddress();
  await api.create("/users", { email });
  invalid(await api.post("/users", { email, permissions: ["root"] }), "#/permissions/0");
  const tag = { "if-match": '"old"' };
  invalid(await api.patch(`/apps/${mine.id}`, { title: "" }, tag), "#/title");
});

choice(ID, "the resource before the precondition", async ({ api }) => {
  problem(await api.patch(NO_APP, { title: "T" }, { "if-match": '"old"' }), 404, "not_found");
  problem(await api.delete(NO_APP, { "if-match": "*" }), 404, "not_found");
});

choice(ID, "the state before the precondition", held("active"), async ({ api }) => {
  const tag = { "if-match": '"old"' };
  const [owner] = (await api.get("/users")).items;
  problem(await api.delete(`/users/${owner?.id}`, tag), 409, "last_admin");
  problem(await api.patch(`/users/${owner?.id}`, { permissions: [] }, tag), 409, "last_admin");
  const [one, two] = [freshAddress(), freshAddress()];
  await api.create("/users", { email: one });
  const user = await api.create("/users", { email: two });
  problem(await api.patch(`/users/${user.id}`, { email: one }, tag), 409, "email_taken");
});

choice(ID, "a kept answer comes before the resource, a reused key too", async ({ api }) => {
  const key = { "idempotency-key": fresh() };
  const app = await api.create("/apps", { title: "T" });
  const first = await api.post(`/apps/${app.id}/deploy`, { name: "R" }, key);
  await api.delete(`/apps/${app.id}`);
  assert.equal((await api.post(`/apps/${app.id}/deploy`, { name: "R" }, key)).text, first.text);
  problem(await api.post(`/apps/${app.id}/deploy`, { name: "S" }, key), 422, "idempotency_key_reused");
  problem(
    await api.send("POST", `/apps/${app.id}/deploy`, { headers: { ...JSON_TYPE, ...key }, body: "{" }),
    400,
    "invalid_json",
  );
});
