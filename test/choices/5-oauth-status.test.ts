// Revoking tokens (RFC 7009), asking about them (RFC 7662), and what a restart keeps of either.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { choice, withService } from "../support/clauses.ts";
import type { Client } from "../support/client.ts";
import { claimsOf, oauthError, person, refresh, register, sendForm, sendJson, tokensFor } from "../support/oauth.ts";
import { problem } from "../support/problem.ts";

const OWN = { clock: "manual" } as const;

async function scene(api: Client, draft: object = {}) {
  const [app, who] = [await register(api, draft), await person(api)];
  return { app, who, tokens: await tokensFor(api, who, app), ask: (token: string) => asked(api, app, token) };
}

async function asked(api: Client, app: object, token: string) {
  const answer = await sendJson(api, "/oauth/introspect", { ...app, token });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers["cache-control"], "no-store");
  return answer.json;
}

choice(
  "1.rfcs.revocation",
  "either token, as JSON or form, with any way to authenticate, ends the grant",
  OWN,
  async ({ api }) => {
    for (const [kind, hint] of [
      ["access", "access_token"],
      ["refresh", "refresh_token"],
      ["access", "refresh_token"],
      ["refresh", "nonsense"],
    ] as const) {
      const { app, tokens } = await scene(api);
      const { client_id, client_secret } = app;
      const authorization = `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString("base64")}`;
      const fields = { token: tokens[kind], token_type_hint: hint };
      const answer =
        kind === "access"
          ? await sendForm(api, "/oauth/revoke", fields, { authorization })
          : await sendJson(api, "/oauth/revoke", { ...app, ...fields });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers["content-type"], "application/json");
      assert.equal(answer.text, "{}");
      problem(await api.as(tokens.access).get("/apps"), "invalid_credential");
      assert.match(oauthError(await refresh(api, tokens.refresh), 400, "invalid_grant"), /access .* has been revoked/);
    }
  },
);

choice(
  "1.rfcs.revocation",
  "what is not known or over already is answered 200 all the same",
  OWN,
  async ({ api, service }) => {
    const { app, tokens } = await scene(api);
    for (const token of ["nonsense", "a.b.c", "ahr_nothing", tokens.refresh, tokens.refresh, tokens.access])
      assert.equal((await sendJson(api, "/oauth/revoke", { ...app, token })).status, 200);
    const second = await scene(api);
    await service.clock.advance("3600000ms");
    assert.equal((await sendJson(api, "/oauth/revoke", { ...second.app, token: second.tokens.access })).status, 200);
  },
);

choice(
  "1.rfcs.revocation",
  "only the client that holds the token revokes it, and it proves who it is",
  OWN,
  async ({ api }) => {
    const { app, tokens } = await scene(api);
    const other = await register(api);
    const tries = [
      [{ token: tokens.refresh }, 401, "invalid_client"],
      [{ ...app, client_secret: "wrong", token: tokens.refresh }, 401, "invalid_client"],
      [{ client_id: app.client_id, token: tokens.refresh }, 401, "invalid_client"],
      [{ ...other, token: tokens.refresh }, 400, "invalid_grant"],
      [{ ...other, token: tokens.access }, 400, "invalid_grant"],
      [{ ...app }, 400, "invalid_request"],
    ] as const;
    for (const [fields, status, error] of tries)
      oauthError(await sendJson(api, "/oauth/revoke", fields), status, error);
    assert.equal((await api.as(tokens.access).get("/apps")).status, 200);
  },
);

choice("1.rfcs.introspection", "an access token: its claims, its user, and what it opens now", OWN, async ({ api }) => {
  const { app, who, tokens, ask } = await scene(api);
  const { iss, sub, aud, client_id, jti, iat, exp } = claimsOf(tokens.access);
  const claims = { iss, sub, aud, client_id, jti, iat, exp };
  assert.deepEqual(await ask(tokens.access), {
    active: true,
    scope: "read:apps",
    username: who.email,
    token_type: "Bearer",
    ...claims,
  });
  assert.equal(client_id, app.client_id);
  await api.patch(`/users/${who.id}`, { permissions: ["write:apps"] });
  assert.equal((await ask(tokens.access)).scope, "");
});

