// The pages of sign-in and consent: DNS rebinding, CSRF protection, security headers and assets. RFC 9700 2.1, 4.7, 4.16.
import assert from "node:assert/strict";
import { startService } from "../../src/index.ts";
import { Browser, formsOf, SIGN_IN } from "../support/browser.ts";
import { choice, MANUAL } from "../support/clauses.ts";
import { Client } from "../support/client.ts";
import { assertPage, csrfOf } from "../support/dashboard.ts";
import { authorizeUrl, person, returned, scene } from "../support/oauth.ts";
import { rawAnswer } from "../support/raw.ts";

const CONSENT = "/oauth/consent";
const LOOPBACK_HOSTS = ["localhost:1", "LocalHost.", "app.localhost:4600", "127.9.9.9", "[::1]"];
const REBOUND_HOSTS = ["evil.example:4600", "localhost.evil.example", "10.0.0.1", "[::2]"];
const OWN_PAGES = ["/dashboard", SIGN_IN, "/dashboard/nothing", "/oauth/authorize", CONSENT];

choice(
  "1.dashboard.rebinding",
  "on loopback the pages are served only under names of this machine",
  async ({ api, authUrl }) => {
    const root = api.root.as(null);
    for (const path of OWN_PAGES) {
      for (const host of REBOUND_HOSTS) {
        const text = assertPage(await root.get(path, { host }), 403);
        assert.match(text, new RegExp(`${authUrl}/dashboard.*--public-url`), host);
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
  "1.dashboard.rebinding",
  "a server that other machines can reach serves its pages under every name",
  async () => {
    for (const options of [{ host: "0.0.0.0" }, { publicUrl: "https://apps.example.com" }]) {
      await using service = await startService(options);
      const api = new Client({ baseUrl: `http://127.0.0.1:${service.port}`, key: null });
      for (const path of OWN_PAGES)
        assert.notEqual((await api.get(path, { host: "any.example" })).status, 403, path);
    }
  },
);

choice(
  "5.sign-in.form-without-origin",
  "a form without an Origin header counts only with its token and from this server",
  MANUAL,
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
  "5.sign-in.form-without-origin",
  "a body that is not a form is a 415, and one that is too large a 413",
  MANUAL,
  async ({ api }) => {
    const { browser } = await person(api);
    const json = { "content-type": "application/json" };
    assert.equal((await browser.request("POST", SIGN_IN, json, "{}")).status, 415);
    (await browser.post(SIGN_IN, { email: "x".repeat(70_000) })).is(413);
  },
);

choice(
  "5.sign-in.consent",
  "the pages may not be framed or cached and load nothing from elsewhere",
  MANUAL,
  async ({ api }) => {
    const { who, open } = await scene(api);
    for (const [page, status, formAction] of [
      [await new Browser(api).open(SIGN_IN), 200, "'self'"],
      [await open(), 200, "'self' https:"],
      [await open({ client_id: "x" }), 400, "'self'"],
      [await who.browser.request("GET", CONSENT), 405, "'self'"],
    ] as const) {
      assertPage(page, status, formAction);
      assert.match(page.text, /<html lang="en">[\s\S]*<title>[^<]+<\/title>[\s\S]*<h1>/);
    }
  },
);
