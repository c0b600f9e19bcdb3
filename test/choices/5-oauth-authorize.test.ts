// OAuth step 1 (spec part 5): the authorization request, its errors, consent and denial.
// RFC 9700 2.1, 2.1.1, 2.1.2, 2.3, 4.4, 4.11.2, 4.12; OAuth 2.1 4.1.1, 4.1.2.1.
import assert from "node:assert/strict";
import { Browser } from "../support/browser.ts";
import { choice, MANUAL } from "../support/clauses.ts";
import { type Client, str } from "../support/client.ts";
import { assertPage, textOf } from "../support/dashboard.ts";
import {
  authorizeUrl,
  consent,
  type Extra,
  exchange,
  PKCE,
  pair,
  person,
  REDIRECT,
  register,
  returned,
  scene,
  VERIFIER,
} from "../support/oauth.ts";
import { B_KEY, TWO } from "../support/world.ts";

const { code_challenge: CHALLENGE } = PKCE;
const CONSENT = "/oauth/consent";

choice(
  "1.rfcs.response-type",
  "the redirect carries iss (RFC 9207), and state only if the request had it",
  MANUAL,
  async (own) => {
    const { app, who } = await scene(own.api);
    const { code, ...sent } = await consent(who, app);
    assert.equal(typeof code, "string");
    assert.deepEqual(sent, { state: "xyz", iss: own.authUrl });
    for (const state of [null, ""])
      assert.deepEqual(Object.keys(await consent(who, app, { state })).sort(), ["code", "iss"]);
    const { error_description: _, ...denied } = await consent(who, app, {}, "deny");
    assert.deepEqual(denied, { error: "access_denied", state: "xyz", iss: own.authUrl });
  },
);

const UNKNOWN = { client_id: "cli_00000000000000000000000" };
const AGAIN = `&redirect_uri=${encodeURIComponent(REDIRECT)}`;

choice(
  "1.rfcs.loopback-redirect",
  "an unknown client or redirect_uri shows an error page and does not redirect",
  MANUAL,
  async ({ api }) => {
    const { app, who } = await scene(api);
    const uris = [
      `${REDIRECT}/`,
      `${REDIRECT}?x=1`,
      REDIRECT.toUpperCase(),
      REDIRECT.replace("https", "http"),
      REDIRECT.replace(".com", ".com:443"),
      `${REDIRECT}/../callback`,
      REDIRECT.replace("://", "://user@"),
      "javascript:alert(1)",
      null,
    ];
    for (const url of [
      ...uris.map((redirect_uri) => authorizeUrl(app, { redirect_uri })),
      authorizeUrl(app, UNKNOWN),
      authorizeUrl(app, { client_id: null }),
      authorizeUrl(app) + AGAIN,
      `${authorizeUrl(app)}&client_id=${app.client_id}`,
    ]) {
      const page = await who.browser.open(url);
      assert.deepEqual([page.status, page.headers.location], [400, undefined], url);
      assert.match(page.header("content-type"), /^text\/html/);
    }
    // HTML writes this character in five; it need not be encoded in a query.
    const redirectUri = "'".repeat(7_000);
    const long = await who.browser.open(
      `${authorizeUrl(app, { redirect_uri: null })}&redirect_uri=${redirectUri}`,
    );
    assert.equal(long.status, 400);
    assert.ok(long.text.length < 16_384);
  },
);

const LOOPBACK = "127.0.0.1 127.1 localhost LocalHost localhost. app.localhost. [::1]".split(" ");
const NO_LOOPBACK_VARIANTS =
  "/cb /cb?a=2 /CB?a=1 :99999/cb?a=1 :80@evil.example/cb?a=1 .evil.example/cb?a=1".split(" ");

for (const host of LOOPBACK)
  choice(
    "1.rfcs.loopback-redirect",
    `a redirect to ${host} may vary in its port only`,
    MANUAL,
    async ({ api }) => {
      const redirect_uris = [`http://${host}:8000/cb?a=1`, "http://127.0.0.1"];
      const { app, who, open } = await scene(api, { redirect_uris });
      for (const port of ["", ":8000", ":51234"]) {
        const redirect_uri = `http://${host}${port}/cb?a=1`;
        const back = await consent(who, app, { redirect_uri });
        assert.equal(back.a, "1");
        pair(await exchange(api, app, str(back.code), { redirect_uri }));
      }
      assert.ok((await consent(who, app, { redirect_uri: "http://127.0.0.1:4711" })).code);
      for (const other of NO_LOOPBACK_VARIANTS)
        assert.equal((await open({ redirect_uri: `http://${host}${other}` })).status, 400, other);
    },
  );

