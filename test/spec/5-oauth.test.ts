// Spec part 5, OAuth 2.0: authorize, exchange, refresh, and the permissions of the tokens. The client and the user who
// consents are options, because registration and sign-in are not shown.
import assert from "node:assert/strict";
import { clause } from "../support/clause.ts";
import { type Client, type Members, str } from "../support/client.ts";
import { type Kit, notTried, tokensIn } from "../support/kit.ts";
import { claimsOf, headerOf } from "../support/oauth.ts";
import { done, ids, succeeded } from "../support/shown.ts";

/** Asserts that the token request is rejected with a 4xx. */
async function refused(kit: Kit, body: Members, what: string): Promise<void> {
  const answer = await kit.askToken(body);
  assert.ok(answer.status >= 400 && answer.status < 500, `${what}: ${answer.status}`);
}

clause(
  "5.oauth.authorize",
  "the user is sent to authorize and comes back with a code and the state",
  async (kit) => {
    const first = await kit.authorized("read:apps", "a b&c=ü/+%20");
    assert.equal(first.state, "a b&c=ü/+%20");
    const next = await kit.authorized("read:apps", "other");
    assert.notEqual(str(next.code), str(first.code));
    const both = await kit.holder("read:apps write:apps");
    for (const answer of [await both.get("/apps"), await kit.createApp({}, both)]) done(answer);
  },
);

clause(
  "5.oauth.exchange",
  "the code is exchanged for tokens, once and by its client",
  async (kit) => {
    const body = await kit.exchangeBody("read:apps");
    for (const [what, wrong] of [
      ["another redirect_uri", { redirect_uri: `${body.redirect_uri}/other` }],
      ["another client", { client_id: `${body.client_id}x` }],
      ["a code that nobody was given", { code: `${body.code}x` }],
    ] as const)
      await refused(kit, { ...(await kit.exchangeBody("read:apps")), ...wrong }, what);
    const { access } = tokensIn(done(await kit.askToken(body)));
    done(await kit.api.as(access).get("/apps"));
    await refused(kit, body, "a code that was used");
  },
);

clause("5.oauth.refresh", "a refresh token yields new tokens", async (kit) => {
  const first = await kit.tokens("read:apps");
  const refresh = { grant_type: "refresh_token", refresh_token: first.refresh };
  const next = tokensIn(done(await kit.askToken(refresh)));
  done(await kit.api.as(next.access).get("/apps"));
  assert.equal(
    (await kit.createApp({}, kit.api.as(next.access))).status,
    403,
    "with no more scopes than before",
  );
  await refused(
    kit,
    { ...refresh, refresh_token: "nobody-has-this-token" },
    "an unknown refresh token",
  );
  assert.equal(
    (await kit.api.as(first.refresh).get("/apps")).status,
    401,
    "a refresh token opens nothing itself",
  );
});

const packed = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

clause("5.oauth.jwt", "the flow yields JWTs, whose signature is checked", async (kit) => {
  const { access } = await kit.tokens("read:apps");
  assert.match(access, /^[\w-]+\.[\w-]+\.[\w-]+$/);
  const [header, claims] = [headerOf(access), claimsOf(access)];
  assert.ok(typeof header.alg === "string" && header.alg !== "none", JSON.stringify(header));
  const [head, body, signature = ""] = access.split(".");
  const longer = packed({ ...claims, exp: Math.floor(Date.now() / 1_000) + 86_400 });
  for (const [what, forged] of [
    ["other claims", `${head}.${longer}.${signature}`],
    ["another signature", `${head}.${body}.${[...signature].reverse().join("")}`],
    ["no signature", `${head}.${body}.`],
    ["alg none", `${packed({ ...header, alg: "none" })}.${body}.`],
  ])
    assert.equal(
      (await kit.api.as(String(forged)).get("/apps")).status,
      401,
      `a token with ${what} is accepted`,
    );
});

clause("5.oauth.bearer", "sent as Bearer, like a key", async (kit) => {
  const holder = await kit.holder("read:apps");
  done(await holder.get("/apps"));
  const bare = await holder.as(null).get("/apps", { authorization: String(holder.key) });
  assert.equal(bare.status, 401, "without Bearer");
  assert.equal(
    (await holder.as(null).get(`/apps?access_token=${holder.key}`)).status,
    401,
    "in the query",
  );
});

