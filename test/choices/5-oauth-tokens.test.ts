// The life of tokens (spec part 5): discovery of the keys and endpoints from {auth_url} alone (RFC 8414, 9728, 7517),
// refresh and its errors (RFC 9700 2.2.2, 4.14.2; OAuth 2.1 4.3.1), revocation (RFC 7009),
// and persistence across a restart.
import assert from "node:assert/strict";
import { choice, MANUAL, withService } from "../support/clauses.ts";
import { freshFile } from "../support/closing.ts";
import {
  ALL_SCOPES,
  basic,
  held,
  oauthError,
  pair,
  refresh,
  register,
  sendForm,
  sendJson,
} from "../support/oauth.ts";
import { problem } from "../support/problem.ts";

const SERVER = "/.well-known/oauth-authorization-server";
const OPENID = "/.well-known/openid-configuration";
const REVOKE = "/oauth/revoke";
const RESOURCE = "/.well-known/oauth-protected-resource/v1";

choice(
  "1.rfcs.metadata",
  "the server publishes its metadata, and the API's metadata link to it",
  async ({ api, authUrl, baseUrl }) => {
    const anyone = api.root.as(null);
    const answer = await anyone.get(SERVER);
    const methods = ["client_secret_basic", "client_secret_post", "none"];
    assert.deepEqual(answer.json, {
      issuer: authUrl,
      authorization_endpoint: `${authUrl}/oauth/authorize`,
      token_endpoint: `${authUrl}/oauth/token`,
      revocation_endpoint: `${authUrl}/oauth/revoke`,
      userinfo_endpoint: `${baseUrl}/account`,
      jwks_uri: `${authUrl}/oauth/jwks`,
      scopes_supported: ALL_SCOPES,
      response_types_supported: ["code"],
      grant_types_supported: ["authorization_code", "refresh_token"],
      token_endpoint_auth_methods_supported: methods,
      revocation_endpoint_auth_methods_supported: methods,
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
    });
    assert.equal((await anyone.get(OPENID)).text, answer.text, "one document at both addresses");
    const challenge = (await api.as(null).get("/apps")).header("www-authenticate");
    assert.equal(/resource_metadata="([^"]+)"/.exec(challenge)?.[1], authUrl + RESOURCE);
    assert.deepEqual((await anyone.get(RESOURCE)).json, {
      resource: baseUrl,
      authorization_servers: [authUrl],
      scopes_supported: ALL_SCOPES,
      bearer_methods_supported: ["header"],
    });
  },
);

choice(
  "5.token-response.errors",
  "another method gets 405 with Allow, in the error format of RFC 6749",
  async ({ api }) => {
    const anyone = api.root.as(null);
    for (const [allow, path] of [
      ["POST", "/oauth/token"],
      ["POST", REVOKE],
      ["GET, HEAD", "/oauth/jwks"],
    ] as const) {
      const answer = await anyone.send("PUT", path);
      assert.deepEqual([answer.status, answer.header("allow")], [405, allow], path);
      assert.equal(answer.json.error, "invalid_request");
    }
    for (const path of ["/oauth/nothing", "/oauth/introspect"]) (await anyone.get(path)).is(404);
  },
);

const DAY_MS = 86_400_000;

choice(
  "5.token-lifetimes.refresh",
  "a refresh token lasts 30 days from each use, and the store then deletes it with its grant",
  MANUAL,
  async ({ api, service }) => {
    let { refresh: token } = (await held(api)).tokens;
    for (let used = 0; used < 2; used += 1) {
      await service.clock.advance(`${30 * DAY_MS - 1}ms`);
      token = pair(await refresh(api, token)).refresh;
    }
    await service.clock.advance("30d");
    oauthError(await refresh(api, token), "invalid_grant", "expired");
    const { collections } = await service.snapshot();
    for (const name of ["grants", "refresh_tokens", "sessions"])
      assert.deepEqual(collections[name] ?? [], [], name);
  },
);

