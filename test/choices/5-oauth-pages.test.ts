// The pages of sign-in and consent: DNS rebinding, CSRF protection, security headers and assets. RFC 9700 2.1, 4.7, 4.16.
import assert from "node:assert/strict";
import { startService } from "../../src/index.ts";
import { Browser, formsOf, SIGN_IN } from "../support/browser.ts";
import { choice, MANUAL } from "../support/clauses.ts";
import { Client } from "../support/client.ts";
import { assertPage, csrfOf, multipart } from "../support/dashboard.ts";
import { authorizeUrl, person, register, returned, scene } from "../support/oauth.ts";
import { rawAnswer } from "../support/raw.ts";

const CONSENT = "/oauth/consent";

const LOOPBACK_HOSTS =
  "localhost localhost:1 LocalHost. app.localhost:4600 127.0.0.1:80 127.9.9.9 [::1] [::1]:4600";
const REBOUND_HOSTS =
  "evil.example evil.example:4600 localhost.evil.example 128.0.0.1 10.0.0.1 [::2] 0x7f.1 [::ffff:127.0.0.1]";
const OWN_PAGES = [
  "/dashboard",
  "/dashboard/apps",
  SIGN_IN,
  "/dashboard/nothing",
  "/oauth/authorize",
  CONSENT,
];

choice(
  "1.dashboard.rebinding",
  "on loopback the pages are served only under names of this machine",
  async ({ api, authUrl }) => {
    const root = api.root.as(null);
    for (const path of OWN_PAGES) {
      for (const host of REBOUND_HOSTS.split(" ")) {
        const text = assertPage(await root.get(path, { host }), 403);
        assert.match(text, new RegExp(`${authUrl}/dashboard.*--public-url`), host);
        assert.equal((await root.post(path, {}, { host })).status, 403, host);
      }
      for (const host of LOOPBACK_HOSTS.split(" "))
        assert.notEqual((await root.get(path, { host })).status, 403, host);
    }
    const old = await rawAnswer(authUrl, "GET /dashboard HTTP/1.0\r\n\r\n");
    assert.equal(
      old.status,
      403,
      "a request that names no host is none under a name of this machine",
    );
    const { browser } = await person(api);
    const cookie = [...browser.cookies].map((pair) => pair.join("=")).join();
    assert.equal((await root.get("/dashboard", { host: "evil.example", cookie })).status, 403);
    for (const path of [
      "/docs",
      "/openapi.json",
      "/healthz",
      "/assets/style.css",
      "/.well-known/oauth-authorization-server",
    ])
      assert.equal((await root.get(path, { host: "evil.example" })).status, 200, path);
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
    const { csrf: _, ...untold } = fields;
    const foreign = csrfOf(await (await person(api)).browser.open(authorizeUrl(app)));
    const { origin } = browser;
    for (const [from, path, sent, at] of [
      [browser, CONSENT, untold, origin],
      [browser, CONSENT, { ...fields, csrf: "" }, origin],
      [browser, CONSENT, { ...fields, csrf: foreign }, origin],
      [browser, CONSENT, fields, "https://evil.example"],
      [browser, CONSENT, fields, "null"],
      [browser, CONSENT, fields, origin.replace("http:", "ftp:")],
      [browser, CONSENT, fields, `${origin}.evil.example`],
      [browser, "/dashboard/sign-out", untold, origin],
      [browser, "/dashboard/sign-out", fields, "https://evil.example"],
      [new Browser(api), SIGN_IN, { user_id: who.id }, origin],
      [new Browser(api), CONSENT, fields, "https://evil.example"],
    ] as const)
      assert.equal((await from.post(path, sent, at)).status, 403, `${path} ${at}`);
    assert.equal((await browser.request("GET", SIGN_IN)).headers.location, "/dashboard");
    const type = { "content-type": "application/x-www-form-urlencoded" };
    const body = new URLSearchParams(fields).toString();
    assert.equal(
      (await browser.request("POST", CONSENT, type, `${body}&decision=deny`)).status,
      403,
    );
    const byAddress = origin.replace("localhost", "127.0.0.1");
    const host = { ...type, host: new URL(byAddress).host, origin: byAddress };
    for (const answer of [
      await browser.post(CONSENT, fields, null),
      await browser.request("POST", CONSENT, host, body),
    ])
      assert.ok(returned(answer).code);
  },
);

choice(
  "5.sign-in.form-without-origin",
  "a body that is not a form or is too large is rejected",
  MANUAL,
  async ({ api }) => {
    const { browser } = await person(api);
    assert.equal(
      (await browser.request("POST", SIGN_IN, { "content-type": "application/json" }, "{}")).status,
      415,
    );
    assert.equal((await browser.post(SIGN_IN, { email: "x".repeat(70_000) })).status, 413);
    // A server that parses so many fields blocks every other request for a second.
    const csrf = csrfOf(await browser.open("/dashboard/apps/new"));
    const fieldsBeside = (count: number) => ({
      csrf,
      ...Object.fromEntries(Array.from({ length: count }, (_, n) => [n, ""])),
    });
    for (const [status, count] of Object.entries({ 422: 999, 415: 1_000 }))
      assert.equal(
        (await browser.post("/dashboard/apps/new", fieldsBeside(count))).status,
        Number(status),
      );
    const { body, type } = multipart(fieldsBeside(1_000));
    for (const named of [type, `${type}; x="y"`, type.replace("multipart", "MULTIPART")])
      assert.equal(
        (await browser.request("POST", "/dashboard/apps/new", { "content-type": named }, body))
          .status,
        415,
      );
  },
);

choice(
  "5.sign-in.consent",
  "the pages may not be framed or cached and load nothing from elsewhere",
  MANUAL,
  async ({ api }) => {
    const { who, open } = await scene(api);
    const native = await register(api, { redirect_uris: ["http://[::1]:8000/cb"] });
    const byAddress = await who.browser.open(
      authorizeUrl(native, { redirect_uri: "http://[::1]:9/cb" }),
    );
    for (const [page, status, formAction] of [
      [await new Browser(api).open(SIGN_IN), 200, "'self'"],
      [await open(), 200, "'self' https:"],
      [byAddress, 200, "'self' http:"],
      [await open({ client_id: "x" }), 400, "'self'"],
      [await who.browser.request("GET", "/oauth/consent"), 405, "'self'"],
    ] as const) {
      assertPage(page, status, formAction);
      assert.match(page.text, /<html lang="en">[\s\S]*<title>[^<]+<\/title>[\s\S]*<h1>/);
    }
  },
);
