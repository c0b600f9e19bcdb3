// OAuth step 1 (spec part 5): the authorization request, its errors, consent and denial, and the pages of sign-in and
// consent: DNS rebinding, CSRF protection, security headers and assets.
// RFC 9700 2.1, 2.1.1, 2.1.2, 2.3, 4.4, 4.7, 4.11.2, 4.12, 4.16; OAuth 2.1 4.1.1, 4.1.2.1.
import assert from "node:assert/strict";
import {
  assertPage,
  authorizeUrl,
  B_KEY,
  Browser,
  choice,
  consent,
  contains,
  csrfOf,
  type Extra,
  embedded,
  exchange,
  formsOf,
  groups,
  MANUAL,
  PKCE,
  pair,
  person,
  REDIRECT,
  rawAnswer,
  register,
  returned,
  SIGN_IN,
  scene,
  str,
  TWO,
  textOf,
  VERIFIER,
} from "../support/index.ts";

const CONSENT = "/oauth/consent";
const UNKNOWN = { client_id: "cli_00000000000000000000000" };
const REPEATED_URI = `&redirect_uri=${encodeURIComponent(REDIRECT)}`;

choice(
  "1.rfcs.response-type: the redirect carries iss (RFC 9207), and state only if the request had it; resource may be the base URL",
  MANUAL,
  async (own) => {
    const { app, who } = await scene(own.api);
    const { code, ...sent } = await consent(who, app);
    assert.equal(typeof code, "string");
    assert.deepEqual(sent, { state: "xyz", iss: own.authUrl });
    const resource = { state: null, resource: own.baseUrl };
    assert.deepEqual(Object.keys(await consent(who, app, resource)), ["code", "iss"]);
    const { error_description: _, ...denied } = await consent(who, app, {}, "deny");
    assert.deepEqual(denied, { error: "access_denied", state: "xyz", iss: own.authUrl });
  },
);

choice(
  "1.rfcs.loopback-redirect: an unknown client or redirect_uri shows an error page, and lists the registered URIs to an admin of the client's active account only",
  TWO,
  async ({ api, service }) => {
    const redirect_uris = [REDIRECT, "https://client.example.com/'other'"];
    const app = await register(api, { redirect_uris });
    const admin = (await person(api)).browser;
    const others = [
      new Browser(api),
      (await person(api, ["read:apps", "read:data"])).browser,
      (await person(api.as(B_KEY))).browser,
    ];
    /** Opens a page that must be an error, and returns which of the URIs it shows. */
    const listUris = async (browser: Browser, extra: Extra, more = "") => {
      const page = await browser.open(authorizeUrl(app, extra) + more);
      contains(assertPage(page, 400), "… is missing, repeated or …");
      return redirect_uris.filter((uri) => textOf(page).includes(uri));
    };
    for (const redirect_uri of [
      null,
      "",
      `${REDIRECT}/`,
      `${REDIRECT}?x=1`,
      REDIRECT.toUpperCase(),
      REDIRECT.replace("https", "http"),
      REDIRECT.replace(".com", ".com:443"),
      REDIRECT.replace("://", "://user@"),
      "javascript:alert(1)",
    ])
      assert.deepEqual(await listUris(admin, { redirect_uri }), redirect_uris, `${redirect_uri}`);
    assert.deepEqual(await listUris(admin, {}, REPEATED_URI), redirect_uris);
    for (const browser of others)
      assert.deepEqual(await listUris(browser, { redirect_uri: "https://evil.example/" }), []);
    for (const extra of [{ client_id: null }, UNKNOWN])
      assert.deepEqual(await listUris(admin, extra), []);
    assert.deepEqual(await listUris(admin, {}, `&client_id=${app.client_id}`), []);
    await service.setAccountState("suspended");
    assert.deepEqual(await listUris(admin, { redirect_uri: null }), []);
  },
);

for (const host of ["127.0.0.1", "localhost", "app.localhost", "[::1]"])
  choice(
    `1.rfcs.loopback-redirect: a redirect to ${host} may vary in its port only`,
    async ({ api }) => {
      const { app, who, open } = await scene(api, {
        redirect_uris: [`http://${host}:8000/cb?a=1`],
      });
      for (const port of ["", ":8000", ":51234"]) {
        const redirect_uri = `http://${host}${port}/cb?a=1`;
        const back = await consent(who, app, { redirect_uri });
        assert.equal(back.a, "1");
        pair(await exchange(api, app, str(back.code), { redirect_uri }));
      }
      for (const other of ["/cb", "/CB?a=1", ":80@evil.example/cb?a=1", ".evil.example/cb?a=1"])
        (await open({ redirect_uri: `http://${host}${other}` })).is(400, other);
    },
  );

