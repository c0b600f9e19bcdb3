// The pages of sign-in and consent: single-use links, CSRF protection, security headers and no open redirects.
// RFC 9700 2.1, 4.2.4, 4.7, 4.16.
import assert from "node:assert/strict";
import { Agent } from "node:https";
import { type ServiceOptions, startService } from "../../src/index.ts";
import { Browser, formsOf } from "../support/browser.ts";
import { choice, MANUAL } from "../support/clauses.ts";
import { Client, freshAddress, str } from "../support/client.ts";
import { freshFile } from "../support/closing.ts";
import { assertPage, csrfOf, multipart } from "../support/dashboard.ts";
import { authorizeUrl, person, register, returned, scene } from "../support/oauth.ts";
import { printedOn } from "../support/process.ts";
import { rawAnswer } from "../support/raw.ts";
import { CA_CERT, TLS } from "../support/tls.ts";

const SIGN_IN = "/dashboard/sign-in";
const CONSENT = "/oauth/consent";
/** The port separates the sessions of several servers on one host. */
const cookieName = (api: Client) => `apphost_session_${new URL(api.baseUrl).port}`;
const OWNER = { email: "owner@example.com" };

const signedIn = async (browser: Browser): Promise<boolean> =>
  (await browser.request("GET", SIGN_IN)).headers.location === "/dashboard";

/** Another browser with this cookie. */
async function signedInWith(api: Client, cookie: string, name = cookieName(api)): Promise<boolean> {
  const browser = new Browser(api);
  browser.cookies.set(name, cookie);
  return signedIn(browser);
}

/** A new user's sign-in link. */
const newLink = async (api: Client) =>
  str((await api.create("/users", { email: freshAddress() })).sign_in_url);

choice(
  "5.sign-in",
  "a sign-in link works once, within 15 minutes",
  MANUAL,
  async ({ api, service }) => {
    const browser = new Browser(api);
    const link = service.signInUrl;
    assert.ok(link.startsWith(`${browser.origin}${SIGN_IN}?token=`));
    for (const method of ["HEAD", "GET", "GET"])
      assert.equal((await browser.request(method, link)).status, 200);
    assert.equal(await signedIn(browser), false, "opening it is not yet signing in");
    const uses = await Promise.all(Array.from({ length: 50 }, () => new Browser(api).signIn(link)));
    const [won, ...more] = uses.filter(({ status }) => status === 303);
    assert.deepEqual([won?.headers.location, more], ["/dashboard", []]);
    const again = await browser.signIn(link);
    assert.equal(again.status, 400);
    assert.match(again.text, /has been used/);
    const [early, late] = [await newLink(api), await newLink(api)];
    await service.clock.advance("899999ms");
    assert.equal((await browser.signIn(early)).status, 303);
    assert.equal(await signedIn(browser), true);
    await service.clock.advance("1ms");
    assert.equal((await new Browser(api).signIn(late)).status, 400);
  },
);

choice(
  "5.sign-in.cookie",
  "the session cookie is HttpOnly and SameSite=Lax, and every sign-in sets a new one",
  MANUAL,
  async ({ api, service }) => {
    const { browser } = await person(api);
    const before = browser.cookies.get(cookieName(api)) ?? "";
    const [line = ""] = (await browser.signIn(service.signInUrl)).headers["set-cookie"] ?? [];
    assert.match(line, /^apphost_session_\d+=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax$/);
    const now = browser.cookies.get(cookieName(api)) ?? "";
    assert.deepEqual(
      [await signedInWith(api, now), await signedInWith(api, now, `x${cookieName(api)}`)],
      [true, false],
    );
    assert.equal(
      await signedInWith(api, before),
      false,
      "a new sign-in ends the session that the browser had",
    );
    const planted = new Browser(api);
    await planted.request("GET", SIGN_IN);
    const foreign = planted.cookies.get(cookieName(api)) ?? "";
    await planted.signIn(await newLink(api));
    assert.equal(
      await signedInWith(api, foreign),
      false,
      "what the browser had before means nothing",
    );
    assert.equal(
      (await browser.request("GET", "/v1/apps")).status,
      401,
      "the REST API does not look at it",
    );
  },
);

