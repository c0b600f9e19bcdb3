// OAuth step 2 and the life of tokens (spec part 5): exchanging a code, once; authenticating the client; discovery from
// {auth_url} alone (RFC 8414, 9728, 7517), refresh, revocation (RFC 7009), and persistence across a restart.
// RFC 9700 2.1.1, 2.2.2, 2.4, 2.5, 4.2.4, 4.5.3, 4.8.2, 4.14.2; OAuth 2.1 2.4.1, 3.1, 3.2.3, 3.2.4, 4.1.2, 4.3.1.
import assert from "node:assert/strict";
import { StorageUnavailable } from "../../src/index.ts";
import {
  ALL_SCOPES,
  basic,
  type Client,
  choice,
  claimsOf,
  contains,
  exchange,
  FIXED,
  freshFile,
  gated,
  headerOf,
  held,
  MANUAL,
  oauthError,
  PKCE,
  pair,
  problem,
  publishedKeys,
  REDIRECT,
  refresh,
  register,
  scene,
  sendForm,
  sendJson,
  VERIFIER,
  withService,
} from "../support/index.ts";

const TOKEN = "/oauth/token";
const GRANT = { grant_type: "authorization_code", redirect_uri: REDIRECT };
const JSON_TYPE = { "content-type": "application/json" };
const FORM_TYPE = { "content-type": "application/x-www-form-urlencoded" };

const postRaw = (api: Client, headers: Record<string, string>, body: string) =>
  api.anyone.send("POST", TOKEN, { headers, body });

choice(
  "5.token-response: the token response is that of RFC 6749 5.1, and its at+jwt that of RFC 9068",
  FIXED,
  async ({ api, authUrl, baseUrl }) => {
    const { app, who, code } = await scene(api);
    const scope = "read:apps write:apps";
    const answer = await exchange(api, app, await code({ scope }));
    assert.equal(answer.header("content-type"), "application/json");
    assert.equal(answer.header("cache-control"), "no-store");
    const { access_token, refresh_token, ...rest } = answer.json;
    assert.deepEqual(rest, { token_type: "Bearer", expires_in: 3600, scope });
    assert.match(String(refresh_token), /^ahr_[A-Za-z0-9_-]{43}$/, "256 random bits");
    const { kid, ...header } = headerOf(String(access_token));
    assert.deepEqual(header, { typ: "at+jwt", alg: "ES256" });
    assert.equal((await publishedKeys(api))[0]?.kid, kid);
    const { jti, ...claims } = claimsOf(String(access_token));
    assert.ok(typeof jti === "string" && jti !== "");
    assert.deepEqual(claims, {
      iss: authUrl,
      sub: who.id,
      aud: baseUrl,
      client_id: app.client_id,
      scope,
      iat: 1_767_225_600, // the manual clock's start
      exp: 1_767_229_200,
    });
  },
);

choice(
  "5.token-lifetimes.access: an access token lasts an hour, to the millisecond",
  FIXED,
  async ({ api, service }) => {
    const { holder } = await held(api);
    await service.clock.advance("3599999ms");
    (await holder.get("/apps")).is(200);
    await service.clock.advance("1ms");
    problem(await holder.get("/apps"), "expired_credential");
  },
);

choice(
  "5.token-lifetimes.code: a code lasts a minute, to the millisecond",
  MANUAL,
  async ({ api, service }) => {
    const { app, code } = await scene(api);
    const [early, late] = [await code(), await code()];
    await service.clock.advance("59999ms");
    pair(await exchange(api, app, early));
    await service.clock.advance("1ms");
    oauthError(await exchange(api, app, late), "invalid_grant", "expired");
  },
);

choice(
  "1.rfcs.token-body: a token request is JSON with any charset or a form, and may have unknown parameters",
  async ({ api }) => {
    const { app, code } = await scene(api);
    const fields = async () => ({ ...GRANT, ...app, unknown: "x", code: await code() });
    const typed = { "content-type": "Application/X-WWW-Form-Urlencoded; charset=UTF-8" };
    pair(await sendForm(api, TOKEN, await fields(), typed));
    const headers = { "content-type": 'application/json; charset="ISO-8859-1"' };
    pair(await postRaw(api, headers, JSON.stringify({ ...(await fields()), more: 1 })));
  },
);