const { code_challenge } = PKCE;

choice(
  "1.rfcs.response-type: every other error returns in the redirect with state and iss",
  async ({ api, authUrl }) => {
    const { app, who } = await scene(api, { scopes: ["read:apps"] });
    const cases: readonly (readonly [error: string, extra: Extra, more?: string])[] = [
      ["invalid_request", { response_type: null }],
      ["unsupported_response_type", { response_type: "token" }],
      ["invalid_scope", { scope: null }],
      ["invalid_scope", { scope: "read:apps,write:apps" }],
      ["invalid_scope", { scope: "Read:apps" }],
      ["invalid_scope", { scope: "read:apps write:apps" }],
      ["invalid_scope", { scope: "admin" }],
      ["invalid_target", { resource: "https://other.example/v1" }],
      ["invalid_request", { code_challenge }],
      ["invalid_request", { code_challenge, code_challenge_method: "plain" }],
      ["invalid_request", { ...PKCE, code_challenge: `${code_challenge}=` }],
      ["invalid_request", { code_challenge_method: "S256" }],
      ["invalid_request", {}, "&scope=admin"],
      ["invalid_request", {}, "&unknown=1&unknown=2"],
      ["invalid_request", {}, "&state=other"],
    ];
    for (const [error, extra, more = ""] of cases) {
      const back = returned(await who.browser.open(authorizeUrl(app, extra) + more));
      const { error_description, ...rest } = back;
      const state = more === "&state=other" ? {} : { state: "xyz" };
      assert.deepEqual(rest, { error, ...state, iss: authUrl }, JSON.stringify(extra) + more);
      assert.match(str(error_description), /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
      if (extra.scope?.includes(",")) contains(error_description, "with spaces");
    }
  },
);

choice(
  "1.rfcs.private-use: a public client gets the response at its private-use scheme, and must use PKCE",
  async ({ api }) => {
    const redirect_uri = "com.example.app:/callback";
    const { app, who, open } = await scene(api, { redirect_uris: [redirect_uri], public: true });
    const sent = { redirect_uri, ...PKCE };
    assertPage(await open(sent), 200, "'self' com.example.app:");
    assertPage(
      await new Browser(api).open(authorizeUrl(app, sent)),
      200,
      "'self' com.example.app:",
    );
    const back = await consent(who, app, sent);
    pair(await exchange(api, app, str(back.code), { redirect_uri, code_verifier: VERIFIER }));
    const { error } = returned(await open({ redirect_uri }), redirect_uri);
    assert.equal(error, "invalid_request", "PKCE is missing");
    for (const other of ["com.example.app:/other", "COM.EXAMPLE.APP:/callback"])
      (await open({ ...sent, redirect_uri: other })).is(400, other);
  },
);

choice(
  "5.sign-in.consent: consent grants the requested scopes that the user holds, and none is access_denied",
  async ({ api }) => {
    for (const [permissions, requested, granted] of [
      [["read:apps"], "admin", "read:apps"],
      [["read:apps"], "read:apps write:apps", "read:apps"],
      [["admin"], "write:apps read:apps", "write:apps read:apps"],
      [["admin"], "admin", "admin"],
    ] as const) {
      const { open, tokens } = await scene(api, {}, permissions);
      const page = await open({ scope: requested });
      const shown = groups(page.text, /<code>([^<]*)/g);
      assert.deepEqual(shown, granted.split(" "), requested);
      const missing = requested.split(" ").filter((scope) => !granted.includes(scope));
      const note = `It also asked for ${missing}, which you do not have.`;
      assert.equal(page.text.includes(note), missing.length > 0, requested);
      assert.equal((await tokens(requested)).scope, granted);
    }
    const { open } = await scene(api, {}, ["read:data"]);
    assert.equal(returned(await open()).error, "access_denied");
  },
);

choice(
  "5.sign-in.consent: consent is required each time, names client, account and user, may not be framed or cached, and only allow allows",
  async ({ api }) => {
    const { who, open } = await scene(api, { name: "<i>Sneaky</i> & Co" });
    const title = "<h1>Allow “&lt;i&gt;Sneaky&lt;/i&gt; &amp; Co” to use your account?</h1>";
    for (const [decision, expected] of [
      ["allow", undefined],
      ["ALLOW", "access_denied"],
      ["", "access_denied"],
    ] as const) {
      const page = await open();
      assertPage(page, 200, "'self' https:");
      for (const shown of [title, "Example account", who.email, "client.example.com"])
        contains(page.text, shown);
      const { error } = returned(await who.browser.submit(page, CONSENT, { decision }));
      assert.equal(error, expected, decision);
    }
    assertPage(await who.browser.request("GET", CONSENT), 405);
  },
);

choice(
  "5.sign-in.consent: the authorization request is validated again when the user consents",
  MANUAL,
  async ({ api, service }) => {
    const { app, who, open, permit } = await scene(api);
    const page = await open();
    const allow = () => who.browser.submit(page, CONSENT, { decision: "allow" });
    await permit();
    assert.equal(returned(await allow()).error, "access_denied");
    await api.delete(`/oauth-clients/${app.client_id}`);
    (await allow()).is(400);
    const other = await scene(api);
    await service.setAccountState("suspended");
    assert.equal(returned(await other.open()).error, "access_denied");
  },
);

choice(
  "5.sign-in.client-reach: a client may ask users of any account, and acts in their account",
  TWO,
  async ({ api }) => {
    const { app } = await scene(api);
    const { who } = await scene(api.as(B_KEY), {}, ["read:apps"]);
    const { access } = pair(await exchange(api, app, str((await consent(who, app)).code)));
    const [found] = (await api.as(access).get("/apps")).items;
    assert.equal(found?.title, "Of B");
  },
);

const LOOPBACK_HOSTS = ["localhost:1", "LocalHost.", "app.localhost:4600", "127.9.9.9", "[::1]"];
const REBOUND_HOSTS = ["evil.example:4600", "localhost.evil.example", "10.0.0.1", "[::2]"];
const OWN_PAGES = ["/dashboard", SIGN_IN, "/dashboard/nothing", "/oauth/authorize", CONSENT];

choice(
  "1.dashboard.rebinding: on loopback the pages are served only under names of this machine",
  async ({ api, authUrl }) => {
    const root = api.anyone;
    for (const path of OWN_PAGES) {
      for (const host of REBOUND_HOSTS) {
        const text = assertPage(await root.get(path, { host }), 403);
        contains(text, `${authUrl}/dashboard…--public-url`);
        (await root.post(path, {}, { host })).is(403, host);
      }
      for (const host of LOOPBACK_HOSTS)
        assert.notEqual((await root.get(path, { host })).status, 403, host);
    }
    const withoutHost = await rawAnswer(authUrl, "GET /dashboard HTTP/1.0\r\n\r\n");
    withoutHost.is(403);
    for (const path of ["/docs", "/openapi.json", "/assets/style.css"])
      (await root.get(path, { host: "evil.example" })).is(200, path);
  },
);

choice(
  "1.dashboard.rebinding: a server that other machines can reach serves its pages under every name",
  async () => {
    for (const options of [{ host: "0.0.0.0" }, { publicUrl: "https://apps.example.com" }]) {
      await using own = await embedded(options);
      for (const path of OWN_PAGES)
        assert.notEqual(
          (await own.api.anyone.get(path, { host: "any.example" })).status,
          403,
          path,
        );
    }
  },
);

choice(
  "5.sign-in.form-without-origin: a form without an Origin header counts only with its token and from this server",
  async ({ api }) => {
    const { app, who, open } = await scene(api);
    const { browser } = who;
    const form = formsOf(await open()).find(({ action }) => action === CONSENT);
    const fields: Readonly<Record<string, string>> = { ...form?.fields, decision: "allow" };
    const foreign = csrfOf(await (await person(api)).browser.open(authorizeUrl(app)));
    const { origin } = browser;
    for (const [path, sent, from] of [
      [CONSENT, { ...fields, csrf: "" }, origin],
      [CONSENT, { ...fields, csrf: foreign }, origin],
      [CONSENT, fields, "https://evil.example"],
      [CONSENT, fields, "null"],
      [CONSENT, fields, `${origin}.evil.example`],
      ["/dashboard/sign-out", { ...fields, csrf: "" }, origin],
      [SIGN_IN, { user_id: who.id }, origin],
    ] as const)
      (await browser.post(path, sent, from)).is(403, `${path} ${from}`);
    assert.equal((await browser.request("GET", SIGN_IN)).headers.location, "/dashboard");
    const byAddress = origin.replace("localhost", "127.0.0.1");
    const host = { host: new URL(byAddress).host };
    for (const answer of [
      await browser.post(CONSENT, fields, null),
      await browser.post(CONSENT, fields, byAddress, host),
    ])
      assert.ok(returned(answer).code);
  },
);

choice(
  "5.sign-in.form-without-origin: a body that is not a form is a 415, and one that is too large a 413",
  async ({ api }) => {
    const { browser } = await person(api);
    const json = { "content-type": "application/json" };
    (await browser.request("POST", SIGN_IN, json, "{}")).is(415);
    (await browser.post(SIGN_IN, { email: "x".repeat(70_000) })).is(413);
  },
);
