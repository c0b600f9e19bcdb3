// Spec part 5: what an access token opens, and how soon it stops opening it. Every refusal here is felt at the next call,
// also after the token was taken many times before and its signature is no longer checked.
import assert from "node:assert/strict";
import { createHash, createHmac, createPublicKey } from "node:crypto";
import { choice, withService } from "../support/clauses.ts";
import { type Answer, type Client, str } from "../support/client.ts";
import { claimsOf, headerOf, person, publishedKeys, refresh, register, sendJson, tokensFor } from "../support/oauth.ts";
import { problem } from "../support/problem.ts";

const OWN = { clock: "manual" } as const;

async function scene(api: Client, scope = "read:apps", permissions: readonly string[] = ["admin"]) {
  const [app, who] = [await register(api), await person(api, permissions)];
  const tokens = await tokensFor(api, who, app, scope);
  return { app, who, tokens, holder: api.as(tokens.access) };
}

async function refused(answer: Promise<Answer>, says: RegExp): Promise<void> {
  const body = problem(await answer, "invalid_credential");
  assert.match(str(body.detail), says);
  assert.match((await answer).header("www-authenticate"), /^Bearer .*error="invalid_token"/);
}

choice(
  "1.rfcs.access-token",
  "every token that is not exactly right is refused",
  OWN,
  async ({ api, authUrl, baseUrl }) => {
    const { tokens, holder } = await scene(api);
    assert.equal((await holder.get("/apps")).status, 200);
    const [header = "", claims = "", signature = ""] = tokens.access.split(".");
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const [head, said] = [headerOf(tokens.access), claimsOf(tokens.access)];
    const [jwk = {}] = await publishedKeys(api);
    const pem = createPublicKey({
      key: { kty: "EC", crv: "P-256", x: str(jwk.x), y: str(jwk.y) },
      format: "jwk",
    }).export({
      type: "spki",
      format: "pem",
    });
    const mac = (input: string) => createHmac("sha256", pem).update(input).digest("base64url");
    const hs256 = `${part({ ...head, alg: "HS256" })}.${claims}`;
    for (const [token, why] of [
      [`${part({ ...head, alg: "none" })}.${claims}.`, "none"],
      [`${part({ ...head, alg: "none" })}.${claims}.${signature}`, "none with a signature"],
      [`${hs256}.${mac(hs256)}`, "HS256 with the public key"],
      [`${part({ ...head, alg: "RS256" })}.${claims}.${signature}`, "another alg"],
      [`${part({ ...head, kid: "other" })}.${claims}.${signature}`, "another kid"],
      [`${part({ ...head, kid: "__proto__" })}.${claims}.${signature}`, "kid of __proto__"],
      [`${part({ ...head, typ: "JWT" })}.${claims}.${signature}`, "another typ"],
      [`${part({ ...head, crit: [] })}.${claims}.${signature}`, "crit"],
      [`${header}.${part({ ...said, scope: "admin" })}.${signature}`, "tampered claims"],
      [`${header}.${part({ ...said, iss: `${authUrl}/` })}.${signature}`, "another iss"],
      [`${header}.${part({ ...said, aud: `${baseUrl}/` })}.${signature}`, "another aud"],
      [`${header}.${claims}.${signature.slice(0, -2)}`, "half a signature"],
      [`${header}.${claims}.${signature}=`, "padding"],
      [`${header}.${claims}.${signature}.`, "four parts"],
      [`${header}.${claims}.${signature}${"A".repeat(10_000)}`, "10 kB"],
      [`${header}.${claims}`, "two parts"],
      [tokens.refresh, "a refresh token"],
    ] as const) {
      const answer = await api.as(token).get("/apps");
      assert.equal(answer.status, 401, why);
      problem(answer, "invalid_credential");
    }
    problem(await api.as(`${header}.${claims}. ${signature}`).get("/apps"), "malformed_credential");
  },
);

choice(
  "1.rfcs.access-token",
  "a token of another server, or of this one before a reset of its keys, is not signed by it",
  async ({ api }) => {
    await withService({}, async (other) => {
      const { access_token } = await other.service.signIn({ scopes: ["admin"] });
      assert.equal((await other.api.as(access_token).get("/apps")).status, 200);
      await refused(api.as(access_token).get("/apps"), /not signed by this service/);
    });
  },
);

choice("1.rfcs.access-token", "a signing key that is gone from the store takes its tokens along", OWN, async (own) => {
  const { store } = own.service;
  const { tokens, holder } = await scene(own.api);
  assert.equal((await holder.get("/apps")).status, 200);
  const data = await store.snapshot();
  await store.restore({ ...data, collections: { ...data.collections, signing_keys: [] } });
  await refused(holder.get("/apps"), /not signed by this service/);
  const next = await refresh(own.api, tokens.refresh);
  assert.notEqual(headerOf(str(next.json.access_token)).kid, headerOf(tokens.access).kid);
  assert.equal((await own.api.as(str(next.json.access_token)).get("/apps")).status, 200);
});

