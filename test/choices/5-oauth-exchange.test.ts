// Spec part 5, OAuth step 2: a code becomes tokens, once; what the answer holds; who the client must prove to be.
import assert from "node:assert/strict";
import { memoryStore, StorageUnavailable, type Store } from "../../src/index.ts";
import { choice, type OwnContext, withService } from "../support/clauses.ts";
import type { Client } from "../support/client.ts";
import {
  type App,
  claimsOf,
  codeOf,
  type Extra,
  exchange,
  headerOf,
  oauthError,
  pair,
  person,
  publishedKeys,
  REDIRECT,
  register,
  sendForm,
  sendJson,
} from "../support/oauth.ts";
import { problem } from "../support/problem.ts";

const OWN = { clock: "manual" } as const;
// The example of RFC 7636, appendix B.
const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const PKCE = { code_challenge: CHALLENGE, code_challenge_method: "S256" };

const basic = (user: string, password: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
});

/** A client, and a way to new codes for it. */
async function scene(api: Client, draft: object = {}) {
  const [app, who] = [await register(api, draft), await person(api)];
  return { app, who, code: (extra: Extra = {}) => codeOf(who, app, extra) };
}

choice("5.token-response", "has the five members of RFC 6749 5.1 and is never cached", OWN, async ({ api }) => {
  const { app, code } = await scene(api);
  const answer = await exchange(api, app, await code({ scope: "read:apps write:apps" }));
  assert.equal(answer.headers["content-type"], "application/json");
  assert.equal(answer.headers["cache-control"], "no-store");
  const { access_token, refresh_token, ...rest } = answer.json;
  assert.deepEqual(rest, { token_type: "Bearer", expires_in: 3600, scope: "read:apps write:apps" });
  assert.ok(typeof access_token === "string" && typeof refresh_token === "string");
});

choice("1.rfcs.access-token", "is at+jwt of RFC 9068, with its claims", OWN, async ({ api, authUrl, baseUrl }) => {
  const { app, who, code } = await scene(api);
  const { access } = pair(await exchange(api, app, await code()));
  const { kid, ...header } = headerOf(access);
  assert.deepEqual(header, { typ: "at+jwt", alg: "ES256" });
  const [published] = await publishedKeys(api);
  assert.equal(published?.kid, kid);
  const { jti, ...claims } = claimsOf(access);
  assert.ok(typeof jti === "string" && jti !== "");
  assert.match(`${who.id} ${app.client_id}`, /^usr_\w+ cli_\w+$/);
  const [iat, exp] = [1_767_225_600, 1_767_229_200]; // the manual clock's start, and an hour later
  assert.deepEqual(claims, {
    iss: authUrl,
    sub: who.id,
    aud: baseUrl,
    client_id: app.client_id,
    scope: "read:apps",
    iat,
    exp,
  });
});

choice("5.token-lifetimes.access", "an hour, to the millisecond", OWN, async ({ api, service }) => {
  const { app, code } = await scene(api);
  const holder = api.as(pair(await exchange(api, app, await code())).access);
  await service.clock.advance("3599999ms");
  assert.equal((await holder.get("/apps")).status, 200);
  await service.clock.advance("1ms");
  const refusal = await holder.get("/apps");
  problem(refusal, "expired_credential");
  assert.match(refusal.header("www-authenticate"), /error="invalid_token"/);
});

choice("5.token-lifetimes.code", "a minute, to the millisecond", OWN, async ({ api, service }) => {
  const { app, code } = await scene(api);
  const [early, late] = [await code(), await code()];
  await service.clock.advance("59999ms");
  assert.equal((await exchange(api, app, early)).status, 200);
  await service.clock.advance("1ms");
  assert.match(oauthError(await exchange(api, app, late), 400, "invalid_grant"), /expired/);
});