choice(
  "5.token-response.errors: a body that is no parameters, repeats one or has another type is an invalid_request",
  async ({ api }) => {
    const { app, code } = await scene(api);
    const fields = { ...GRANT, ...app, code: await code() };
    const json = JSON.stringify(fields);
    const grantType = "grant_type=authorization_code";
    for (const [headers, ...bodies] of [
      [{}, json],
      [{ "content-type": "text/plain" }, json],
      [JSON_TYPE, json.slice(0, -1), `[${json}]`, "null", "", "{}", `\ufeff${json}`],
      [JSON_TYPE, JSON.stringify({ ...fields, code: ["x", "y"] })],
      [JSON_TYPE, JSON.stringify({ grant_type: "authorization_code", ...app })],
      [FORM_TYPE, `${grantType}&${grantType}`, "x=1&x=2", ""],
    ] as const)
      for (const body of bodies) oauthError(await postRaw(api, headers, body), "invalid_request");
    const tooLarge = await postRaw(api, FORM_TYPE, `x=${"y".repeat(1_048_576)}`);
    oauthError(tooLarge, "invalid_request", "The body is too large. The limit is 1048576 bytes.");
    const password = { ...app, grant_type: "password" };
    oauthError(await sendJson(api, TOKEN, password), "unsupported_grant_type");
  },
);

choice(
  "1.rfcs.resource: each resource must be the base URL, and a wrong one leaves the code usable",
  async ({ api, authUrl, baseUrl }) => {
    const { app, code } = await scene(api);
    const post = (fields: object) => postRaw(api, JSON_TYPE, JSON.stringify({ ...app, ...fields }));
    const grant = { ...GRANT, code: await code() };
    for (const resource of ["x", authUrl, `${baseUrl}/`, ["x", baseUrl], {}])
      oauthError(await post({ ...grant, resource }), "invalid_target", `must be ${baseUrl}`);
    const token = pair(await post({ ...grant, resource: [baseUrl, baseUrl] })).refresh;
    const form = `grant_type=refresh_token&refresh_token=${token}&resource=${baseUrl}`;
    oauthError(await postRaw(api, FORM_TYPE, `${form}&resource=x`), "invalid_target");
    pair(await postRaw(api, FORM_TYPE, `${form}&resource=${baseUrl}&resource=`));
  },
);

choice(
  "5.token-response.errors: client credentials come in Basic or the body, and wrong ones leave the code usable",
  async ({ api }) => {
    const { app, code } = await scene(api);
    const { client_id, client_secret } = app;
    const header = basic(client_id, client_secret);
    const grant = { ...GRANT, code: await code() };
    for (const twice of [{ client_secret }, { client_id: "cli_other" }])
      oauthError(await sendForm(api, TOKEN, { ...grant, ...twice }, header), "invalid_request");
    for (const wrong of [
      { client_secret: `${client_secret}x` },
      { client_secret: null },
      { client_id: "cli_00000000000000000000000" },
    ]) {
      const answer = await exchange(api, app, grant.code, wrong);
      oauthError(answer, "invalid_client");
      assert.match(answer.header("www-authenticate"), /^Basic /);
    }
    for (const authorization of [
      basic(client_id, "wrong").authorization,
      basic(client_id, "%zz").authorization,
      `Basic ${client_id}:${client_secret}`,
      `Bearer ${client_secret}`,
      [header.authorization, "Basic eDp5"],
    ])
      oauthError(await sendForm(api, TOKEN, grant, { authorization }), "invalid_client");
    pair(await sendForm(api, TOKEN, grant, header));
    const encoded = Buffer.from(String(client_secret)).toString("hex").replace(/../g, "%$&");
    const next = { ...GRANT, client_id, code: await code() };
    pair(await sendForm(api, TOKEN, next, basic(client_id, encoded)));
  },
);

choice(
  "5.token-lifetimes.second-use: using a code twice ends its grant, and a failed exchange is no use",
  MANUAL,
  async ({ api, service }) => {
    const { app, code } = await scene(api);
    const one = await code();
    oauthError(await exchange(api, await register(api), one));
    for (const extra of [
      { redirect_uri: null },
      { redirect_uri: `${REDIRECT}/` },
      { code_verifier: VERIFIER },
    ])
      oauthError(await exchange(api, app, one, extra));
    const tokens = pair(await exchange(api, app, one));
    await service.clock.advance("10m");
    oauthError(await exchange(api, app, one), "invalid_grant", "used before");
    problem(await api.as(tokens.access).get("/apps"), "invalid_credential");
    oauthError(await refresh(api, tokens.refresh));
  },
);

choice(
  "5.token-lifetimes.second-use: of 20 concurrent exchanges of one code or refresh token one succeeds, and the grant ends",
  async ({ api }) => {
    const { app, code, tokens } = await scene(api);
    const [one, first] = [await code(), await tokens()];
    for (const [what, use] of Object.entries({
      code: () => exchange(api, app, one),
      "refresh token": () => refresh(api, first.refresh),
    })) {
      const answers = await Promise.all(Array.from({ length: 20 }, use));
      const winners = answers.filter(({ status }) => status === 200);
      assert.equal(winners.length, 1);
      for (const each of answers) if (each.status !== 200) oauthError(each);
      assert.ok(answers.some(({ text }) => text.includes(`The ${what} has been used`)));
      const next = pair(winners[0] ?? assert.fail());
      oauthError(await refresh(api, next.refresh));
      problem(await api.as(next.access).get("/apps"), "invalid_credential");
    }
  },
);

