// Spec parts 5 and 7: the header, API keys, the two statuses shown, 401 and 403, with their causes, and OAuth 2.0:
// authorize, exchange, refresh, and the permissions of the tokens. The client and the user who consents are options,
// because registration and sign-in are not shown.
import assert from "node:assert/strict";
import { clause } from "../support/clause.ts";
import type { Answer, Client, Members } from "../support/client.ts";
import { type Kit, NotTried, notTried, tokensIn, WEBHOOK } from "../support/kit.ts";
import { claimsOf, headerOf } from "../support/oauth.ts";
import { done, ids, succeeded } from "../support/shown.ts";

/** Asserts that each operation gets 401 and changes nothing. */
async function refused(kit: Kit, who: Client) {
  const { id } = await kit.newApp();
  const before = ids(await kit.allApps());
  for (const [method, path, body] of kit.operations(id))
    (await who.call(method, path, body)).is(401, `${method} ${path}`);
  assert.deepEqual(ids(await kit.allApps()), before, "what was refused has changed something");
}

const withHeader = (api: Client, authorization: string) =>
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
    (await anyone.get("/apps", headers)).is(401, JSON.stringify(headers));
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

/** Asserts that the token request is rejected with a 4xx. */
async function assertGrantRefused(kit: Kit, body: Members, what: string) {
  const answer = await kit.askToken(body);
  assert.ok(answer.status >= 400 && answer.status < 500, `${what}: ${answer.status}`);
}

clause(
  "5.oauth.authorize",
  "the user is sent to authorize and comes back with a code and the state",
  async (kit) => {
    const first = await kit.authorized("read:apps", "a b&c=ü/+%20");
    assert.equal(first.state, "a b&c=ü/+%20");
    const both = await kit.holder("read:apps write:apps");
    for (const answer of [await both.get("/apps"), await kit.createApp({}, both)]) done(answer);
  },
);

clause(
  "5.oauth.exchange",
  "the code is exchanged for tokens, once and by its client",
  async (kit) => {
    const body = await kit.exchangeBody("read:apps");
    for (const name of ["redirect_uri", "client_id", "code"]) {
      const other = await kit.exchangeBody("read:apps");
      await assertGrantRefused(kit, { ...other, [name]: `${other[name]}x` }, `another ${name}`);
    }
    const { access } = tokensIn(done(await kit.askToken(body)));
    done(await kit.api.as(access).get("/apps"));
    await assertGrantRefused(kit, body, "a code that was used");
  },
);

clause("5.oauth.refresh", "a refresh token yields new tokens", async (kit) => {
  const first = await kit.tokens("read:apps");
  const refresh = { grant_type: "refresh_token", refresh_token: first.refresh };
  const next = kit.api.as(tokensIn(done(await kit.askToken(refresh))).access);
  done(await next.get("/apps"));
  (await kit.createApp({}, next)).is(403, "with no more scopes than before");
  await assertGrantRefused(
    kit,
    { ...refresh, refresh_token: "nobody-has-this-token" },
    "an unknown token",
  );
});

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

clause("5.oauth.jwt", "the flow yields JWTs, whose signature is checked", async (kit) => {
  const { access } = await kit.tokens("read:apps");
  const [head, body, signature = ""] = access.split(".");
  const longer = encode({ ...claimsOf(access), exp: Math.floor(Date.now() / 1_000) + 86_400 });
  for (const forged of [
    `${head}.${longer}.${signature}`,
    `${head}.${body}.${[...signature].reverse().join("")}`,
    `${encode({ ...headerOf(access), alg: "none" })}.${body}.`,
  ])
    (await kit.api.as(forged).get("/apps")).is(401, forged);
});

clause("5.oauth.bearer", "sent as Bearer, like a key", async (kit) => {
  const holder = await kit.holder("read:apps");
  done(await holder.get("/apps"));
  const bare = await holder.as(null).get("/apps", { authorization: String(holder.key) });
  bare.is(401, "without Bearer");
});

clause("5.oauth.client-credentials", "a wrong client secret is rejected", async (kit) => {
  const body = await kit.exchangeBody("read:apps");
  for (const client_secret of ["wrong", "", undefined])
    await assertGrantRefused(kit, { ...body, client_secret }, `the client secret ${client_secret}`);
});

clause("5.refresh-failure.expired", "an expired refresh token", async (kit) => {
  const refresh_token = kit.given("expired-refresh-token");
  await assertGrantRefused(
    kit,
    { grant_type: "refresh_token", refresh_token },
    "an expired refresh token",
  );
});

clause("5.refresh-failure.credentials", "invalid client credentials", async (kit) => {
  const { id: client_id, secret } = kit.client;
  const refresh_token = (await kit.tokens("read:apps")).refresh;
  const client = { client_id, client_secret: `${secret}x` };
  await assertGrantRefused(
    kit,
    { grant_type: "refresh_token", refresh_token, ...client },
    "a wrong secret",
  );
});

/** The specification does not show revocation; RFC 7009 has an operation for it. */
clause("5.refresh-failure.revoked", "revoked access", async (kit) => {
  let token = kit.target["revoked-refresh-token"];
  if (token === undefined) {
    const { id: client_id, secret: client_secret } = kit.client;
    token = (await kit.tokens("read:apps")).refresh;
    if (!succeeded(await kit.ask("/oauth/revoke", { client_id, client_secret, token })))
      notTried("give --revoked-refresh-token: there is no /oauth/revoke");
  }
  await assertGrantRefused(
    kit,
    { grant_type: "refresh_token", refresh_token: token },
    "a revoked token",
  );
});

clause("5.403.scope", "scopes that do not suffice", async (kit) => {
  const holder = await kit.holder("read:apps");
  const before = ids(await kit.allApps());
  (await kit.createApp({}, holder)).is(403);
  assert.deepEqual(ids(await kit.allApps()), before, "what was refused has changed something");
});

/** What each scope's meaning implies; which scope deploys, or reads as well, is not shown. */
const ACTIONS: Readonly<Record<string, (kit: Kit, holder: Client) => Promise<Answer>>> = {
  read: (_, holder) => holder.get("/apps"),
  create: (kit, holder) => kit.createApp({}, holder),
  deploy: async (kit, holder) => kit.tryDeploy((await kit.newApp()).id, {}, holder),
  delete: async (kit, holder) => holder.delete(`/apps/${(await kit.newApp()).id}`),
  register: (_, holder) => holder.post("/webhooks", WEBHOOK),
};

for (const [id, says, scope, allowed, forbidden] of [
  ["5.scope.read-apps", "reading apps", "read:apps", "read", "create deploy delete"],
  ["5.scope.write-apps", "creating and changing apps", "write:apps", "create", "delete"],
  ["5.scope.delete-apps", "deleting apps", "delete:apps", "delete", "create"],
  ["5.scope.read-data", "reading data sources", "read:data", "", "read create deploy delete"],
  ["5.scope.admin", "admin is full access", "admin", "read create deploy delete register", ""],
] as const)
  clause(id, says, async (kit) => {
    const holder = await kit.holder(scope);
    for (const [name, act] of Object.entries(ACTIONS)) {
      if (allowed.includes(name)) assert.ok(succeeded(await act(kit, holder)), `${scope}: ${name}`);
      if (forbidden.includes(name)) (await act(kit, holder)).is(403, `${scope}: ${name}`);
    }
    const lists = /data|admin/.test(scope) && succeeded(await kit.api.get("/data-sources"));
    if (lists) done(await holder.get("/data-sources"));
  });
