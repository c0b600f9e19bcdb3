// OAuth step 2 (spec part 5): exchanging a code for tokens, once; the response's fields; authenticating the client.
// RFC 9700 2.1.1, 2.4, 2.5, 4.2.4, 4.5.3, 4.8.2; OAuth 2.1 2.4.1, 3.1, 3.2.3, 3.2.4, 4.1.2.
import assert from "node:assert/strict";
import { StorageUnavailable } from "../../src/index.ts";
import { choice, gated, MANUAL } from "../support/clauses.ts";
import type { Client } from "../support/client.ts";
import { FIXED } from "../support/embedded.ts";
import {
  basic,
  claimsOf,
  exchange,
  headerOf,
  held,
  oauthError,
  PKCE,
  pair,
  publishedKeys,
  REDIRECT,
  refresh,
  register,
  returned,
  scene,
  sendForm,
  sendJson,
  VERIFIER,
} from "../support/oauth.ts";
import { problem } from "../support/problem.ts";

const TOKEN = "/oauth/token";
const GRANT = { grant_type: "authorization_code", redirect_uri: REDIRECT };
const JSON_TYPE = { "content-type": "application/json" };
const FORM_TYPE = { "content-type": "application/x-www-form-urlencoded" };

const postRaw = (api: Client, headers: Record<string, string>, body: string | Buffer) =>
  api.root.as(null).send("POST", TOKEN, { headers, body });

choice(
  "5.token-response",
  "the token response is that of RFC 6749 5.1, and its at+jwt that of RFC 9068",
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
  "5.token-lifetimes.access",
  "an access token lasts an hour, to the millisecond",
  FIXED,
  async ({ api, service }) => {
    const { holder } = await held(api);
    await service.clock.advance("3599999ms");
    assert.equal((await holder.get("/apps")).status, 200);
    await service.clock.advance("1ms");
    const error = await holder.get("/apps");
    problem(error, "expired_credential");
    assert.match(error.header("www-authenticate"), /error="invalid_token"/);
  },
);

choice(
  "5.token-lifetimes.code",
  "a code lasts a minute, and for ten more the error says that it expired",
  MANUAL,
  async ({ api, service }) => {
    const { app, code } = await scene(api);
    const codes = [await code(), await code(), await code(), await code()];
    for (const [wait, error] of [
      ["59999ms", null],
      ["1ms", "expired"],
      ["599999ms", "expired"],
      ["1ms", "not known"],
    ] as const) {
      await service.clock.advance(wait);
      const answer = await exchange(api, app, codes.shift() ?? "");
      if (error === null) pair(answer);
      else oauthError(answer, "invalid_grant", error);
    }
  },
);

choice(
  "1.rfcs.token-body",
  "a token request is JSON with any charset or a form, and may have unknown parameters",
  MANUAL,
  async ({ api }) => {
    const { app, code } = await scene(api);
    const fields = async () => ({ ...GRANT, ...app, unknown: "x", code: await code() });
    const typed = { "content-type": "Application/X-WWW-Form-Urlencoded; charset=UTF-8" };
    for (const headers of [{}, typed]) pair(await sendForm(api, TOKEN, await fields(), headers));
    for (const parameter of ["", "; charset=us-ascii", '; charset="ISO-8859-1"', "; charset"]) {
      const headers = { "content-type": `application/json${parameter}` };
      pair(await postRaw(api, headers, JSON.stringify({ ...(await fields()), more: 1 })));
    }
  },
);

/** The parameters of a token request, always as text. */
const TEXTS =
  "grant_type client_id client_secret code redirect_uri code_verifier refresh_token scope token token_type_hint";

choice(
  "5.token-response.errors",
  "a body that is no parameters, repeats one or has another type is an invalid_request",
  MANUAL,
  async ({ api }) => {
    const { app, code } = await scene(api);
    const fields = { ...GRANT, ...app, code: await code() };
    const json = JSON.stringify(fields);
    const notUtf8 = Buffer.from(json.replace('"}', '\xff"}'), "latin1");
    const grantType = "grant_type=authorization_code";
    for (const [headers, ...bodies] of [
      [{}, json],
      [{ "content-type": "text/plain" }, json, grantType],
      [JSON_TYPE, json.slice(0, -1), `[${json}]`, "null", "", "{}", notUtf8],
      [JSON_TYPE, ...TEXTS.split(" ").map((name) => JSON.stringify({ ...fields, [name]: ["x"] }))],
      [JSON_TYPE, JSON.stringify({ grant_type: "authorization_code", ...app })],
      [FORM_TYPE, `${grantType}&${grantType}`, "x=1&x=2", "", `x=${"y".repeat(1_048_576)}`],
    ] as const)
      for (const body of bodies) oauthError(await postRaw(api, headers, body), "invalid_request");
    for (const grant_type of ["password", "client_credentials"])
      oauthError(await sendJson(api, TOKEN, { ...app, grant_type }), "unsupported_grant_type");
  },
);

