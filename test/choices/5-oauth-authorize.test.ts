// Spec part 5, OAuth step 1: the authorization request, what is refused and how, consent and denial.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { type Answer, type Client, str } from "../support/client.ts";
import {
  authorizeUrl,
  codeOf,
  consent,
  exchange,
  pair,
  person,
  REDIRECT,
  register,
  returned,
} from "../support/oauth.ts";

const OWN = { clock: "manual" } as const;
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"; // RFC 7636, appendix B

choice(
  "1.rfcs.response-type",
  "iss comes back too (RFC 9207), state only when it was sent",
  OWN,
  async ({ api, authUrl }) => {
    const [app, who] = [await register(api), await person(api)];
    const sent = await consent(who, app);
    assert.deepEqual(Object.keys(sent).sort(), ["code", "iss", "state"]);
    assert.equal(sent.iss, authUrl);
    assert.deepEqual(Object.keys(await consent(who, app, { state: null })).sort(), ["code", "iss"]);
    assert.deepEqual(Object.keys(await consent(who, app, { state: "" })).sort(), ["code", "iss"]);
  },
);

choice("1.rfcs.response-type", "a denial comes back as access_denied", OWN, async ({ api, authUrl }) => {
  const [app, who] = [await register(api), await person(api)];
  const { error_description: _, ...rest } = await consent(who, app, {}, "deny");
  assert.deepEqual(rest, { error: "access_denied", state: "xyz", iss: authUrl });
});

choice(
  "1.rfcs.loopback-redirect",
  "an unknown client or redirect_uri ends on a page, never in a redirect",
  OWN,
  async ({ api }) => {
    const [app, who] = [await register(api), await person(api)];
    const twice = `${authorizeUrl(app)}&redirect_uri=${encodeURIComponent(REDIRECT)}`;
    for (const url of [
      authorizeUrl(app, { client_id: null }),
      authorizeUrl(app, { client_id: "cli_00000000000000000000000" }),
      authorizeUrl(app, { redirect_uri: null }),
      authorizeUrl(app, { redirect_uri: `${REDIRECT}/` }),
      authorizeUrl(app, { redirect_uri: `${REDIRECT}?x=1` }),
      authorizeUrl(app, { redirect_uri: REDIRECT.toUpperCase() }),
      authorizeUrl(app, { redirect_uri: REDIRECT.replace("https", "http") }),
      authorizeUrl(app, { redirect_uri: REDIRECT.replace(".com", ".com:443") }),
      authorizeUrl(app, { redirect_uri: `${REDIRECT}/../callback` }),
      authorizeUrl(app, { redirect_uri: REDIRECT.replace("://", "://user@") }),
      authorizeUrl(app, { redirect_uri: "javascript:alert(1)" }),
      twice,
      `${authorizeUrl(app)}&client_id=${app.client_id}`,
    ]) {
      const page = await who.browser.open(url);
      assert.equal(page.status, 400, url);
      assert.equal(page.headers.location, undefined);
      assert.match(page.header("content-type"), /^text\/html/);
    }
  },
);

choice(
  "1.rfcs.loopback-redirect",
  "the port of a loopback redirect may vary, nothing else of it",
  OWN,
  async ({ api }) => {
    const who = await person(api);
    for (const host of ["127.0.0.1", "localhost", "[::1]"]) {
      const app = await register(api, { redirect_uris: [`http://${host}:8000/cb?a=1`, "http://127.0.0.1"] });
      for (const port of ["", ":8000", ":51234"]) {
        const redirect_uri = `http://${host}${port}/cb?a=1`;
        const back = await consent(who, app, { redirect_uri });
        assert.equal(back.a, "1");
        pair(await exchange(api, app, str(back.code), { redirect_uri }));
      }
      assert.ok((await consent(who, app, { redirect_uri: "http://127.0.0.1:4711" })).code);
      for (const other of [
        "/cb",
        "/cb?a=2",
        "/CB?a=1",
        ":99999/cb?a=1",
        ":80@evil.example/cb?a=1",
        ".evil.example/cb?a=1",
      ])
        assert.equal(
          (await who.browser.open(authorizeUrl(app, { redirect_uri: `http://${host}${other}` }))).status,
          400,
          other,
        );
    }
  },
);