choice(
  "5.token-lifetimes.code-memory",
  "ten minutes more, an expired code is told from one that never was",
  OWN,
  async (context) => {
    const { app, code } = await scene(context.api);
    const [first, second] = [await code(), await code()];
    const says = async (late: string) => oauthError(await exchange(context.api, app, late), 400, "invalid_grant");
    await context.service.clock.advance("1m");
    await context.service.clock.advance(`${10 * 60_000 - 1}ms`);
    assert.match(await says(first), /expired/);
    await context.service.clock.advance("1ms");
    assert.match(await says(second), /not known/);
  },
);

choice("1.rfcs.token-body", "a form is taken like JSON, unknown parameters are ignored", OWN, async ({ api }) => {
  const { app, code } = await scene(api);
  const fields = { grant_type: "authorization_code", ...app, redirect_uri: REDIRECT, resource: "x" };
  pair(await sendForm(api, "/oauth/token", { ...fields, code: await code() }));
  const typed = { "content-type": "Application/X-WWW-Form-Urlencoded; charset=UTF-8" };
  pair(await sendForm(api, "/oauth/token", { ...fields, code: await code() }, typed));
  pair(await sendJson(api, "/oauth/token", { ...fields, code: await code() }));
});

choice("1.rfcs.token-body", "what is no such body is invalid_request", OWN, async ({ api }) => {
  const { app, code } = await scene(api);
  const anyone = api.root.as(null);
  const json = { "content-type": "application/json" };
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const whole = JSON.stringify({
    grant_type: "authorization_code",
    ...app,
    code: await code(),
    redirect_uri: REDIRECT,
  });
  for (const [headers, body] of [
    [{}, whole],
    [{ "content-type": "text/plain" }, whole],
    [{ ...json, "content-encoding": "gzip" }, whole],
    [json, whole.slice(0, -1)],
    [json, `[${whole}]`],
    [json, "null"],
    [json, ""],
    [json, whole.replace('"code":"', '"code":["').replace('","redirect_uri"', '"],"redirect_uri"')],
    [json, Buffer.concat([Buffer.from(whole.slice(0, -2)), Buffer.from([0xff]), Buffer.from('"}')])],
    [form, "grant_type=authorization_code&grant_type=authorization_code"],
    [form, "x=1&x=2"],
    [form, ""],
    [json, "{}"],
    [json, `{"grant_type":"authorization_code","client_id":"${app.client_id}","client_secret":"${app.client_secret}"}`],
  ] as const)
    oauthError(await anyone.send("POST", "/oauth/token", { headers, body }), 400, "invalid_request");
  const huge = await anyone.send("POST", "/oauth/token", { headers: form, body: `x=${"y".repeat(1_048_576)}` });
  oauthError(huge, 400, "invalid_request");
  oauthError(await sendJson(api, "/oauth/token", { grant_type: "password" }), 400, "unsupported_grant_type");
  oauthError(
    await sendJson(api, "/oauth/token", { grant_type: "client_credentials", ...app }),
    400,
    "unsupported_grant_type",
  );
});

choice("5.token-response.errors", "client credentials in HTTP Basic are form-decoded", OWN, async ({ api }) => {
  const { app, code } = await scene(api);
  const { client_id, client_secret } = app;
  const fields = async () => ({ grant_type: "authorization_code", code: await code(), redirect_uri: REDIRECT });
  const secret = String(client_secret);
  const percent = [...secret].map((character) => `%${character.charCodeAt(0).toString(16)}`).join("");
  pair(await sendForm(api, "/oauth/token", await fields(), basic(client_id, secret)));
  pair(await sendForm(api, "/oauth/token", await fields(), basic(client_id, percent)));
  pair(await sendForm(api, "/oauth/token", { ...(await fields()), client_id }, basic(client_id, secret)));
});