choice("1.rfcs.revocation", "revoking is felt at the next call", OWN, async ({ api }) => {
  const { app, tokens, holder } = await scene(api);
  assert.equal((await holder.get("/apps")).status, 200);
  await sendJson(api, "/oauth/revoke", { ...app, token: tokens.refresh });
  await refused(holder.get("/apps"), /access .* revoked/);
});

choice("1.rfcs.revocation", "a deleted user or client is felt at the next call", OWN, async ({ api }) => {
  const [first, second] = [await scene(api), await scene(api)];
  for (const { holder } of [first, second]) assert.equal((await holder.get("/apps")).status, 200);
  await api.delete(`/users/${first.who.id}`);
  await refused(first.holder.get("/apps"), /user was deleted/);
  await api.delete(`/oauth-clients/${second.app.client_id}`);
  await refused(second.holder.get("/apps"), /application was deleted/);
});

choice(
  "5.scope-per-endpoint",
  "a token's scopes are cut to its user's permissions at each use",
  OWN,
  async ({ api }) => {
    const { who, tokens, holder } = await scene(api, "read:apps write:apps");
    const statuses = async () => [
      (await holder.get("/apps")).status,
      (await holder.post("/apps", { title: "T" })).status,
      (await holder.get("/data-sources")).status,
      (await holder.get("/account")).status,
    ];
    for (const [permissions, expected] of [
      [["admin"], [200, 201, 403, 200]],
      [
        ["read:apps", "read:data"],
        [200, 403, 403, 200],
      ],
      [["write:apps"], [403, 201, 403, 200]],
      [[], [403, 403, 403, 200]],
      [
        ["read:apps", "write:apps"],
        [200, 201, 403, 200],
      ],
    ] as const) {
      await api.patch(`/users/${who.id}`, { permissions });
      assert.deepEqual(await statuses(), expected, permissions.join());
    }
    assert.equal(claimsOf(tokens.access).scope, "read:apps write:apps");
  },
);

choice("5.scope-per-endpoint", "a token for admin opens what its user still holds", OWN, async ({ api }) => {
  const { who, holder } = await scene(api, "admin");
  await api.patch(`/users/${who.id}`, { permissions: ["read:apps"] });
  assert.equal((await holder.get("/apps")).status, 200);
  problem(await holder.get("/users"), "insufficient_scope");
  problem(await holder.post("/apps", { title: "T" }), "insufficient_scope");
});

choice("5.scope-per-endpoint", "an account's state holds for tokens as for keys", OWN, async ({ api, service }) => {
  const { holder } = await scene(api, "admin");
  await service.setAccountState("limited");
  assert.equal((await holder.get("/apps")).status, 200);
  problem(await holder.post("/apps", { title: "T" }), "account_limited");
  await service.setAccountState("suspended");
  problem(await holder.get("/apps"), "account_suspended");
});

choice("1.rfcs.token-algorithm", "RS256 by setting, its key made when first needed", async () => {
  await withService({ tokenAlg: "RS256" }, async ({ api, service }) => {
    const count = async () => (await service.store.snapshot()).collections.signing_keys?.length ?? 0;
    assert.equal(await count(), 0);
    const { access_token } = await service.signIn({ scopes: ["read:apps"] });
    assert.equal(await count(), 1);
    assert.equal(headerOf(access_token).alg, "RS256");
    assert.equal((await api.as(access_token).get("/apps")).status, 200);
    const [{ kty, alg, kid, n, e } = {}] = await publishedKeys(api);
    assert.deepEqual([kty, alg, kid], ["RSA", "RS256", headerOf(access_token).kid]);
    const thumbprint = createHash("sha256").update(`{"e":"${e}","kty":"RSA","n":"${n}"}`).digest("base64url");
    assert.equal(kid, thumbprint);
  });
});

choice(
  "1.rfcs.access-token",
  "signIn hands tokens over without a browser; they can be refreshed and revoked",
  OWN,
  async (own) => {
    const { api, service } = own;
    const { access_token, refresh_token, scope, expires_in } = await service.signIn({
      scopes: ["read:apps", "read:data"],
    });
    assert.deepEqual([scope, expires_in], ["read:apps read:data", 3600]);
    assert.equal((await api.as(access_token).get("/apps")).status, 200);
    problem(await api.as(access_token).get("/users"), "insufficient_scope");
    const next = await refresh(api, refresh_token);
    assert.equal(next.status, 200);
    assert.equal((await sendJson(api, "/oauth/revoke", { token: str(next.json.access_token) })).status, 200);
    await refused(api.as(access_token).get("/apps"), /revoked/);
    const who = await person(api, ["read:apps"]);
    assert.equal((await service.signIn({ scopes: ["admin"], userId: who.id })).scope, "read:apps");
    await assert.rejects(service.signIn({ scopes: ["read:data"], userId: who.id }), /holds none/);
    await assert.rejects(service.signIn({ scopes: ["admin"], userId: "usr_nobody" }), /no user usr_nobody/);
  },
);
