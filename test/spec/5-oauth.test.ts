// Spec part 5, OAuth 2.0: authorize, exchange, refresh, and what the tokens open. Registering the client, signing in and
// consenting are not shown, so all of it needs a server of ours.
import assert from "node:assert/strict";
import { clause, MANUAL } from "../support/clauses.ts";
import { type Client, str } from "../support/client.ts";
import { codeOf, consent, exchange, pair, REDIRECT, scene, sendJson } from "../support/oauth.ts";
import { APP, newApp } from "../support/shown.ts";

clause(
  "5.oauth.authorize",
  "the user is sent to authorize and comes back with a code and the state",
  MANUAL,
  async ({ api }) => {
    const { app, who } = await scene(api);
    const { code, state } = await consent(who, app, { scope: "read:apps write:apps", state: "a b&c=ü" });
    assert.ok(str(code).length >= 43);
    assert.equal(state, "a b&c=ü");
  },
);

clause("5.oauth.exchange", "the code is exchanged for tokens", MANUAL, async ({ api }) => {
  const { app, who } = await scene(api);
  const body = { grant_type: "authorization_code", ...app, code: await codeOf(who, app), redirect_uri: REDIRECT };
  const { access } = pair(await sendJson(api, "/oauth/token", body));
  assert.equal((await api.as(access).get("/apps")).status, 200);
});

clause("5.oauth.refresh", "a refresh token yields new tokens", MANUAL, async ({ api }) => {
  const first = await (await scene(api)).tokens();
  const body = { grant_type: "refresh_token", refresh_token: first.refresh };
  const next = pair(await sendJson(api, "/oauth/token", body));
  assert.notEqual(next.access, first.access);
  for (const { access } of [first, next]) assert.equal((await api.as(access).get("/apps")).status, 200);
});

clause("5.oauth.jwt", "the flow yields JWTs", MANUAL, async ({ api }) => {
  assert.match((await (await scene(api)).tokens()).access, /^[\w-]+\.[\w-]+\.[\w-]+$/);
});

clause("5.oauth.bearer", "sent as Bearer, like a key", MANUAL, async ({ api }) => {
  const { access } = await (await scene(api)).tokens();
  assert.equal((await api.as(access).get("/apps")).status, 200);
  assert.equal((await api.as(null).get("/apps", { authorization: access })).status, 401);
});

clause("5.oauth.client-credentials", "a wrong client secret is refused", MANUAL, async ({ api }) => {
  const { app, who } = await scene(api);
  assert.equal((await exchange(api, { ...app, client_secret: "wrong" }, await codeOf(who, app))).status, 401);
});

/** A refresh fails, and no token comes. */
async function refused(api: Client, fields: Readonly<Record<string, string>>): Promise<void> {
  const { status, json } = await sendJson(api, "/oauth/token", { grant_type: "refresh_token", ...fields });
  assert.ok(status >= 400 && status < 500 && !("access_token" in json), String(status));
}

clause("5.refresh-failure.expired", "an expired refresh token", MANUAL, async ({ api, service }) => {
  const { refresh } = await (await scene(api)).tokens();
  await service.clock.advance("30d");
  await refused(api, { refresh_token: refresh });
});

clause("5.refresh-failure.credentials", "invalid client credentials", MANUAL, async ({ api }) => {
  const { app, tokens } = await scene(api);
  const { refresh } = await tokens();
  await refused(api, { refresh_token: refresh, client_id: app.client_id, client_secret: "wrong" });
  pair(await sendJson(api, "/oauth/token", { grant_type: "refresh_token", refresh_token: refresh, ...app }));
});

clause("5.refresh-failure.revoked", "revoked access", MANUAL, async ({ api }) => {
  const { app, tokens } = await scene(api);
  const { access, refresh } = await tokens();
  assert.equal((await sendJson(api, "/oauth/revoke", { ...app, token: access })).status, 200);
  await refused(api, { refresh_token: refresh });
});

clause("5.403.scope", "scopes that do not suffice", MANUAL, async ({ api }) => {
  const { access } = await (await scene(api)).tokens();
  assert.equal((await api.as(access).post("/apps", APP)).status, 403);
});

for (const [id, says, scope, opens] of [
  ["5.scope.read-apps", "reading apps", "read:apps", "read"],
  ["5.scope.write-apps", "creating and changing apps", "write:apps", "create change"],
  ["5.scope.delete-apps", "deleting apps", "delete:apps", "delete"],
  ["5.scope.read-data", "reading data sources", "read:data", "data"],
  ["5.scope.admin", "admin is full access", "admin", "read create change data users webhooks delete"],
] as const)
  clause(id, says, MANUAL, async ({ api, service }) => {
    const app = `/apps/${(await newApp(api)).id}`;
    const holder = api.as((await service.signIn({ scopes: [scope] })).access_token);
    const tried = {
      read: await holder.get("/apps"),
      create: await holder.post("/apps", APP),
      change: await holder.patch(app, { title: "Changed" }),
      data: await holder.get("/data-sources"),
      users: await holder.get("/users"),
      webhooks: await holder.get("/webhooks"),
      delete: await holder.delete(app),
    };
    const opened = Object.entries(tried).flatMap(([name, { status }]) => (status < 300 ? [name] : []));
    assert.equal(opened.join(" "), opens);
  });