choice(
  "5.token-response.errors",
  "credentials sent twice, or contradicting each other, are invalid_request",
  OWN,
  async ({ api }) => {
    const { app, code } = await scene(api);
    const { client_id, client_secret } = app;
    const fields = { grant_type: "authorization_code", code: await code(), redirect_uri: REDIRECT };
    const header = basic(client_id, String(client_secret));
    oauthError(await sendForm(api, "/oauth/token", { ...fields, client_secret }, header), 400, "invalid_request");
    oauthError(
      await sendForm(api, "/oauth/token", { ...fields, client_id: "cli_other" }, header),
      400,
      "invalid_request",
    );
    pair(await sendForm(api, "/oauth/token", fields, header));
  },
);

choice(
  "5.token-response.errors",
  "a client that is not who it says is 401 with a challenge, and uses up no code",
  OWN,
  async ({ api }) => {
    const { app, code } = await scene(api);
    const other = await register(api);
    const one = await code();
    const wrongs: App[] = [
      { ...app, client_secret: "wrong" },
      { ...app, client_secret: `${app.client_secret}x` },
      { ...app, client_secret: null },
      { ...app, client_id: "cli_00000000000000000000000" },
      { ...app, client_id: "" },
      { ...app, client_secret: other.client_secret },
    ];
    for (const wrong of wrongs) {
      const answer = await exchange(api, wrong, one);
      oauthError(answer, 401, "invalid_client");
      assert.match(answer.header("www-authenticate"), /^Basic /);
    }
    const fields = { grant_type: "authorization_code", code: one, redirect_uri: REDIRECT };
    for (const headers of [
      basic(app.client_id, "wrong"),
      basic(app.client_id, ""),
      { authorization: `Basic ${app.client_id}:${app.client_secret}` },
      { authorization: `Bearer ${app.client_secret}` },
      { authorization: "Basic" },
      { authorization: [String(basic(app.client_id, String(app.client_secret)).authorization), "Basic eDp5"] },
      basic(app.client_id, "%zz"),
    ])
      oauthError(await sendForm(api, "/oauth/token", fields, headers), 401, "invalid_client");
    pair(await exchange(api, app, one));
  },
);

choice(
  "5.token-lifetimes.second-use",
  "what fails without being a second use leaves the code usable",
  OWN,
  async ({ api }) => {
    const { app, code } = await scene(api);
    const other = await register(api);
    const one = await code();
    oauthError(await exchange(api, other, one), 400, "invalid_grant");
    for (const redirect_uri of [null, `${REDIRECT}/`, "https://evil.example/"])
      oauthError(await exchange(api, app, one, { redirect_uri }), 400, "invalid_grant");
    oauthError(await exchange(api, app, one, { code_verifier: VERIFIER }), 400, "invalid_grant");
    oauthError(await exchange(api, app, `${one}x`), 400, "invalid_grant");
    pair(await exchange(api, app, one));
  },
);

choice(
  "5.pkce",
  "the verifier of RFC 7636 fits its challenge; none, another or an unasked one does not",
  OWN,
  async ({ api }) => {
    for (const draft of [{ public: true }, { public: false }]) {
      const { app, code } = await scene(api, draft);
      const one = await code(PKCE);
      for (const code_verifier of [null, "", VERIFIER.slice(0, 42), `${VERIFIER}x`, CHALLENGE, "x".repeat(129)])
        oauthError(await exchange(api, app, one, { code_verifier }), 400, "invalid_grant");
      pair(await exchange(api, app, one, { code_verifier: VERIFIER }));
    }
  },
);

// The challenges of 42 and of 129 times the letter a: `openssl dgst -sha256 -binary`, as base64url.
const TOO_SHORT = "elOGB_2quSlplZKfRRVlu7gULhhEEXMiqv0rPXawGv8";
const TOO_LONG = "wSywJKLlVRzKDgj86PHF4xRVXMP-9jKe6ZSj23UhZq4";

choice("5.pkce", "a verifier has 43 to 128 characters, also where its hash would fit", OWN, async ({ api }) => {
  const { app, code } = await scene(api);
  for (const [code_challenge, length] of [
    [TOO_SHORT, 42],
    [TOO_LONG, 129],
  ] as const) {
    const one = await code({ ...PKCE, code_challenge });
    oauthError(await exchange(api, app, one, { code_verifier: "a".repeat(length) }), 400, "invalid_grant");
  }
});

