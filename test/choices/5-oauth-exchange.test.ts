// OAuth step 2 (spec part 5): exchanging a code for tokens, once; the response's fields; authenticating the client.
// RFC 9700 2.1.1, 2.4, 2.5, 4.2.4, 4.5.3, 4.8.2; OAuth 2.1 2.4.1, 3.1, 3.2.3, 3.2.4, 4.1.2.
import assert from "node:assert/strict";
import { StorageUnavailable } from "../../src/index.ts";
import { choice, gated, MANUAL } from "../support/clauses.ts";
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

choice(
  "5.token-response",
  "the token response is that of RFC 6749 5.1, and its at+jwt that of RFC 9068",
  FIXED,
  async (own) => {
    const { api, authUrl, baseUrl } = own;
    const { app, who, code } = await scene(api);
    const scope = "read:apps write:apps";
    const answer = await exchange(api, app, await code({ scope }));
    assert.deepEqual(
      [answer.header("content-type"), answer.header("cache-control")],
      ["application/json", "no-store"],
    );
    const { access_token, refresh_token, ...rest } = answer.json;
    assert.deepEqual(rest, { token_type: "Bearer", expires_in: 3600, scope });
    assert.match(String(refresh_token), /^ahr_[A-Za-z0-9_-]{43}$/, "256 random bits");
    const access = String(access_token);
    const { kid, ...header } = headerOf(access);
    assert.deepEqual(header, { typ: "at+jwt", alg: "ES256" });
    assert.equal((await publishedKeys(api))[0]?.kid, kid);
    const { jti, ...claims } = claimsOf(access);
    assert.ok(typeof jti === "string" && jti !== "");
    const common = { iss: authUrl, sub: who.id, aud: baseUrl, client_id: app.client_id, scope };
    // The manual clock's start, and an hour later.
    assert.deepEqual(claims, { ...common, iat: 1_767_225_600, exp: 1_767_229_200 });
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
    for (const [wait_ms, says] of [
      [59_999, null],
      [1, /expired/],
      [10 * 60_000 - 1, /expired/],
      [1, /not known/],
    ] as const) {
      await service.clock.advance(`${wait_ms}ms`);
      const answer = await exchange(api, app, codes.shift() ?? "");
      if (says === null) pair(answer);
      else assert.match(oauthError(answer), says);
    }
  },
);

/** The parameters of a token request, always as text. */
const TEXTS =
  "grant_type client_id client_secret code redirect_uri code_verifier refresh_token scope token token_type_hint";

choice(
  "1.rfcs.token-body",
  "a token request is JSON or a form and may have unknown parameters; other media types are rejected",
  MANUAL,
  async ({ api }) => {
    const { app, code } = await scene(api);
    const fields = async () => ({ ...GRANT, ...app, unknown: "x", code: await code() });
    const typed = { "content-type": "Application/X-WWW-Form-Urlencoded; charset=UTF-8" };
    for (const headers of [{}, typed]) pair(await sendForm(api, TOKEN, await fields(), headers));
    pair(await sendJson(api, TOKEN, await fields()));
    for (const parameter of [
      "charset=utf8",
      "charset=us-ascii",
      'charset="ISO-8859-1"',
      "charset",
    ]) {
      const headers = { "content-type": `application/json; ${parameter}` };
      pair(
        await api.root
          .as(null)
          .send("POST", TOKEN, { headers, body: JSON.stringify(await fields()) }),
      );
    }
    const json = { "content-type": "application/json" };
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const whole = JSON.stringify(await fields());
    const spoilt = Buffer.concat([
      Buffer.from(whole.slice(0, -2)),
      Buffer.from([0xff]),
      Buffer.from('"}'),
    ]);
    const broken = [whole.slice(0, -1), `[${whole}]`, "null", "", "{}", spoilt];
    for (const [headers, ...bodies] of [
      [{}, whole],
      [{ "content-type": "text/plain" }, whole, new URLSearchParams(JSON.parse(whole)).toString()],
      [{ ...json, "content-encoding": "gzip" }, whole],
      [
        json,
        ...broken,
        ...TEXTS.split(" ").map((name) => JSON.stringify({ ...JSON.parse(whole), [name]: ["x"] })),
      ],
      [json, JSON.stringify({ grant_type: "authorization_code", ...app })],
      [
        form,
        "grant_type=authorization_code&grant_type=authorization_code",
        "x=1&x=2",
        "",
        `x=${"y".repeat(1_048_576)}`,
      ],
    ] as const)
      for (const body of bodies)
        oauthError(
          await api.root.as(null).send("POST", TOKEN, { headers, body }),
          "invalid_request",
        );
    for (const fields of [{ grant_type: "password" }, { grant_type: "client_credentials", ...app }])
      oauthError(await sendJson(api, TOKEN, fields), "unsupported_grant_type");
  },
);

