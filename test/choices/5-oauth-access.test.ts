// What an access token opens, and how soon it stops opening it (spec part 5). Every refusal here is felt at the next call,
// also after the token was taken many times before and its signature is no longer checked.
// RFC 9700 2.2, 4.10.2; RFC 8725 3.1, 3.10, 3.11 (units/jwt has the rest).
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Scope } from "../../src/domain/model.ts";
import { trusted } from "../../src/kit/schema.ts";
import { choice, MANUAL, withService } from "../support/clauses.ts";
import { type Client, str } from "../support/client.ts";
import { claimsOf, headerOf, held, person, publishedKeys, refresh, sendJson } from "../support/oauth.ts";
import { problem } from "../support/problem.ts";

/** Tokens, and somebody who holds them and has used them. */
async function used(api: Client, scope?: string) {
  const made = await held(api, scope);
  const holder = api.as(made.tokens.access);
  assert.equal((await holder.get("/account")).status, 200);
  return { ...made, holder };
}

async function refused(holder: Client, says: RegExp): Promise<void> {
  const answer = await holder.get("/apps");
  assert.match(str(problem(answer, "invalid_credential").detail), says);
  assert.match(answer.header("www-authenticate"), /^Bearer .*error="invalid_token"/);
}

choice("1.rfcs.access-token", "no token of another server, of a lost key or for refreshing", MANUAL, async (own) => {
  const { api, service } = own;
  await withService({}, async (other) => {
    const { access_token } = await other.service.signIn({ scopes: ["admin"] });
    assert.equal((await other.api.as(access_token).get("/apps")).status, 200);
    await refused(api.as(access_token), /not signed by this service/);
    await service.restore(await other.service.snapshot());
    await refused(api.as(access_token), /another use: its iss does not fit/);
  });
  for (const cut of ["eyJhbGciOiJFUzI1NiJ9.e30", "eyJhbGciOiJFUzI1NiJ9.e30.AA.AA"])
    await refused(api.as(cut), /not a well-formed JWT/);
  const { tokens, holder } = await used(api);
  await refused(api.as(tokens.refresh), /no access token and no API key/);
  const data = await service.snapshot();
  await service.restore({ ...data, collections: { ...data.collections, signing_keys: [] } });
  await refused(holder, /not signed by this service/);
  const next = str((await refresh(api, tokens.refresh)).json.access_token);
  assert.notEqual(headerOf(next).kid, headerOf(tokens.access).kid);
  assert.equal((await api.as(next).get("/apps")).status, 200);
});

/** What the holder may do, by name. */
async function opened(holder: Client): Promise<string> {
  const tried = {
    read: await holder.get("/apps"),
    write: await holder.post("/apps", { title: "T" }),
    data: await holder.get("/data-sources"),
    users: await holder.get("/users"),
    account: await holder.get("/account"),
  };
  const answered = Object.entries(tried).filter(([, { status }]) => status !== 403);
  for (const [name, { status }] of answered) assert.equal(status, name === "write" ? 201 : 200, name);
  return answered.map(([name]) => name).join(" ");
}

choice("5.scope-per-endpoint", "a token's scopes are cut to its user's at each use", MANUAL, async ({ api }) => {
  const [some, admin] = [await used(api, "read:apps write:apps"), await used(api, "admin")];
  for (const [permissions, ofSome, ofAdmin] of [
    ["admin", "read write account", "read write data users account"],
    ["read:apps read:data", "read account", "read data account"],
    ["write:apps", "write account", "write account"],
    ["", "account", "account"],
    ["read:apps write:apps", "read write account", "read write account"],
  ] as const) {
    for (const { who } of [some, admin])
      await api.patch(`/users/${who.id}`, { permissions: permissions.split(" ").filter((each) => each !== "") });
    assert.deepEqual([await opened(some.holder), await opened(admin.holder)], [ofSome, ofAdmin], permissions);
  }
  assert.equal(claimsOf(some.tokens.access).scope, "read:apps write:apps");
});

choice("1.rfcs.token-algorithm", "RS256 by setting, its key made when needed", { tokenAlg: "RS256" }, async (own) => {
  const { api, service } = own;
  const count = async () => (await service.snapshot()).collections.signing_keys?.length ?? 0;
  assert.equal(await count(), 0);
  const { access_token } = await service.signIn({ scopes: ["read:apps"] });
  assert.equal(await count(), 1);
  assert.equal((await api.as(access_token).get("/apps")).status, 200);
  const [{ kty, alg, kid, n, e } = {}] = await publishedKeys(api);
  const thumbprint = createHash("sha256").update(`{"e":"${e}","kty":"RSA","n":"${n}"}`).digest("base64url");
  assert.deepEqual([kty, alg, kid], ["RSA", "RS256", thumbprint]);
  const { kid: named, alg: signed } = headerOf(access_token);
  assert.deepEqual([named, signed], [thumbprint, "RS256"]);
});

choice("1.rfcs.access-token", "signIn gives tokens to be refreshed and revoked", MANUAL, async ({ api, service }) => {
  const { access_token, refresh_token, scope, expires_in } = await service.signIn({
    scopes: ["read:apps", "read:data"],
  });
  assert.deepEqual([scope, expires_in], ["read:apps read:data", 3600]);
  assert.equal((await api.as(access_token).get("/apps")).status, 200);
  problem(await api.as(access_token).get("/users"), "insufficient_scope");
  const next = await refresh(api, refresh_token);
  assert.equal(next.status, 200);
  assert.equal((await sendJson(api, "/oauth/revoke", { token: str(next.json.access_token) })).status, 200);
  await refused(api.as(access_token), /revoked/);
  const userId = (await person(api, ["read:apps"])).id;
  assert.equal((await service.signIn({ scopes: ["admin"], userId })).scope, "read:apps");
  await assert.rejects(service.signIn({ scopes: ["read:data"], userId }), /holds none/);
  await assert.rejects(service.signIn({ scopes: ["admin"], userId: "usr_nobody" }), /no user usr_nobody/);
  const scopes = trusted<Scope[]>(["read:apps", "read:nothing"]);
  await assert.rejects(service.signIn({ scopes }), /there is no scope read:nothing; the scopes are read:apps,/);
});