clause("5.oauth.client-credentials", "a wrong client secret is refused", async (kit) => {
  const { client_secret, ...body } = await kit.exchangeBody("read:apps");
  for (const secret of [
    { client_secret: "wrong" },
    { client_secret: `${client_secret}x` },
    { client_secret: "" },
    {},
  ])
    await refused(
      kit,
      { ...body, ...secret },
      JSON.stringify(secret).replace(str(client_secret), "…"),
    );
});

clause("5.refresh-failure.expired", "an expired refresh token", async (kit) => {
  const refresh_token = kit.given("expired-refresh-token");
  await refused(kit, { grant_type: "refresh_token", refresh_token }, "an expired refresh token");
});

clause("5.refresh-failure.credentials", "invalid client credentials", async (kit) => {
  const { id: client_id, secret } = kit.client;
  const body = {
    grant_type: "refresh_token",
    refresh_token: (await kit.tokens("read:apps")).refresh,
    client_id,
  };
  await refused(kit, { ...body, client_secret: `${secret}x` }, "a wrong client secret");
});

clause("5.refresh-failure.revoked", "revoked access", async (kit) => {
  const given = kit.target["revoked-refresh-token"];
  const refresh_token = given ?? (await revoked(kit));
  await refused(kit, { grant_type: "refresh_token", refresh_token }, "a revoked refresh token");
});

/** The specification does not show revocation; RFC 7009 has an operation for it. */
async function revoked(kit: Kit): Promise<string> {
  const { id: client_id, secret: client_secret } = kit.client;
  const { refresh } = await kit.tokens("read:apps");
  const answer = await kit.ask("/oauth/revoke", { client_id, client_secret, token: refresh });
  if (!succeeded(answer)) notTried("give --revoked-refresh-token: there is no /oauth/revoke");
  return refresh;
}

clause("5.403.scope", "scopes that do not suffice", async (kit) => {
  const holder = await kit.holder("read:apps");
  const before = ids(await kit.allApps());
  assert.equal((await kit.createApp({}, holder)).status, 403);
  assert.deepEqual(ids(await kit.allApps()), before, "what was refused has changed something");
});

/** Permissions of a scope that its meaning implies; which scope deploys, or reads as well, is not shown. */
const ACTS: Readonly<Record<string, (kit: Kit, holder: Client) => Promise<number>>> = {
  read: async (_, holder) => (await holder.get("/apps")).status,
  create: async (kit, holder) => (await kit.createApp({}, holder)).status,
  deploy: async (kit, holder) => (await kit.tryDeploy((await kit.newApp()).id, {}, holder)).status,
  delete: async (kit, holder) => (await holder.delete(`/apps/${(await kit.newApp()).id}`)).status,
  register: async (_, holder) => (await holder.post("/webhooks", HOOK)).status,
};
const HOOK = {
  url: "https://hooks.example.com/in",
  events: ["app.deployed"],
  secret: "s",
  active: false,
};

for (const [id, says, scope, opens, shuts] of [
  ["5.scope.read-apps", "reading apps", "read:apps", "read", "create deploy delete"],
  ["5.scope.write-apps", "creating and changing apps", "write:apps", "create", "delete"],
  ["5.scope.delete-apps", "deleting apps", "delete:apps", "delete", "create"],
  ["5.scope.read-data", "reading data sources", "read:data", "", "read create deploy delete"],
  ["5.scope.admin", "admin is full access", "admin", "read create deploy delete register", ""],
] as const)
  clause(id, says, async (kit) => {
    const holder = await kit.holder(scope);
    for (const [name, act] of Object.entries(ACTS)) {
      const status = opens.includes(name) || shuts.includes(name) ? await act(kit, holder) : 0;
      if (opens.includes(name))
        assert.ok(status >= 200 && status < 300, `${scope} must open: ${name} (${status})`);
      if (shuts.includes(name)) assert.equal(status, 403, `${scope} must not open: ${name}`);
    }
    const lists = /data|admin/.test(scope) && succeeded(await kit.api.get("/data-sources"));
    if (lists) done(await holder.get("/data-sources"));
  });
