// Spec parts 5 and 7: the header, API keys, and the two statuses shown, 401 and 403, with their causes.
import assert from "node:assert/strict";
import { clause } from "../support/clause.ts";
import type { Answer, Client } from "../support/client.ts";
import { type Kit, NotTried, notTried } from "../support/kit.ts";
import { done, ids } from "../support/shown.ts";

/** Asserts that each operation gets 401 and changes nothing. */
async function refused(kit: Kit, who: Client) {
  const { id } = await kit.newApp();
  const before = ids(await kit.allApps());
  for (const [method, path, body] of kit.operations(id))
    (await who.call(method, path, body)).is(401, `${method} ${path}`);
  assert.deepEqual(ids(await kit.allApps()), before, "what was refused has changed something");
}

const withHeader = (api: Client, authorization: string): Promise<Answer> =>
  api.as(null).get("/apps", { authorization });

clause("5.bearer-header", "Authorization: Bearer, on every request", async ({ api }) => {
  done(await withHeader(api, `Bearer ${api.key}`));
  for (const name of ["access_token", "api_key"])
    (await api.as(null).get(`/apps?${name}=${api.key}`)).is(401, name);
  (await api.as(null).get("/apps", { "x-api-key": String(api.key) })).is(401);
});

clause("5.api-key.full-access", "a key opens the whole account", async (kit) => {
  const { id } = await kit.newApp();
  for (const [method, path, body] of kit.operations(id))
    assert.ok(
      ![401, 403].includes((await kit.api.call(method, path, body)).status),
      `${method} ${path}`,
    );
});

clause("5.401.missing", "no Authorization header", async (kit) => {
  await refused(kit, kit.api.as(null));
});

clause("5.401.invalid", "an invalid credential", async (kit) => {
  const key = String(kit.api.key);
  await refused(kit, kit.api.as("nobody-has-this-key"));
  for (const token of ["a.b.c", `${key}x`, `x${key}`, key.slice(0, -1), "undefined"])
    (await kit.api.as(token).get("/apps")).is(401, token.replace(key, "KEY"));
});

clause("5.401.expired", "an expired token", async (kit) => {
  await refused(kit, kit.api.as(kit.given("expired-token")));
});

clause("5.401.format", "a wrong format", async ({ api }) => {
  const key = String(api.key);
  for (const start of ["", "Basic ", `Bearer ${key} `, "Bearer: ", "Bearer"])
    (await withHeader(api, start + key)).is(401, start.replaceAll(key, "KEY"));
});

/** The specification does not show which operations a limited account lacks; this tries to create an app. */
clause("5.403.limited", "a limited account", async (kit) => {
  const { status } = await kit.createApp({}, kit.api.as(kit.given("limited-key")));
  assert.equal(status, 403, "a limited account creates an app");
});

clause("5.403.suspended", "a suspended account", async (kit) => {
  const api = kit.api.as(kit.given("suspended-key"));
  for (const [method, path, body] of kit
    .operations("")
    .filter(([, at]) => !at.startsWith("/apps/")))
    (await api.call(method, path, body)).is(403, `${method} ${path}`);
});

clause("7.401", "the causes of 401", async ({ api, target }) => {
  const anyone = api.as(null);
  for (const token of ["unknown", target["expired-token"] ?? "unknown"])
    (await withHeader(api, `Bearer ${token}`)).is(401, token);
  for (const headers of [{}, { authorization: "nonsense" }])
    assert.equal((await anyone.get("/apps", headers)).status, 401, JSON.stringify(headers));
});

clause("7.403", "the causes of 403", async (kit) => {
  const causes: readonly (() => Promise<Answer>)[] = [
    async () => kit.createApp({}, await kit.holder("read:apps")),
    () => kit.api.as(kit.given("suspended-key")).get("/apps"),
    () => kit.createApp({}, kit.api.as(kit.given("limited-key"))),
  ];
  const missing: string[] = [];
  for (const send of causes)
    try {
      (await send()).is(403);
    } catch (error) {
      if (!(error instanceof NotTried)) throw error;
      missing.push(error.message);
    }
  if (missing.length === causes.length) notTried(missing.join("; or "));
});