choice(
  "1.rfcs.resource",
  "each resource must be the base URL, and a wrong one leaves the code usable",
  MANUAL,
  async ({ api, authUrl, baseUrl }) => {
    const { app, code } = await scene(api);
    const post = (fields: object, resource: unknown) =>
      postRaw(api, JSON_TYPE, JSON.stringify({ ...app, resource, ...fields }));
    const postForm = (fields: Record<string, string>, ...resources: readonly string[]) => {
      const form = new URLSearchParams({
        ...fields,
        ...app,
        client_secret: `${app.client_secret}`,
      });
      for (const resource of resources) form.append("resource", resource);
      return postRaw(api, FORM_TYPE, form.toString());
    };
    const grant = { ...GRANT, code: await code() };
    for (const wrong of ["x", authUrl, `${baseUrl}/`, `${baseUrl}#f`, baseUrl.toUpperCase()])
      for (const answer of [
        await postForm(grant, baseUrl, wrong),
        await post(grant, wrong),
        await post(grant, [wrong, baseUrl]),
      ])
        assert.equal(oauthError(answer, "invalid_target"), `The resource must be ${baseUrl}.`);
    for (const invalid of [5, {}, [5], [null], [[baseUrl]], [baseUrl, 5]])
      oauthError(await post(grant, invalid), "invalid_request");
    oauthError(await post({ ...grant, client_secret: "x" }, "x"), "invalid_client");
    let token = pair(await postForm(grant, baseUrl, baseUrl)).refresh;
    const refreshGrant = () => ({ grant_type: "refresh_token", refresh_token: token });
    oauthError(await post(refreshGrant(), [baseUrl, "x"]), "invalid_target");
    token = pair(await postForm(refreshGrant(), "", baseUrl)).refresh;
    for (const resource of [null, "", baseUrl, [], [baseUrl, baseUrl]])
      token = pair(await post(refreshGrant(), resource)).refresh;
    // A revocation has no resource.
    const revoked = await sendForm(api, "/oauth/revoke", { ...app, token, resource: "x" });
    assert.equal(revoked.status, 200);
  },
);

choice(
  "5.token-response.errors",
  "client credentials come in Basic or the body, and wrong ones leave the code usable",
  MANUAL,
  async ({ api }) => {
    const { app, code } = await scene(api);
    const { client_id, client_secret } = app;
    const header = basic(client_id, client_secret);
    const percent = Buffer.from(String(client_secret)).toString("hex").replace(/../g, "%$&");
    for (const [more, headers] of [
      [{}, basic(client_id, percent)],
      [{ client_id }, header],
    ] as const)
      pair(await sendForm(api, TOKEN, { ...GRANT, ...more, code: await code() }, headers));
    const grant = { ...GRANT, code: await code() };
    for (const twice of [{ client_secret }, { client_id: "cli_other" }])
      oauthError(await sendForm(api, TOKEN, { ...grant, ...twice }, header), "invalid_request");
    const other = await register(api);
    for (const wrong of [
      { client_secret: "wrong" },
      { client_secret: `${client_secret}x` },
      { client_secret: null },
      { client_secret: other.client_secret },
      { client_id: "cli_00000000000000000000000" },
      { client_id: "" },
    ]) {
      const answer = await exchange(api, app, grant.code, wrong);
      oauthError(answer, "invalid_client");
      assert.match(answer.header("www-authenticate"), /^Basic /);
    }
    for (const headers of [
      ...["wrong", "", "%zz"].map((password) => basic(client_id, password)),
      ...[`Basic ${client_id}:${client_secret}`, `Bearer ${client_secret}`, "Basic"].map(
        (authorization) => ({ authorization }),
      ),
      { authorization: [String(header.authorization), "Basic eDp5"] },
    ])
      oauthError(await sendForm(api, TOKEN, grant, headers), "invalid_client");
    pair(await exchange(api, app, grant.code));
  },
);

