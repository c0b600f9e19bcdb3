// Revoking tokens (RFC 7009), asking about them (RFC 7662), and what a restart keeps of either.
import assert from "node:assert/strict";
import { join } from "node:path";
import { choice, MANUAL, withService } from "../support/clauses.ts";
import type { Client } from "../support/client.ts";
import { freshFolder } from "../support/fresh.ts";
import { basic, claimsOf, held, oauthError, refresh, register, sendForm, sendJson } from "../support/oauth.ts";
import { problem } from "../support/problem.ts";

async function asked(api: Client, app: object, token: string) {
  const answer = await sendJson(api, "/oauth/introspect", { ...app, token });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers["cache-control"], "no-store");
  return answer.json;
}

choice("1.rfcs.revocation", "either token, in any form, however sent, ends the grant", MANUAL, async ({ api }) => {
  for (const [kind, token_type_hint] of [
    ["access", "access_token"],
    ["refresh", "refresh_token"],
    ["access", "refresh_token"],
    ["refresh", "nonsense"],
  ] as const) {
    const { app, tokens } = await held(api);
    const fields = { token: tokens[kind], token_type_hint };
    const answer =
      kind === "access"
        ? await sendForm(api, "/oauth/revoke", fields, basic(app.client_id, app.client_secret))
        : await sendJson(api, "/oauth/revoke", { ...app, ...fields });
    const { status, headers, text } = answer;
    assert.deepEqual([status, headers["content-type"], text], [200, "application/json", "{}"]);
    const refusal = problem(await api.as(tokens.access).get("/apps"), "invalid_credential");
    for (const said of [String(refusal.detail), oauthError(await refresh(api, tokens.refresh))])
      assert.match(said, /access .* has been revoked/);
  }
});

choice("1.rfcs.revocation", "only its client may, proving itself; what is over is 200, too", MANUAL, async (own) => {
  const { api, service } = own;
  const [{ app, tokens }, second, other] = [await held(api), await held(api), await register(api)];
  const token = tokens.refresh;
  for (const [fields, error] of [
    [{ token }, "invalid_client"],
    [{ ...app, client_secret: "wrong", token }, "invalid_client"],
    [{ client_id: app.client_id, token }, "invalid_client"],
    [{ ...other, token }, "invalid_grant"],
    [{ ...other, token: tokens.access }, "invalid_grant"],
    [{ ...app }, "invalid_request"],
  ] as const)
    oauthError(await sendJson(api, "/oauth/revoke", fields), error);
  assert.equal((await api.as(tokens.access).get("/apps")).status, 200);
  const revoke = async (client: object, token: string) =>
    assert.equal((await sendJson(api, "/oauth/revoke", { ...client, token })).status, 200);
  for (const each of ["nonsense", "a.b.c", "ahr_nothing", token, token, tokens.access]) await revoke(app, each);
  await service.clock.advance("3600000ms");
  await revoke(second.app, second.tokens.access);
});

choice("1.rfcs.introspection", "either token: whose, what it opens, how long", MANUAL, async ({ api, service }) => {
  const { app, who, tokens } = await held(api);
  const ask = (token: string) => asked(api, app, token);
  const { jti, ...claims } = claimsOf(tokens.access);
  const common = { active: true, ...claims, username: who.email };
  assert.equal(claims.client_id, app.client_id);
  assert.deepEqual(await ask(tokens.access), { ...common, jti, token_type: "Bearer" });
  const [iat, exp] = [1_767_225_600, 1_769_817_600]; // the manual clock's start, and 30 days later
  assert.deepEqual(await ask(tokens.refresh), { ...common, iat, exp });
  await api.patch(`/users/${who.id}`, { permissions: ["write:apps"] });
  assert.equal((await ask(tokens.access)).scope, "");
  await api.patch(`/users/${who.id}`, { permissions: ["admin"] });
  const next = String((await refresh(api, tokens.refresh)).json.refresh_token);
  assert.deepEqual([await ask(tokens.refresh), (await ask(next)).active], [{ active: false }, true]);
  await service.clock.advance("30d");
  assert.deepEqual(await ask(next), { active: false });
});

choice("1.rfcs.introspection", "what opens nothing is said to be inactive", MANUAL, async ({ api, service }) => {
  const { app, tokens } = await held(api);
  const ask = (token: string) => asked(api, app, token);
  const other = await register(api);
  const both = [tokens.access, tokens.refresh];
  const inactive = async (...list: readonly string[]) => {
    for (const token of list) assert.deepEqual(await ask(token), { active: false });
  };
  await inactive("nonsense", `${tokens.access}x`, String(api.key));
  for (const token of both) assert.deepEqual(await asked(api, other, token), { active: false }, "of another client");
  await service.setAccountState("suspended");
  await inactive(...both);
  await service.setAccountState("active");
  assert.equal((await ask(tokens.access)).active, true);
  await service.clock.advance("3600000ms");
  await inactive(tokens.access);
  await sendJson(api, "/oauth/revoke", { ...app, token: tokens.refresh });
  await inactive(tokens.refresh);
});

choice("1.rfcs.introspection", "takes a client with a secret, and a token", MANUAL, async ({ api }) => {
  const { app, tokens } = await held(api);
  const { client_id } = app;
  const token = tokens.access;
  for (const [fields, error] of [
    [{ token }, "invalid_client"],
    [{ client_id, token }, "invalid_client"],
    [{ ...app, client_secret: "wrong", token }, "invalid_client"],
    [{ ...(await register(api, { public: true })), token }, "invalid_client"],
    [{ ...app }, "invalid_request"],
  ] as const)
    oauthError(await sendJson(api, "/oauth/introspect", fields), error);
  assert.equal((await sendForm(api, "/oauth/introspect", { ...app, token })).json.active, true);
});

choice("1.rfcs.revocation", "tokens outlast a restart, and so does their end", async () => {
  const options = { data: join(freshFolder(), "data.json"), apiKey: "restart-test-key", port: 0 };
  const kept: { access_token: string; refresh_token: string }[] = [];
  await withService(options, async ({ service }) => {
    options.port = Number(new URL(service.authUrl).port); // tokens name their issuer, and the port is part of it
    for (let made = 0; made < 2; made += 1) kept.push(await service.signIn({ scopes: ["read:apps"] }));
  });
  const [first, second] = kept;
  assert.ok(first && second);
  await withService(options, async ({ api }) => {
    assert.equal((await api.as(first.access_token).get("/apps")).status, 200);
    assert.equal((await sendJson(api, "/oauth/revoke", { token: first.refresh_token })).status, 200);
  });
  await withService(options, async ({ api }) => {
    problem(await api.as(first.access_token).get("/apps"), "invalid_credential");
    assert.match(oauthError(await refresh(api, first.refresh_token)), /revoked/);
    assert.equal((await refresh(api, second.refresh_token)).status, 200);
    oauthError(await refresh(api, second.refresh_token));
  });
  await withService(options, async ({ api }) => {
    problem(await api.as(second.access_token).get("/apps"), "invalid_credential");
  });
});