for (const isPublic of [true, false])
  choice(
    `5.pkce: the verifier of RFC 7636 matches its challenge, and no other does, for a ${isPublic ? "public" : "confidential"} client`,
    async ({ api }) => {
      const { app, code } = await scene(api, { public: isPublic });
      const one = await code(PKCE);
      for (const code_verifier of [null, "", `${VERIFIER}x`, PKCE.code_challenge])
        oauthError(await exchange(api, app, one, { code_verifier }));
      const extra = { code_verifier: VERIFIER };
      oauthError(await exchange(api, app, one, { ...extra, client_secret: "x" }), "invalid_client");
      pair(await exchange(api, app, one, extra));
    },
  );

choice(
  "5.token-lifetimes.gone: codes and tokens of a deleted user or client stop working",
  async ({ api }) => {
    const [first, second] = [await held(api), await held(api)];
    const codes = [await first.code(), await second.code()] as const;
    await api.delete(`/users/${first.who.id}`);
    oauthError(await exchange(api, first.app, codes[0]), "invalid_grant", "user was deleted");
    await api.delete(`/oauth-clients/${second.app.client_id}`);
    oauthError(await exchange(api, second.app, codes[1]), "invalid_client");
    for (const [{ tokens, holder }, cause] of [
      [first, "user was deleted"],
      [second, "application was deleted"],
    ] as const) {
      oauthError(await refresh(api, tokens.refresh), "invalid_grant", cause);
      const { detail } = problem(await holder.get("/apps"), "invalid_credential");
      contains(detail, cause);
    }
  },
);

choice(
  "5.token-lifetimes.gone: a suspended account gets no tokens and uses up none, and a limited account gets them",
  MANUAL,
  async ({ api, service }) => {
    const { app, code, tokens } = await held(api);
    const one = await code();
    const both = async () => [await exchange(api, app, one), await refresh(api, tokens.refresh)];
    await service.setAccountState("suspended");
    for (const answer of await both()) oauthError(answer, "invalid_grant", "suspended");
    await service.setAccountState("limited");
    for (const answer of await both()) pair(answer);
  },
);

// The first write of a server's first exchange stores the signing key, the second uses up the code.
for (const [spared, write] of ["signing key", "use of the code"].entries())
  gated(
    `5.token-response.errors: a ${write} that cannot be stored is a 503 and uses up no code`,
    async ({ api }, gate) => {
      const { app, code } = await scene(api);
      const one = await code();
      Object.assign(gate, { fault: new StorageUnavailable("full"), spared });
      oauthError(await exchange(api, app, one), "temporarily_unavailable");
      gate.fault = undefined;
      pair(await exchange(api, app, one));
    },
  );

const SERVER = "/.well-known/oauth-authorization-server";
const OPENID = "/.well-known/openid-configuration";
const REVOKE = "/oauth/revoke";
const RESOURCE = "/.well-known/oauth-protected-resource/v1";

choice(
  "1.rfcs.metadata: the server publishes its metadata, and the API's metadata link to it",
  async ({ api, authUrl, baseUrl }) => {
    const anyone = api.anyone;
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
  "5.token-response.errors: another method gets 405 with Allow, in the error format of RFC 6749",
  async ({ api }) => {
    const anyone = api.anyone;
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
  "5.token-lifetimes.refresh: a refresh token lasts 30 days from each use, and the store then deletes it with its grant",
  MANUAL,
  async ({ api, service }) => {
    const countStored = async () => {
      const { collections } = await service.snapshot();
      return ["grants", "refresh_tokens", "sessions"].map((name) => collections[name]?.length ?? 0);
    };
    let { refresh: token } = (await held(api)).tokens;
    assert.deepEqual(await countStored(), [1, 1, 1]);
    for (let used = 0; used < 2; used += 1) {
      await service.clock.advance(`${30 * DAY_MS - 1}ms`);
      token = pair(await refresh(api, token)).refresh;
    }
    await service.clock.advance("30d");
    oauthError(await refresh(api, token), "invalid_grant", "expired");
    assert.deepEqual(await countStored(), [0, 0, 0]);
  },
);

choice(
  "5.token-response.errors: a refresh needs no client credentials, but any that are sent must be valid",
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
  "5.token-response: a refresh may request fewer scopes, and grants only those that the user still holds",
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
  "1.rfcs.revocation: revoking either token, in any format, ends the grant",
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
  "1.rfcs.revocation: only the token's authenticated client may revoke it, and revoking an ended token returns 200",
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

choice("1.rfcs.revocation: tokens and their revocation survive a restart", async () => {
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