const DESCRIPTIONS = {
  "read:apps,write:apps": "read:apps,write:apps is not a scope; separate scopes with spaces.",
  "read:apps, write:apps": "read:apps, is not a scope; separate scopes with spaces.",
  "read:apps;write:apps": "read:apps;write:apps is not a scope; separate scopes with spaces.",
  "read:apps+write:apps": "read:apps+write:apps is not a scope; separate scopes with spaces.",
  "read:apps%20write:apps": "read:apps%20write:apps is not a scope; separate scopes with spaces.",
  "read:apps\twrite:apps": "read:apps?write:apps is not a scope; separate scopes with spaces.",
  "read:apps read:ap": "read:ap is not a scope; did you mean read:apps?",
  "Read:apps": "Read:apps is not a scope; did you mean read:apps?",
  'read:apps "\\\u00e9':
    "??? is not a scope; the scopes are read:apps, write:apps, delete:apps, read:data, admin.",
  " ": "The scope is missing; there is no default.",
  "read:apps write:apps": "The scope goes beyond what this client is registered for.",
  admin: "The scope goes beyond what this client is registered for.",
};

const invalid = (error: string, ...extras: readonly Extra[]) =>
  extras.map((extra) => [error, extra, ""] as const);
const repeated = (error: string, ...parameters: readonly string[]) =>
  parameters.map((each) => [error, {}, `&${each}`] as const);

choice(
  "1.rfcs.response-type",
  "every other error returns in the redirect with state and iss",
  MANUAL,
  async ({ api, authUrl }) => {
    const { app, who, open } = await scene(api, { scopes: ["read:apps"] });
    for (const [error, extra, more] of [
      ...invalid("invalid_request", { response_type: null }),
      ...["token", "code id_token"].flatMap((response_type) =>
        invalid("unsupported_response_type", { response_type }),
      ),
      ...invalid("invalid_scope", { scope: null }),
      ...invalid("invalid_target", { resource: "x" }, { resource: "https://other.example/v1" }),
      ...repeated("invalid_target", "resource=x&resource=y"),
      ...invalid(
        "invalid_request",
        { code_challenge: CHALLENGE },
        { code_challenge: CHALLENGE, code_challenge_method: "plain" },
        { ...PKCE, code_challenge: `${CHALLENGE}=` },
        { ...PKCE, code_challenge: CHALLENGE.slice(1) },
        { code_challenge_method: "S256" },
      ),
      ...repeated("invalid_request", "scope=admin", "response_type=code", "unknown=1&unknown=2"),
      ...repeated("invalid_request", "code_challenge=a&code_challenge=b", "state=other"),
    ]) {
      const back = returned(await who.browser.open(authorizeUrl(app, extra) + more));
      const { error_description, ...rest } = back;
      const state = more === "&state=other" ? {} : { state: "xyz" };
      assert.deepEqual(rest, { error, ...state, iss: authUrl }, JSON.stringify(extra) + more);
      assert.match(str(error_description), /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
    }
    for (const [scope, description] of Object.entries(DESCRIPTIONS)) {
      const { error, error_description } = returned(await open({ scope }));
      assert.deepEqual([error, error_description], ["invalid_scope", description], scope);
    }
  },
);

choice(
  "1.rfcs.resource",
  "an authorization request may name the base URL as resource, more than once",
  MANUAL,
  async ({ api, baseUrl }) => {
    const { app, who } = await scene(api);
    const resource = `&resource=${encodeURIComponent(baseUrl)}`;
    const page = await who.browser.open(authorizeUrl(app) + resource + resource);
    const back = returned(await who.browser.submit(page, CONSENT, { decision: "allow" }));
    pair(await exchange(api, app, str(back.code)));
    const { error, error_description } = returned(
      await who.browser.open(`${authorizeUrl(app)}${resource}&resource=x`),
    );
    const description = `The resource must be ${baseUrl}.`;
    assert.deepEqual([error, error_description], ["invalid_target", description]);
  },
);

choice(
  "1.rfcs.loopback-redirect",
  "an error page lists the redirect URIs only to the client's own admin, while the account is active",
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
    const shownUris = async (browser: Browser, extra: Extra, more = "") => {
      const page = await browser.open(authorizeUrl(app, extra) + more);
      assertPage(page, 400);
      assert.equal("location" in page.headers, false);
      assert.match(page.text, /<a href="\/docs#oauth">/);
      return redirect_uris.filter((uri) => textOf(page).includes(uri));
    };
    for (const [extra, more] of [
      [{ redirect_uri: null }],
      [{ redirect_uri: "" }],
      [{ redirect_uri: "https://evil.example/" }],
      [{}, AGAIN],
    ] as const) {
      assert.deepEqual(await shownUris(admin, extra, more), redirect_uris);
      for (const browser of others) assert.deepEqual(await shownUris(browser, extra, more), []);
    }
    for (const extra of [{ client_id: null }, UNKNOWN]) await shownUris(admin, extra);
    await service.setAccountState("suspended");
    assert.deepEqual(await shownUris(admin, { redirect_uri: null }), []);
  },
);