const FORM = { "content-type": "application/x-www-form-urlencoded" };

choice(
  "1.rfcs.resource",
  "each resource must be the base URL, and a wrong one leaves the code usable",
  MANUAL,
  async (own) => {
    const { api, authUrl, baseUrl } = own;
    const { app, code } = await scene(api);
    const token = (fields: object, resources: readonly string[]) => {
      const sent = new URLSearchParams();
      for (const [name, value] of Object.entries({ ...fields, ...app }))
        sent.append(name, String(value));
      for (const each of resources) sent.append("resource", each);
      return api.root.as(null).send("POST", TOKEN, { headers: FORM, body: sent.toString() });
    };
    const json = (fields: object, resource: unknown) =>
      api.root.as(null).post(TOKEN, { ...fields, ...app, resource });
    const one = { ...GRANT, code: await code() };
    const wrong = [
      "x",
      authUrl,
      `${baseUrl}/`,
      `${baseUrl}#f`,
      baseUrl.toUpperCase(),
      "https://other.example/v1",
    ];
    for (const each of wrong)
      for (const answer of [
        await token(one, [each]),
        await token(one, [baseUrl, each]),
        await json(one, [each, baseUrl]),
      ])
        assert.equal(oauthError(answer, "invalid_target"), `The resource must be ${baseUrl}.`);
    for (const each of [5, {}, [5], [null], [[baseUrl]], [baseUrl, 5]])
      oauthError(await json(one, each), "invalid_request");
    const stranger = await api.root
      .as(null)
      .post(TOKEN, { ...one, ...app, client_secret: "x", resource: "x" });
    oauthError(stranger, "invalid_client");
    let last = pair(await token(one, [baseUrl, baseUrl]));
    const refreshing = () => ({ grant_type: "refresh_token", refresh_token: last.refresh });
    for (const each of wrong)
      oauthError(await token(refreshing(), [baseUrl, each]), "invalid_target");
    for (const resources of [[], [baseUrl], [baseUrl, baseUrl], ["", baseUrl]])
      last = pair(await token(refreshing(), resources));
    for (const resource of [null, "", baseUrl, [], [baseUrl], [baseUrl, baseUrl]])
      last = pair(await json(refreshing(), resource));
    const body = `client_id=${app.client_id}&client_secret=${app.client_secret}&token=x&resource=x&resource=y`;
    const revoked = { headers: FORM, body };
    assert.equal(
      (await api.root.as(null).send("POST", "/oauth/revoke", revoked)).status,
      200,
      "it has no resource",
    );
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
    const percent = [...String(client_secret)]
      .map((character) => `%${character.charCodeAt(0).toString(16)}`)
      .join("");
    for (const [more, headers] of [
      [{}, basic(client_id, percent)],
      [{ client_id }, header],
    ] as const)
      pair(await sendForm(api, TOKEN, { ...GRANT, ...more, code: await code() }, headers));
    const one = await code();
    for (const twice of [{ client_secret }, { client_id: "cli_other" }])
      oauthError(
        await sendForm(api, TOKEN, { ...GRANT, ...twice, code: one }, header),
        "invalid_request",
      );
    const secrets = ["wrong", `${client_secret}x`, null, (await register(api)).client_secret];
    for (const answer of await Promise.all([
      ...secrets.map((other) => exchange(api, app, one, { client_secret: other })),
      ...["cli_00000000000000000000000", ""].map((other) =>
        exchange(api, app, one, { client_id: other }),
      ),
    ])) {
      oauthError(answer, "invalid_client");
      assert.match(answer.header("www-authenticate"), /^Basic /);
    }
    for (const headers of [
      ...["wrong", "", "%zz"].map((password) => basic(client_id, password)),
      { authorization: `Basic ${client_id}:${client_secret}` },
      { authorization: `Bearer ${client_secret}` },
      { authorization: "Basic" },
      { authorization: [String(header.authorization), "Basic eDp5"] },
    ])
      oauthError(await sendForm(api, TOKEN, { ...GRANT, code: one }, headers), "invalid_client");
    pair(await exchange(api, app, one));
  },
);

choice(
  "5.token-lifetimes.second-use",
  "using a code twice ends its grant",
  MANUAL,
  async ({ api, service }) => {
    const { app, code } = await scene(api);
    const one = await code();
    // A failed exchange does not count as a use.
    oauthError(await exchange(api, await register(api), one));
    assert.match(
      oauthError(await exchange(api, app, one, { redirect_uri: null })),
      /redirect_uri is missing/,
    );
    for (const redirect_uri of [`${REDIRECT}/`, "https://evil.example/"])
      assert.match(
        oauthError(await exchange(api, app, one, { redirect_uri })),
        /not the one that was authorized/,
      );
    oauthError(await exchange(api, app, one, { code_verifier: VERIFIER }));
    oauthError(await exchange(api, app, `${one}x`));
    const tokens = pair(await exchange(api, app, one));
    await service.clock.advance("10m");
    assert.match(oauthError(await exchange(api, app, one)), /used before/);
    problem(await api.as(tokens.access).get("/apps"), "invalid_credential");
    oauthError(await refresh(api, tokens.refresh));
  },
);