choice("5.pkce", "a public client has no secret to send", OWN, async ({ api }) => {
  const { app, code } = await scene(api, { public: true });
  assert.equal(app.client_secret, null);
  const one = await code(PKCE);
  oauthError(await exchange(api, app, one, { code_verifier: VERIFIER, client_secret: "x" }), 401, "invalid_client");
  pair(await exchange(api, app, one, { code_verifier: VERIFIER }));
});

choice(
  "5.token-lifetimes.second-use",
  "a code used again revokes the grant and every token of it",
  OWN,
  async ({ api, service }) => {
    const { app, code } = await scene(api);
    const one = await code();
    const { access, refresh } = pair(await exchange(api, app, one));
    await service.clock.advance(`${10 * 60_000}ms`);
    assert.match(oauthError(await exchange(api, app, one), 400, "invalid_grant"), /used before/);
    problem(await api.as(access).get("/apps"), "invalid_credential");
    oauthError(
      await sendJson(api, "/oauth/token", { grant_type: "refresh_token", refresh_token: refresh }),
      400,
      "invalid_grant",
    );
  },
);

choice(
  "5.token-lifetimes.second-use",
  "50 exchanges of one code at once: one succeeds, the others end its grant",
  OWN,
  async ({ api }) => {
    const { app, code } = await scene(api);
    const one = await code();
    const answers = await Promise.all(Array.from({ length: 50 }, () => exchange(api, app, one)));
    const won = answers.filter(({ status }) => status === 200);
    assert.equal(won.length, 1);
    for (const answer of answers) if (answer !== won[0]) oauthError(answer, 400, "invalid_grant");
    for (const answer of won) problem(await api.as(pair(answer).access).get("/apps"), "invalid_credential");
  },
);

choice(
  "5.token-lifetimes.second-use",
  "a user, client or account that is gone meanwhile gets nothing for its code",
  OWN,
  async (own: OwnContext) => {
    const { api, service } = own;
    const [first, second, third] = [await scene(api), await scene(api), await scene(api)];
    const codes = [await first.code(), await second.code(), await third.code()] as const;
    await api.delete(`/users/${first.who.id}`);
    assert.match(oauthError(await exchange(api, first.app, codes[0]), 400, "invalid_grant"), /user was deleted/);
    await api.delete(`/oauth-clients/${second.app.client_id}`);
    oauthError(await exchange(api, second.app, codes[1]), 401, "invalid_client");
    await service.setAccountState("suspended");
    assert.match(oauthError(await exchange(api, third.app, codes[2]), 400, "invalid_grant"), /suspended/);
    await service.setAccountState("limited");
    pair(await exchange(api, third.app, codes[2]));
  },
);

/** A memory store in which the n-th write from now on fails, when `failing` is set to n. */
function fragile(): { readonly store: Store; failing: number } {
  const inner = memoryStore();
  const state = { failing: 0, store: inner };
  state.store = new Proxy(inner, {
    get(target, name) {
      if (name === "transact" && state.failing > 0) {
        state.failing -= 1;
        if (state.failing === 0) return () => Promise.reject(new StorageUnavailable("full"));
      }
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  return state;
}

choice(
  "5.token-response.errors",
  "a storage that cannot keep the change answers 503, and no code is used up",
  "ours",
  async () => {
    for (const failing of [1, 2]) {
      const disk = fragile();
      await withService({ store: disk.store }, async ({ api }) => {
        const { app, code } = await scene(api);
        const one = await code();
        disk.failing = failing; // the first write of a server's first exchange keeps the signing key, the second uses up the code
        oauthError(await exchange(api, app, one), 503, "temporarily_unavailable");
        pair(await exchange(api, app, one));
      });
    }
  },
);