choice(
  "1.rfcs.introspection",
  "a refresh token: until it is used, expired or revoked",
  OWN,
  async ({ api, service }) => {
    const { app, who, tokens, ask } = await scene(api);
    const { iss, aud } = claimsOf(tokens.access);
    const [iat, exp] = [1_767_225_600, 1_769_817_600]; // the manual clock's start, and 30 days later
    const rest = { client_id: app.client_id, username: who.email, sub: who.id, iss, aud, iat, exp };
    assert.deepEqual(await ask(tokens.refresh), { active: true, scope: "read:apps", ...rest });
    const next = (await refresh(api, tokens.refresh)).json;
    assert.deepEqual(await ask(tokens.refresh), { active: false });
    assert.equal((await ask(String(next.refresh_token))).active, true);
    await service.clock.advance(`${30 * 86_400_000}ms`);
    assert.deepEqual(await ask(String(next.refresh_token)), { active: false });
  },
);

choice(
  "1.rfcs.introspection",
  "what opens nothing is not active, and nothing else is said",
  OWN,
  async ({ api, service }) => {
    const { app, tokens, ask } = await scene(api);
    const other = await register(api);
    const inactive = async (token: string) => assert.deepEqual(await ask(token), { active: false });
    for (const token of ["nonsense", `${tokens.access}x`, String(api.key)]) await inactive(token);
    for (const token of [tokens.access, tokens.refresh])
      assert.deepEqual(await asked(api, other, token), { active: false }, "of another client");
    await service.setAccountState("suspended");
    for (const token of [tokens.access, tokens.refresh]) await inactive(token);
    await service.setAccountState("active");
    assert.equal((await ask(tokens.access)).active, true);
    await service.clock.advance("3600000ms");
    await inactive(tokens.access);
    await sendJson(api, "/oauth/revoke", { ...app, token: tokens.refresh });
    await inactive(tokens.refresh);
  },
);

choice(
  "1.rfcs.introspection",
  "takes a client with a secret; to ask, the token must be named",
  OWN,
  async ({ api }) => {
    const { app, tokens } = await scene(api);
    const open = await register(api, { public: true });
    for (const [fields, status, error] of [
      [{ token: tokens.access }, 401, "invalid_client"],
      [{ client_id: app.client_id, token: tokens.access }, 401, "invalid_client"],
      [{ ...app, client_secret: "wrong", token: tokens.access }, 401, "invalid_client"],
      [{ ...open, token: tokens.access }, 401, "invalid_client"],
      [{ ...app }, 400, "invalid_request"],
    ] as const)
      oauthError(await sendJson(api, "/oauth/introspect", fields), status, error);
    const form = await sendForm(api, "/oauth/introspect", { ...app, token: tokens.access });
    assert.equal(form.json.active, true);
  },
);

choice("1.rfcs.revocation", "tokens outlast a restart, and so does their end", "ours", async () => {
  const folder = await mkdtemp(join(tmpdir(), "oauth-"));
  const options = { data: join(folder, "data.json"), apiKey: "restart-test-key", port: 0 };
  try {
    const kept: { access: string; refresh: string }[] = [];
    await withService(options, async ({ service }) => {
      options.port = Number(new URL(service.authUrl).port); // tokens name their issuer, and the port is part of it
      for (let made = 0; made < 2; made += 1) {
        const { access_token, refresh_token } = await service.signIn({ scopes: ["read:apps"] });
        kept.push({ access: access_token, refresh: refresh_token });
      }
    });
    const [first, second] = kept;
    assert.ok(first && second);
    await withService(options, async ({ api }) => {
      assert.equal((await api.as(first.access).get("/apps")).status, 200);
      assert.equal((await sendJson(api, "/oauth/revoke", { token: first.refresh })).status, 200);
    });
    await withService(options, async ({ api }) => {
      problem(await api.as(first.access).get("/apps"), "invalid_credential");
      assert.match(oauthError(await refresh(api, first.refresh), 400, "invalid_grant"), /revoked/);
      assert.equal((await refresh(api, second.refresh)).status, 200);
      oauthError(await refresh(api, second.refresh), 400, "invalid_grant");
    });
    await withService(options, async ({ api }) => {
      problem(await api.as(second.access).get("/apps"), "invalid_credential");
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});
