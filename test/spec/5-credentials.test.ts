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
    assert.equal((await who.call(method, path, body)).status, 401, `${method} ${path}`);
  assert.deepEqual(ids(await kit.allApps()), before, "what was refused has changed something");
}

const withHeader = (api: Client, authorization: string): Promise<Answer> =>
  api.as(null).get("/apps", { authorization });

clause("5.bearer-header", "Authorization: Bearer, on every request", async ({ api }) => {
  done(await withHeader(api, `Bearer ${api.key}`));
  for (const name of ["access_token", "api_key", "key", "token"])
    assert.equal(
      (await api.as(null).get(`/apps?${name}=${api.key}`)).status,
      401,
      `?${name}= in place of the header`,
    );
  for (const name of ["x-api-key", "x-authorization"])
    assert.equal(
      (await api.as(null).get("/apps", { [name]: String(api.key) })).status,
      401,
      `${name} in its place`,
    );
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

const swapped = (key: string): string =>
  [...key].map((c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase())).join("");

clause("5.401.invalid", "an invalid credential", async (kit) => {
  const key = String(kit.api.key);
  await refused(kit, kit.api.as("nobody-has-this-key"));
  const others = [
    "a.b.c",
    `${key}x`,
    `x${key}`,
    key.slice(0, -1),
    `${key}%00`,
    swapped(key),
    "undefined",
    "null",
  ];
  for (const token of others.filter((other) => other !== key && other !== ""))
    assert.equal((await kit.api.as(token).get("/apps")).status, 401, token.replace(key, "KEY"));
});

clause("5.401.expired", "an expired token", async (kit) => {
  await refused(kit, kit.api.as(kit.given("expired-token")));
});

clause("5.401.format", "a wrong format", async ({ api }) => {
  const key = String(api.key);
  const starts = ["", "Basic ", "Token ", `Bearer ${key} `, "Bearer: ", "Bearer"];
  const wrong = ["Bearer", ...starts.map((start) => start + key)];
  for (const value of wrong)
    assert.equal((await withHeader(api, value)).status, 401, value.replaceAll(key, "KEY"));
  const basic = Buffer.from(`${key}:`).toString("base64");
  assert.equal(
    (await withHeader(api, `Basic ${basic}`)).status,
    401,
    "Basic, with the key as the user",
  );
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
    assert.equal((await api.call(method, path, body)).status, 403, `${method} ${path}`);
});

clause("7.401", "the causes of 401", async ({ api, target }) => {
  const anyone = api.as(null);
  const credentials = [
    "Bearer unknown",
    "nonsense",
    `Bearer ${target["expired-token"] ?? "unknown"}`,
  ];
  for (const headers of [{}, ...credentials.map((authorization) => ({ authorization }))])
    assert.equal((await anyone.get("/apps", headers)).status, 401, JSON.stringify(headers));
});

const CAUSES: Readonly<Record<string, (kit: Kit) => Promise<Answer>>> = {
  "a token without the scope": async (kit) => kit.createApp({}, await kit.holder("read:apps")),
  "a suspended account": async (kit) => kit.api.as(kit.given("suspended-key")).get("/apps"),
  "a limited account": async (kit) => kit.createApp({}, kit.api.as(kit.given("limited-key"))),
};

clause("7.403", "the causes of 403", async (kit) => {
  const missing: string[] = [];
  for (const [cause, ask] of Object.entries(CAUSES))
    try {
      assert.equal((await ask(kit)).status, 403, cause);
    } catch (error) {
      if (!(error instanceof NotTried)) throw error;
      missing.push(error.message);
    }
  if (missing.length === Object.keys(CAUSES).length) notTried(missing.join("; or "));
});