choice(
  "5.sign-in.cookie",
  "the session cookie over TLS is Secure and has the prefix __Host-",
  async () => {
    const [tlsCert, tlsKey] = [freshFile("cert.pem", TLS.cert), freshFile("key.pem", TLS.key)];
    await using service = await startService({ tlsCert, tlsKey });
    assert.match(service.signInUrl, /^https:/);
    const api = new Client({
      baseUrl: service.baseUrl,
      key: null,
      agent: new Agent({ ca: CA_CERT }),
    });
    const line = (await new Browser(api).request("GET", service.signInUrl)).header("set-cookie");
    assert.match(
      line,
      /^__Host-apphost_session_\d+=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    );
  },
);

choice(
  "5.sign-in.cookie",
  "servers on one host do not sign each other's users out",
  MANUAL,
  async ({ api, service }) => {
    await using other = await startService();
    const [one, two] = [
      new Browser(api),
      new Browser(new Client({ baseUrl: other.baseUrl, key: other.apiKey })),
    ];
    /** Browsers share one cookie jar for a host, whatever the port. */
    const share = (from: Browser, to: Browser) => {
      for (const [name, value] of from.cookies) to.cookies.set(name, value);
    };
    await one.signIn(service.signInUrl);
    share(one, two);
    assert.equal(await signedIn(two), false);
    await two.signIn(other.signInUrl);
    share(two, one);
    assert.deepEqual([await signedIn(one), await signedIn(two)], [true, true]);
    await two.submit(await two.open("/dashboard"), "/dashboard/sign-out", {});
    share(two, one);
    assert.deepEqual([await signedIn(one), await signedIn(two)], [true, false]);
  },
);

choice(
  "5.sign-in.cookie",
  "the cookie's port is that of the Host header, or else of the scheme",
  async () => {
    const named = async (options: ServiceOptions, host: string) => {
      await using service = await startService(options);
      const api = new Client({ baseUrl: `http://localhost:${service.port}`, key: null });
      const [name] = (await api.get(SIGN_IN, { host })).header("set-cookie").split("=");
      return name;
    };
    const https = { publicUrl: "https://apps.example.com" };
    for (const [host, plain, secure] of [
      ["localhost:4600", "apphost_session_4600", "__Host-apphost_session_4600"],
      ["[::1]:8443", "apphost_session_8443", "__Host-apphost_session_8443"],
      ["[::1]", "apphost_session_80", "__Host-apphost_session_443"],
      ["app.localhost", "apphost_session_80", "__Host-apphost_session_443"],
      ["localhost:", "apphost_session_80", "__Host-apphost_session_443"],
    ] as const)
      assert.deepEqual([await named({}, host), await named(https, host)], [plain, secure], host);
  },
);

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
  "5.sign-in.session",
  "a session lasts 12 hours, or until sign-out or the deletion of the user",
  MANUAL,
  async ({ api, service }) => {
    const [{ app, who: first, open }, second, third] = [
      await scene(api),
      await person(api),
      await person(api),
    ];
    const page = await open();
    const cookie = first.browser.cookies.get(cookieName(api)) ?? "";
    const out = await first.browser.submit(page, "/dashboard/sign-out", {});
    assert.equal(
      formsOf(out)[0]?.fields.next,
      authorizeUrl(app),
      "whoever signs in instead is asked the same",
    );
    assert.notEqual(first.browser.cookies.get(cookieName(api)), cookie);
    assert.equal(await signedInWith(api, cookie), false);
    await api.delete(`/users/${second.id}`);
    assert.equal(await signedIn(second.browser), false);
    await service.clock.advance(`${12 * 3_600_000 - 1}ms`);
    assert.equal(await signedIn(third.browser), true);
    await service.clock.advance("1ms");
    assert.equal(await signedIn(third.browser), false);
  },
);

choice(
  "5.sign-in",
  "a request for a link gets the same response for every address, and the link is printed",
  { log: "pretty" },
  async ({ api }) => {
    const answers = new Set<string>();
    const printed = await printedOn(process.stdout, async () => {
      for (const email of ["owner@example.com", " OWNER@example.com ", "nobody@example.com", ""]) {
        const answer = await new Browser(api).fillIn(SIGN_IN, { email });
        assert.equal(answer.status, 200);
        answers.add(answer.text);
      }
    });
    const lines = printed.filter((line) => line.includes("Sign-in link"));
    assert.deepEqual([answers.size, lines.length], [1, 2]);
    const link = /http\S+/.exec(lines[0] ?? "")?.[0] ?? "";
    assert.equal((await new Browser(api).signIn(link)).headers.location, "/dashboard");
    const far = new Browser(api);
    const page = await far.open(`${SIGN_IN}?next=/${"x".repeat(8_100)}`);
    const said = await printedOn(process.stdout, () => far.submit(page, SIGN_IN, OWNER));
    const led = await far.signIn(/Sign-in link.*(http\S+)/.exec(said.join(""))?.[1] ?? "");
    assert.equal(led.headers.location, "/dashboard", "a link that is too long cannot be opened");
  },
);