choice(
  "1.rfcs.response-type",
  "every other fault goes back in the redirect, with state and iss",
  OWN,
  async ({ api, authUrl }) => {
    const [app, who] = [await register(api, { scopes: ["read:apps"] }), await person(api)];
    for (const [error, extra] of [
      ["invalid_request", { response_type: null }],
      ["unsupported_response_type", { response_type: "token" }],
      ["unsupported_response_type", { response_type: "code id_token" }],
      ["invalid_scope", { scope: null }],
      ["invalid_scope", { scope: " " }],
      ["invalid_scope", { scope: "read:everything" }],
      ["invalid_scope", { scope: "read:apps write:apps" }],
      ["invalid_scope", { scope: "admin" }],
      ["invalid_scope", { scope: 'read:apps "\\\u00e9' }],
      ["invalid_request", { code_challenge: CHALLENGE }],
      ["invalid_request", { code_challenge: CHALLENGE, code_challenge_method: "plain" }],
      ["invalid_request", { code_challenge: `${CHALLENGE}=`, code_challenge_method: "S256" }],
      ["invalid_request", { code_challenge: CHALLENGE.slice(1), code_challenge_method: "S256" }],
      ["invalid_request", { code_challenge_method: "S256" }],
    ] as const) {
      const back = returned(await who.browser.open(authorizeUrl(app, extra)));
      const { error_description, ...rest } = back;
      assert.deepEqual(rest, { error, state: "xyz", iss: authUrl }, JSON.stringify(extra));
      assert.match(str(error_description), /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
    }
  },
);

choice(
  "1.rfcs.response-type",
  "a repeated parameter is invalid_request, a repeated state goes back to nobody",
  OWN,
  async ({ api }) => {
    const [app, who] = [await register(api), await person(api)];
    for (const more of [
      "scope=admin",
      "response_type=code",
      "unknown=1&unknown=2",
      "code_challenge=a&code_challenge=b",
    ]) {
      const back = returned(await who.browser.open(`${authorizeUrl(app)}&${more}`));
      assert.equal(back.error, "invalid_request", more);
      assert.equal(back.state, "xyz");
    }
    const twice = returned(await who.browser.open(`${authorizeUrl(app)}&state=other`));
    assert.equal(twice.error, "invalid_request");
    assert.equal("state" in twice, false);
  },
);

choice("5.pkce", "a public client cannot ask without a challenge", OWN, async ({ api }) => {
  const [app, who] = [await register(api, { public: true }), await person(api)];
  assert.equal(returned(await who.browser.open(authorizeUrl(app))).error, "invalid_request");
  const page = await who.browser.open(authorizeUrl(app, { code_challenge: CHALLENGE, code_challenge_method: "S256" }));
  assert.equal(page.status, 200);
});

choice(
  "5.sign-in-link.consent",
  "grants what was asked for as far as the user holds it, and says so",
  OWN,
  async ({ api }) => {
    const app = await register(api);
    for (const [permissions, asked, granted] of [
      [["read:apps"], "admin", "read:apps"],
      [["read:apps"], "read:apps write:apps", "read:apps"],
      [["admin"], "write:apps read:apps", "write:apps read:apps"],
      [["admin"], "admin", "admin"],
      [["read:data", "write:apps"], "admin read:apps", "read:data write:apps"],
    ] as const) {
      const who = await person(api, permissions);
      const page = await who.browser.open(authorizeUrl(app, { scope: asked }));
      for (const scope of ["read:apps", "write:apps", "delete:apps", "read:data", "admin"])
        assert.equal(page.text.includes(`>${scope}<`), granted.split(" ").includes(scope), `${asked}: ${scope}`);
      assert.equal(pair(await exchange(api, app, await codeOf(who, app, { scope: asked }))).scope, granted);
    }
  },
);

choice("5.sign-in-link.consent", "nothing left to grant is access_denied", OWN, async ({ api }) => {
  const app = await register(api);
  for (const permissions of [[], ["read:data"]]) {
    const who = await person(api, permissions);
    assert.equal(returned(await who.browser.open(authorizeUrl(app, { scope: "read:apps" }))).error, "access_denied");
  }
});

choice(
  "5.sign-in-link.consent",
  "is asked for each time, and names client, account, user and where it leads",
  OWN,
  async ({ api }) => {
    const app = await register(api, { name: "<i>Sneaky</i> & Co" });
    const who = await person(api);
    for (let time = 0; time < 2; time += 1) {
      const page = await who.browser.open(authorizeUrl(app));
      for (const shown of ["&lt;i&gt;Sneaky&lt;/i&gt; &amp; Co", "Example account", who.email, "client.example.com"])
        assert.ok(page.text.includes(shown), shown);
      returned(await who.browser.submit(page, "/oauth/consent", { decision: "allow" }));
    }
  },
);

choice("5.sign-in-link.consent", "anything but allow is no", OWN, async ({ api }) => {
  const [app, who] = [await register(api), await person(api)];
  const page = await who.browser.open(authorizeUrl(app));
  for (const filled of [{ other: "" }, { decision: "ALLOW" }, { decision: "yes" }] as const)
    assert.equal(returned(await who.browser.submit(page, "/oauth/consent", filled)).error, "access_denied");
});

choice("5.sign-in-link.consent", "the request is judged again when the answer comes", OWN, async ({ api }) => {
  const [app, who] = [await register(api), await person(api, ["read:apps"])];
  const page = await who.browser.open(authorizeUrl(app));
  await api.patch(`/users/${who.id}`, { permissions: [] });
  assert.equal(
    returned(await who.browser.submit(page, "/oauth/consent", { decision: "allow" })).error,
    "access_denied",
  );
  await api.delete(`/oauth-clients/${app.client_id}`);
  assert.equal((await who.browser.submit(page, "/oauth/consent", { decision: "allow" })).status, 400);
});

choice("5.sign-in-link.consent", "a suspended account grants nothing", OWN, async ({ api, service }) => {
  const [app, who] = [await register(api), await person(api)];
  await service.setAccountState("suspended");
  assert.equal(returned(await who.browser.open(authorizeUrl(app))).error, "access_denied");
});

const B_KEY = "second-account-key";
const TWO = {
  needs: "embedded",
  options: {
    seed: {
      accounts: [
        { name: "A", api_keys: [{ name: "a", key: "first-account-key" }] },
        { name: "B", api_keys: [{ name: "b", key: B_KEY }], apps: [{ title: "Of B" }] },
      ],
    },
  },
} as const;

choice(
  "5.sign-in-link.client-reach",
  "users of every account may be asked; the token acts in theirs",
  TWO,
  async ({ api }) => {
    const b = api.as(B_KEY);
    const [app, who] = [await register(api), await person(b, ["read:apps"])];
    const { access } = pair(await exchange(api, app, await codeOf(who, app)));
    const titles = (client: Client) =>
      client.get("/apps").then((answer: Answer) => answer.items.map(({ title }) => title));
    assert.deepEqual(await titles(api.as(access)), ["Of B"]);
    assert.deepEqual(await titles(api), []);
  },
);

choice("1.rfcs.response-type", "other methods are 405 with Allow; HEAD is as GET", OWN, async ({ api }) => {
  const [app, who] = [await register(api), await person(api)];
  for (const method of ["POST", "PUT", "DELETE"]) {
    const answer = await who.browser.request(method, authorizeUrl(app));
    assert.equal(answer.status, 405);
    assert.equal(answer.header("allow"), "GET, HEAD, OPTIONS");
  }
  const head = await who.browser.request("HEAD", authorizeUrl(app));
  assert.equal(head.status, 200);
  assert.equal(head.text, "");
});