choice(
  "5.token-response.errors",
  "a refresh needs no client credentials, but any that are sent must be valid",
  MANUAL,
  async ({ api }) => {
    const { app, tokens } = await held(api);
    const { client_id, client_secret } = app;
    for (const [extra, error] of [
      [{ client_id, client_secret: "x" }, "invalid_client"],
      [{ client_secret }, "invalid_client"],
      [{ client_id: "cli_nobody" }, "invalid_client"],
      [{ ...(await register(api)) }, "invalid_grant"],
      [{ refresh_token: tokens.access }, "invalid_grant"],
      [{ refresh_token: null }, "invalid_request"],
    ] as const)
      oauthError(await refresh(api, tokens.refresh, extra), error);
    const second = pair(await refresh(api, tokens.refresh, { ...app }));
    const third = pair(await refresh(api, second.refresh, { client_id }));
    const form = { grant_type: "refresh_token", refresh_token: third.refresh };
    pair(await sendForm(api, "/oauth/token", form, basic(client_id, client_secret)));
  },
);

choice(
  "5.token-response",
  "a refresh may request fewer scopes, and grants only those that the user still holds",
  MANUAL,
  async ({ api }) => {
    const { tokens, permit } = await held(api, "read:apps write:apps");
    for (const scope of ["admin", "read:apps read:data", "nonsense", " "])
      oauthError(await refresh(api, tokens.refresh, { scope }), "invalid_scope");
    const less = pair(await refresh(api, tokens.refresh, { scope: "read:apps" }));
    assert.equal(less.scope, "read:apps");
    problem(await api.as(less.access).post("/apps", { title: "T" }), "insufficient_scope");
    await permit("write:apps");
    oauthError(await refresh(api, less.refresh, { scope: "read:apps" }));
    const next = pair(await refresh(api, less.refresh));
    assert.equal(next.scope, "write:apps");
    await permit("admin");
    assert.equal(pair(await refresh(api, next.refresh)).scope, "read:apps write:apps");
  },
);

choice(
  "1.rfcs.revocation",
  "revoking either token, in any format, ends the grant",
  MANUAL,
  async ({ api }) => {
    for (const [kind, isForm] of [
      ["access", true],
      ["refresh", false],
    ] as const) {
      const { app, tokens, holder } = await held(api);
      (await holder.get("/apps")).is(200); // now its verified signature is cached
      const fields = { token: tokens[kind], token_type_hint: "nonsense" };
      const answer = isForm
        ? await sendForm(api, REVOKE, fields, basic(app.client_id, app.client_secret))
        : await sendJson(api, REVOKE, { ...app, ...fields });
      assert.deepEqual([answer.status, answer.text], [200, "{}"]);
      const { detail } = problem(await holder.get("/apps"), "invalid_credential");
      assert.match(String(detail), /revoked/);
      oauthError(await refresh(api, tokens.refresh), "invalid_grant", "revoked");
    }
  },
);

choice(
  "1.rfcs.revocation",
  "only the token's authenticated client may revoke it, and revoking an ended token returns 200",
  MANUAL,
  async ({ api, service }) => {
    const [{ app, tokens, holder }, second] = [await held(api), await held(api)];
    const token = tokens.refresh;
    for (const [fields, error] of [
      [{ token }, "invalid_client"],
      [{ client_id: app.client_id, token }, "invalid_client"],
      [{ ...app }, "invalid_request"],
    ] as const)
      oauthError(await sendJson(api, REVOKE, fields), error);
    // A public client authenticates by its id alone.
    for (const other of [await register(api), await register(api, { public: true })])
      oauthError(await sendJson(api, REVOKE, { ...other, token: tokens.access }), "invalid_grant");
    (await holder.get("/apps")).is(200);
    for (const each of ["nonsense", "a.b.c", token, token, tokens.access])
      (await sendJson(api, REVOKE, { ...app, token: each })).is(200);
    await service.clock.advance("1h");
    const expired = { ...second.app, token: second.tokens.access };
    (await sendJson(api, REVOKE, expired)).is(200);
  },
);

choice("1.rfcs.revocation", "tokens and their revocation survive a restart", async () => {
  const options = { data: freshFile("data.json"), apiKey: "restart-test-key", port: 0 };
  let first = { access_token: "", refresh_token: "" };
  let next = "";
  await withService(options, async ({ service }) => {
    options.port = Number(new URL(service.authUrl).port); // tokens name their issuer, and the port is part of it
    first = await service.signIn({ scopes: ["read:apps"] });
  });
  await withService(options, async ({ api }) => {
    (await api.as(first.access_token).get("/apps")).is(200);
    next = pair(await refresh(api, first.refresh_token)).refresh;
    (await sendJson(api, REVOKE, { token: next })).is(200);
  });
  await withService(options, async ({ api }) => {
    problem(await api.as(first.access_token).get("/apps"), "invalid_credential");
    oauthError(await refresh(api, next), "invalid_grant", "revoked");
  });
});