choice(
  "5.sign-in",
  "a sign-in link continues to the requested page, through authorize to consent",
  MANUAL,
  async ({ api }) => {
    const app = await register(api);
    const { sign_in_url } = await api.create("/users", {
      email: freshAddress(),
      permissions: ["admin"],
    });
    const browser = new Browser(api);
    const wanted = authorizeUrl(app, { state: "a&b" });
    assert.equal((await browser.request("GET", wanted)).status, 303);
    const [form] = formsOf(await browser.open(wanted));
    assert.equal(form?.fields.next, wanted);
    const led = await browser.signIn(
      `${str(sign_in_url)}&${new URLSearchParams({ next: wanted })}`,
    );
    const consent = await browser.open(led.header("location"));
    assert.equal(
      returned(await browser.submit(consent, "/oauth/consent", { decision: "allow" })).state,
      "a&b",
    );
    const longest = authorizeUrl(app, { state: "&".repeat(2_000) });
    const [asked] = formsOf(await new Browser(api).request("GET", longest));
    assert.equal(
      asked?.fields.next,
      longest,
      "also where the address of the sign-in would be too long",
    );
  },
);

const ELSEWHERE =
  "|dashboard|https://evil.example/|//evil.example|///evil.example|/\\evil.example|javascript:a()|\\/evil.example|" +
  "\\\\evil.example|/\t/evil.example|/\n/evil.example|/.//evil.example| //evil.example|/x/..//evil.example|" +
  "/%2e//evil.example|\u0000//evil.example|//evil.example:99999";
const OWN_PATHS = ["/dashboard/settings?tab=keys", "/oauth/authorize?client_id=cli_1&scope=a%20b"];

choice(
  "5.sign-in",
  "the next parameter leads only to paths of this server",
  MANUAL,
  async ({ api }) => {
    const { browser } = await person(api);
    for (const [next = "", leads] of [
      ...ELSEWHERE.split("|").map((path) => [path, "/dashboard"]),
      ...OWN_PATHS.map((path) => [path, path]),
      ["/a/../dashboard/apps#part", "/dashboard/apps"],
    ]) {
      const query = new URLSearchParams({ next });
      assert.equal(
        (await browser.request("GET", `${SIGN_IN}?${query}`)).headers.location,
        leads,
        next,
      );
      assert.equal(
        (await new Browser(api).signIn(`${await newLink(api)}&${query}`)).headers.location,
        leads,
        next,
      );
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
    const CONSENT = "/oauth/consent";
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
      [new Browser(api), SIGN_IN, OWNER, origin],
      [new Browser(api), CONSENT, fields, "https://evil.example"],
    ] as const)
      assert.equal((await from.post(path, sent, at)).status, 403, `${path} ${at}`);
    assert.equal(await signedIn(browser), true);
    const out = await new Browser(api).post(CONSENT, fields);
    assert.equal(
      out.headers.location,
      `${SIGN_IN}?${new URLSearchParams({ next: authorizeUrl(app) })}`,
      "signed out",
    );
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

choice(
  "5.sign-in.consent",
  "the pages' assets are sent again only after they have changed",
  async ({ api }) => {
    const anyone = api.root.as(null);
    const { text } = await anyone.get(SIGN_IN);
    const paths = [...text.matchAll(/<link[^>]* href="([^"]+)"/g)].map(([, path = ""]) => path);
    assert.deepEqual(paths, ["/favicon.ico", "/assets/style.css"]);
    for (const path of paths) {
      const answer = await anyone.get(path);
      assert.equal(answer.status, 200, path);
      assert.match(answer.header("content-type"), /^(text\/css; charset=utf-8|image\/svg\+xml)$/);
      assert.equal(answer.header("cache-control"), "public, no-cache", path);
      const again = await anyone.get(path, { "if-none-match": answer.header("etag") });
      assert.deepEqual([again.status, again.text], [304, ""]);
      assert.equal((await anyone.post(path)).status, 405);
    }
  },
);