choice(
  "5.token-lifetimes.second-use",
  "using a code twice ends its grant, and a failed exchange is no use",
  MANUAL,
  async ({ api, service }) => {
    const { app, code } = await scene(api);
    const one = await code();
    oauthError(await exchange(api, await register(api), one));
    for (const [extra, error] of [
      [{ redirect_uri: null }, "redirect_uri is missing"],
      [{ redirect_uri: `${REDIRECT}/` }, "not the one that was authorized"],
      [{ redirect_uri: "https://evil.example/" }, "not the one that was authorized"],
      [{ code_verifier: VERIFIER }, "without PKCE"],
    ] as const)
      oauthError(await exchange(api, app, one, extra), "invalid_grant", error);
    oauthError(await exchange(api, app, `${one}x`));
    const tokens = pair(await exchange(api, app, one));
    await service.clock.advance("10m");
    oauthError(await exchange(api, app, one), "invalid_grant", "used before");
    problem(await api.as(tokens.access).get("/apps"), "invalid_credential");
    oauthError(await refresh(api, tokens.refresh));
  },
);

choice(
  "5.token-lifetimes.second-use",
  "of 50 concurrent exchanges of one code or refresh token one succeeds, and the grant ends",
  MANUAL,
  async ({ api }) => {
    const { app, code, tokens } = await scene(api);
    const [one, first] = [await code(), await tokens()];
    const access = [first.access];
    for (const use of [() => exchange(api, app, one), () => refresh(api, first.refresh)]) {
      const answers = await Promise.all(Array.from({ length: 50 }, use));
      const winners = answers.filter(({ status }) => status === 200);
      assert.equal(winners.length, 1);
      const errors = answers.filter(({ status }) => status !== 200).map((each) => oauthError(each));
      assert.ok(errors.some((description) => description.includes("used before")));
      const next = pair(winners[0] ?? assert.fail());
      oauthError(await refresh(api, next.refresh));
      access.push(next.access);
    }
    for (const token of access) problem(await api.as(token).get("/apps"), "invalid_credential");
  },
);

// The challenges of 42 and of 129 times the letter a: `openssl dgst -sha256 -binary`, as base64url.
const OTHER_LENGTHS = {
  elOGB_2quSlplZKfRRVlu7gULhhEEXMiqv0rPXawGv8: 42,
  "wSywJKLlVRzKDgj86PHF4xRVXMP-9jKe6ZSj23UhZq4": 129,
};

for (const isPublic of [true, false])
  choice(
    "5.pkce",
    `the verifier of RFC 7636 matches its challenge, and no other does, for a ${isPublic ? "public" : "confidential"} client`,
    MANUAL,
    async ({ api }) => {
      const { app, code, open } = await scene(api, { public: isPublic });
      const { error } = isPublic ? returned(await open()) : {};
      assert.equal(error, isPublic ? "invalid_request" : undefined, "it must send a challenge");
      const one = await code(PKCE);
      const { code_challenge } = PKCE;
      const short = VERIFIER.slice(0, 42);
      for (const code_verifier of [
        null,
        "",
        short,
        `${VERIFIER}x`,
        code_challenge,
        "x".repeat(129),
      ])
        oauthError(await exchange(api, app, one, { code_verifier }));
      const extra = { code_verifier: VERIFIER };
      oauthError(await exchange(api, app, one, { ...extra, client_secret: "x" }), "invalid_client");
      pair(await exchange(api, app, one, extra));
      for (const [code_challenge, length] of Object.entries(OTHER_LENGTHS)) {
        const bound = await code({ ...PKCE, code_challenge });
        oauthError(await exchange(api, app, bound, { code_verifier: "a".repeat(length) }));
      }
    },
  );

choice(
  "5.token-lifetimes.gone",
  "codes and tokens of a deleted user or client stop working",
  MANUAL,
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
      assert.ok(String(detail).includes(cause));
    }
  },
);

choice(
  "5.token-lifetimes.gone",
  "a suspended account gets no tokens and uses up none, and a limited account gets them",
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
    "5.token-response.errors",
    `a ${write} that cannot be stored is a 503 and uses up no code`,
    async ({ api }, gate) => {
      const { app, code } = await scene(api);
      const one = await code();
      Object.assign(gate, { fault: new StorageUnavailable("full"), spared });
      oauthError(await exchange(api, app, one), "temporarily_unavailable");
      gate.fault = undefined;
      pair(await exchange(api, app, one));
    },
  );