choice(
  "1.rfcs.private-use",
  "a public client gets the response at its private-use scheme",
  MANUAL,
  async ({ api }) => {
    for (const redirect_uri of ["com.example.app:/callback", "com.example.app://callback?a=1"]) {
      const { app, who, open } = await scene(api, { redirect_uris: [redirect_uri], public: true });
      const sent = { redirect_uri, ...PKCE };
      const page = await open(sent);
      assertPage(page, 200, "'self' com.example.app:");
      assert.match(textOf(page), /Either way you return to com\.example\.app\./);
      const back = await consent(who, app, sent);
      pair(await exchange(api, app, str(back.code), { redirect_uri, code_verifier: VERIFIER }));
      assert.equal((await consent(who, app, sent, "deny")).error, "access_denied");
      assert.equal(
        returned(await open({ redirect_uri }), redirect_uri).error,
        "invalid_request",
        "PKCE is missing",
      );
      for (const other of [
        "com.example.app:/other",
        "com.example.other:/callback",
        "COM.EXAMPLE.APP:/callback",
      ])
        assert.equal((await open({ ...sent, redirect_uri: other })).status, 400, other);
      const signIn = await new Browser(api).open(authorizeUrl(app, sent));
      assertPage(signIn, 200, "'self' com.example.app:");
    }
  },
);

choice(
  "5.sign-in.consent",
  "consent grants the requested scopes that the user holds",
  MANUAL,
  async ({ api }) => {
    for (const [permissions, asked, granted] of [
      [["read:apps"], "admin", "read:apps"],
      [["read:apps"], "read:apps write:apps", "read:apps"],
      [["admin"], "write:apps read:apps", "write:apps read:apps"],
      [["admin"], "admin", "admin"],
      [["read:data", "write:apps"], "admin read:apps", "read:data write:apps"],
    ] as const) {
      const { open, tokens } = await scene(api, {}, permissions);
      const page = await open({ scope: asked });
      const shown = [...page.text.matchAll(/<code>([^<]*)/g)].map(([, scope]) => scope);
      assert.deepEqual(shown.sort(), granted.split(" ").sort(), asked);
      assert.equal((await tokens(asked)).scope, granted);
    }
    for (const permissions of [[], ["read:data"]])
      assert.equal(
        returned(await (await scene(api, {}, permissions)).open()).error,
        "access_denied",
      );
  },
);

choice(
  "5.sign-in.consent",
  "consent is required each time, names the client, and can be denied",
  MANUAL,
  async ({ api }) => {
    const { who, open } = await scene(api, { name: "<i>Sneaky\u202e\u2067</i> & Co" });
    // The client's name cannot reverse the text around it.
    const title = "<h1>Allow “&lt;i&gt;Sneaky&lt;/i&gt; &amp; Co” to use your account?</h1>";
    for (const sent of ["decision=allow", "decision=ALLOW", "decision=yes", "other="]) {
      const page = await open();
      for (const shown of [title, "Example account", who.email, "client.example.com"])
        assert.ok(page.text.includes(shown), shown);
      const filled = Object.fromEntries(new URLSearchParams(sent));
      const { error } = returned(await who.browser.submit(page, CONSENT, filled));
      assert.equal(error, sent === "decision=allow" ? undefined : "access_denied", sent);
    }
  },
);

choice(
  "5.sign-in.consent",
  "the authorization request is validated again when the user consents",
  MANUAL,
  async ({ api, service }) => {
    const { app, who, open, permit } = await scene(api, {}, ["read:apps"]);
    let page = await open({ scope: "admin" });
    const allow = () => who.browser.submit(page, CONSENT, { decision: "allow" });
    await permit("admin");
    page = await allow();
    assertPage(page, 200, "'self' https:");
    assert.match(page.text, /<code>admin/, "what was not shown is not granted: it is asked anew");
    assert.ok(returned(await allow()).code);
    await permit();
    assert.equal(returned(await allow()).error, "access_denied");
    await api.delete(`/oauth-clients/${app.client_id}`);
    assert.equal((await allow()).status, 400);
    const other = await scene(api);
    await service.setAccountState("suspended");
    assert.equal(
      returned(await other.open()).error,
      "access_denied",
      "a suspended account grants nothing",
    );
  },
);

choice(
  "5.sign-in.client-reach",
  "a client may ask users of any account, and acts in their account",
  TWO,
  async ({ api }) => {
    const { app } = await scene(api);
    const { who } = await scene(api.as(B_KEY), {}, ["read:apps"]);
    const { access } = pair(await exchange(api, app, str((await consent(who, app)).code)));
    const titles = async (client: Client) =>
      (await client.get("/apps")).items.map(({ title }) => title);
    assert.deepEqual([await titles(api.as(access)), await titles(api)], [["Of B"], []]);
  },
);