choice(
  "5.token-lifetimes.second-use",
  "of 50 concurrent exchanges of one code one succeeds, and the grant ends",
  MANUAL,
  async ({ api }) => {
    const { app, code, tokens } = await scene(api);
    const [one, first] = [await code(), await tokens()];
    const access = [first.access];
    for (const use of [() => exchange(api, app, one), () => refresh(api, first.refresh)]) {
      const answers = await Promise.all(Array.from({ length: 50 }, use));
      const [won = assert.fail(), ...more] = answers.filter(({ status }) => status === 200);
      const reported = answers
        .filter((answer) => answer !== won)
        .map((answer) => oauthError(answer));
      assert.ok(more.length === 0 && reported.some((each) => /used before/.test(each)));
      const next = pair(won);
      oauthError(await refresh(api, next.refresh));
      access.push(next.access);
    }
    for (const token of access) problem(await api.as(token).get("/apps"), "invalid_credential");
  },
);

// The challenges of 42 and of 129 times the letter a: `openssl dgst -sha256 -binary`, as base64url.
const TOO_SHORT = "elOGB_2quSlplZKfRRVlu7gULhhEEXMiqv0rPXawGv8";
const TOO_LONG = "wSywJKLlVRzKDgj86PHF4xRVXMP-9jKe6ZSj23UhZq4";

choice(
  "5.pkce",
  "the verifier of RFC 7636 matches its challenge, and no other verifier does",
  MANUAL,
  async ({ api }) => {
    for (const draft of [{ public: true }, { public: false }]) {
      const { app, code, open } = await scene(api, draft);
      if (draft.public)
        assert.equal(returned(await open()).error, "invalid_request", "it cannot ask without one");
      const one = await code(PKCE);
      for (const code_verifier of [
        null,
        "",
        VERIFIER.slice(0, 42),
        `${VERIFIER}x`,
        PKCE.code_challenge,
        "x".repeat(129),
      ])
        oauthError(await exchange(api, app, one, { code_verifier }));
      const sent = { code_verifier: VERIFIER, client_secret: "x" };
      if (draft.public) oauthError(await exchange(api, app, one, sent), "invalid_client");
      pair(await exchange(api, app, one, { code_verifier: VERIFIER }));
      for (const [code_challenge, length] of Object.entries({ [TOO_SHORT]: 42, [TOO_LONG]: 129 })) {
        const bound = await code({ ...PKCE, code_challenge });
        oauthError(await exchange(api, app, bound, { code_verifier: "a".repeat(length) }));
      }
    }
  },
);

choice(
  "5.token-lifetimes.gone",
  "codes and tokens of a deleted user, client or account stop working",
  MANUAL,
  async ({ api, service }) => {
    const scenes = [await held(api), await held(api), await held(api)] as const;
    const [first, second, third] = scenes;
    const codes = [await first.code(), await second.code(), await third.code()] as const;
    for (const { holder } of scenes) assert.equal((await holder.get("/account")).status, 200);
    await api.delete(`/users/${first.who.id}`);
    assert.match(oauthError(await exchange(api, first.app, codes[0])), /user was deleted/);
    await api.delete(`/oauth-clients/${second.app.client_id}`);
    oauthError(await exchange(api, second.app, codes[1]), "invalid_client");
    for (const [{ tokens, holder }, says] of [
      [first, /user was deleted/],
      [second, /application was deleted/],
    ] as const) {
      assert.match(oauthError(await refresh(api, tokens.refresh)), says);
      assert.match(String(problem(await holder.get("/apps"), "invalid_credential").detail), says);
    }
    const both = async () => [
      await exchange(api, third.app, codes[2]),
      await refresh(api, third.tokens.refresh),
    ];
    await service.setAccountState("suspended");
    for (const answer of await both()) assert.match(oauthError(answer), /suspended/);
    await service.setAccountState("limited");
    for (const answer of await both()) pair(answer);
  },
);

// The first write of a server's first exchange stores the signing key, the second uses up the code.
for (const [spared, kept] of ["key", "use"].entries())
  gated(
    "5.token-response.errors",
    `a ${kept} that is not kept is 503, and uses up no code`,
    async ({ api }, gate) => {
      const { app, code } = await scene(api);
      const one = await code();
      Object.assign(gate, { fault: new StorageUnavailable("full"), spared });
      oauthError(await exchange(api, app, one), "temporarily_unavailable");
      gate.fault = undefined;
      pair(await exchange(api, app, one));
    },
  );
