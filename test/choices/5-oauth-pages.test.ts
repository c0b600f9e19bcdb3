// The pages of signing in and consent: links that work once, forms that only our own pages can send, headers that keep a
// page to itself, and no way to be sent elsewhere.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { get } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startService } from "../../src/index.ts";
import { Browser, formsOf } from "../support/browser.ts";
import { choice, withService } from "../support/clauses.ts";
import { type Answer, str } from "../support/client.ts";
import { fresh } from "../support/fresh.ts";
import { authorizeUrl, person, register, returned } from "../support/oauth.ts";
import { CA_CERT, SERVER_CERT, SERVER_KEY } from "../support/tls.ts";

const OWN = { clock: "manual" } as const;
const SIGN_IN = "/dashboard/sign-in";
const COOKIE = "apphost_session";

const signedIn = async (browser: Browser): Promise<boolean> =>
  (await browser.request("GET", SIGN_IN)).headers.location === "/dashboard";

choice("5.sign-in-link", "signs in once, within 15 minutes", OWN, async ({ api, service }) => {
  const browser = new Browser(api);
  const link = service.signInUrl;
  assert.ok(link.startsWith(`${browser.origin}${SIGN_IN}?token=`));
  const opened = await browser.request("GET", link);
  assert.equal(opened.status, 200);
  assert.equal(await signedIn(browser), false, "opening it is not yet signing in");
  const answer = await browser.signIn(link);
  assert.equal(answer.status, 303);
  assert.equal(answer.headers.location, "/dashboard");
  assert.equal(await signedIn(browser), true);
  const second = await new Browser(api).signIn(link);
  assert.equal(second.status, 400);
  assert.match(second.text, /has been used/);
  const urls = [];
  for (let made = 0; made < 2; made += 1)
    urls.push(str((await api.create("/users", { email: `${fresh()}@example.com` })).sign_in_url));
  await service.clock.advance("899999ms");
  assert.equal((await new Browser(api).signIn(urls[0] ?? "")).status, 303);
  await service.clock.advance("1ms");
  assert.equal((await new Browser(api).signIn(urls[1] ?? "")).status, 400);
});

choice(
  "5.sign-in-link",
  "50 uses at once sign in one browser; opening it uses it not up",
  OWN,
  async ({ api, service }) => {
    for (const method of ["HEAD", "GET", "GET"])
      assert.equal((await new Browser(api).request(method, service.signInUrl)).status, 200);
    const uses = await Promise.all(Array.from({ length: 50 }, () => new Browser(api).signIn(service.signInUrl)));
    assert.equal(uses.filter(({ status }) => status === 303).length, 1);
  },
);

choice(
  "5.sign-in-link.cookie",
  "is HttpOnly and SameSite=Lax for the whole host, and new at each sign-in",
  OWN,
  async ({ api, service }) => {
    const browser = new Browser(api);
    await browser.request("GET", SIGN_IN);
    const before = browser.cookies.get(COOKIE);
    const [line = ""] = (await browser.signIn(service.signInUrl)).headers["set-cookie"] ?? [];
    assert.match(line, /^apphost_session=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax$/);
    assert.notEqual(browser.cookies.get(COOKIE), before);
    assert.equal(await signedIn(browser), true);
    const planted = new Browser(api);
    planted.cookies.set(COOKIE, before ?? "");
    assert.equal(await signedIn(planted), false);
  },
);

/** What the page at a link sets, over TLS. */
const setCookieOf = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const request = get(url, { ca: CA_CERT, agent: false }, (answer) => {
      answer.resume();
      resolve(String(answer.headers["set-cookie"]));
    });
    request.on("error", reject);
  });

choice("5.sign-in-link.cookie", "over TLS it is Secure and __Host-", "ours", async () => {
  const folder = await mkdtemp(join(tmpdir(), "pages-"));
  const [tlsCert, tlsKey] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  await writeFile(tlsCert, SERVER_CERT);
  await writeFile(tlsKey, SERVER_KEY);
  const service = await startService({ tlsCert, tlsKey });
  try {
    assert.match(service.signInUrl, /^https:/);
    const line = await setCookieOf(service.signInUrl);
    assert.match(line, /^__Host-apphost_session=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
  } finally {
    await service.close();
    await rm(folder, { recursive: true });
  }
});

choice(
  "5.sign-in-link.cookie",
  "a new sign-in ends the session that the browser had",
  OWN,
  async ({ api, service }) => {
    const { browser } = await person(api);
    const before = browser.cookies.get(COOKIE) ?? "";
    assert.equal((await browser.signIn(service.signInUrl)).status, 303);
    const old = new Browser(api);
    old.cookies.set(COOKIE, before);
    assert.equal(await signedIn(old), false);
  },
);

choice("5.sign-in-link.cookie", "the REST API does not look at it", OWN, async ({ api }) => {
  const { browser } = await person(api);
  assert.equal((await browser.request("GET", "/v1/apps")).status, 401);
});

choice(
  "5.sign-in-link.session",
  "12 hours, and not after signing out or the user's end",
  OWN,
  async ({ api, service }) => {
    const [first, second, third] = [await person(api), await person(api), await person(api)];
    const app = await register(api);
    const page = await first.browser.open(authorizeUrl(app));
    const cookie = first.browser.cookies.get(COOKIE) ?? "";
    const out = await first.browser.submit(page, "/dashboard/sign-out", {});
    assert.match(out.text, /Sign in/);
    assert.notEqual(first.browser.cookies.get(COOKIE), cookie);
    first.browser.cookies.set(COOKIE, cookie);
    assert.equal(await signedIn(first.browser), false);
    await api.delete(`/users/${second.id}`);
    assert.equal(await signedIn(second.browser), false);
    await service.clock.advance(`${12 * 3_600_000 - 1}ms`);
    assert.equal(await signedIn(third.browser), true);
    await service.clock.advance("1ms");
    assert.equal(await signedIn(third.browser), false);
  },
);

/** A server whose console is read; answers what the sign-in page announced so far. */
function announcements(): { readonly lines: string[]; readonly stop: () => void } {
  const lines: string[] = [];
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = (chunk: string | Uint8Array): boolean => {
    if (String(chunk).includes("Sign-in link")) lines.push(String(chunk));
    return true;
  };
  const stop = () => {
    process.stdout.write = write;
  };
  return { lines, stop };
}

choice(
  "5.sign-in-link",
  "whoever asks for one gets the same answer, known or not; the link is on the console",
  OWN,
  async () => {
    await withService({ log: "pretty" }, async ({ api }) => {
      const console = announcements();
      try {
        const ask = async (email: string) => {
          const browser = new Browser(api);
          return browser.submit(await browser.open(SIGN_IN), SIGN_IN, { email });
        };
        const [known, capitals, unknown, blank] = [
          await ask("owner@example.com"),
          await ask(" OWNER@example.com "),
          await ask("nobody@example.com"),
          await ask(""),
        ];
        for (const answer of [known, capitals, unknown, blank]) assert.equal(answer.status, 200);
        assert.equal(new Set([known, capitals, unknown, blank].map(({ text }) => text)).size, 1);
        assert.equal(console.lines.length, 2);
        const link = /http\S+/.exec(console.lines[0] ?? "")?.[0] ?? "";
        assert.equal((await new Browser(api).signIn(link)).headers.location, "/dashboard");
      } finally {
        console.stop();
      }
    });
  },
);

choice("5.sign-in-link.waiting", "five may wait for a user; expired ones make room", OWN, async ({ api, service }) => {
  const waiting = async () => (await service.store.snapshot()).collections.sign_ins?.length;
  const browser = new Browser(api);
  for (let asked = 0; asked < 7; asked += 1)
    await browser.submit(await browser.open(SIGN_IN), SIGN_IN, { email: "owner@example.com" });
  assert.equal(await waiting(), 5);
  await service.clock.advance("900000ms");
  await browser.submit(await browser.open(SIGN_IN), SIGN_IN, { email: "owner@example.com" });
  assert.equal(await waiting(), 1);
});

choice(
  "5.sign-in-link",
  "leads on to where the user wanted to go: through authorize to consent",
  OWN,
  async ({ api }) => {
    const app = await register(api);
    const { sign_in_url } = await api.create("/users", { email: `${fresh()}@example.com`, permissions: ["admin"] });
    const browser = new Browser(api);
    const first = await browser.request("GET", authorizeUrl(app, { state: "a&b" }));
    assert.equal(first.status, 303);
    const page = await browser.open(first.header("location"));
    const [form] = formsOf(page);
    assert.equal(form?.fields.next, authorizeUrl(app, { state: "a&b" }));
    const next = new URLSearchParams({ next: form?.fields.next ?? "" });
    const led = await browser.signIn(`${str(sign_in_url)}&${next}`);
    const consent = await browser.open(led.header("location"));
    assert.match(consent.text, /Allow/);
    assert.equal(returned(await browser.submit(consent, "/oauth/consent", { decision: "allow" })).state, "a&b");
  },
);

choice("5.sign-in-link", "next leads to paths of this server only", OWN, async ({ api }) => {
  const { browser } = await person(api);
  for (const next of [
    "//evil.example",
    "https://evil.example/",
    "/\\evil.example",
    "/.//evil.example",
    "\\/evil.example",
    "/\t/evil.example",
    "javascript:alert(1)",
    "evil.example",
  ]) {
    const query = new URLSearchParams({ next });
    assert.equal((await browser.request("GET", `${SIGN_IN}?${query}`)).headers.location, "/dashboard", next);
    const { sign_in_url } = await api.create("/users", { email: `${fresh()}@example.com` });
    const fresher = new Browser(api);
    assert.equal((await fresher.signIn(`${str(sign_in_url)}&${query}`)).headers.location, "/dashboard", next);
  }
  const own = new URLSearchParams({ next: "/dashboard/settings?tab=keys" });
  assert.equal((await browser.request("GET", `${SIGN_IN}?${own}`)).headers.location, "/dashboard/settings?tab=keys");
});

choice(
  "5.sign-in-link.form-without-origin",
  "a form counts only with its token, and never from another origin",
  OWN,
  async ({ api }) => {
    const [app, who, other] = [await register(api), await person(api), await person(api)];
    const page = await who.browser.open(authorizeUrl(app));
    const form = formsOf(page).find(({ action }) => action === "/oauth/consent");
    assert.ok(form);
    const fields: Readonly<Record<string, string>> = { ...form.fields, decision: "allow" };
    const { csrf: _, ...untold } = fields;
    const foreign = formsOf(await other.browser.open(authorizeUrl(app)))[0]?.fields.csrf ?? "";
    const tries: (() => Promise<Answer>)[] = [
      () => who.browser.post("/oauth/consent", untold),
      () => who.browser.post("/oauth/consent", { ...fields, csrf: "" }),
      () => who.browser.post("/oauth/consent", { ...fields, csrf: foreign }),
      () => who.browser.post("/oauth/consent", fields, "https://evil.example"),
      () => who.browser.post("/oauth/consent", fields, "null"),
      () => who.browser.post("/oauth/consent", fields, who.browser.origin.replace("http:", "ftp:")),
      () => who.browser.post("/oauth/consent", fields, `${who.browser.origin}.evil.example`),
      () => who.browser.post("/dashboard/sign-out", untold),
      () => who.browser.post("/dashboard/sign-out", fields, "https://evil.example"),
      () => new Browser(api).post(SIGN_IN, { email: "owner@example.com" }),
      () => new Browser(api).post("/oauth/consent", fields),
    ];
    for (const attempt of tries) assert.equal((await attempt()).status, 403, attempt.toString());
    assert.equal(await signedIn(who.browser), true);
    const twice = `${new URLSearchParams(fields)}&decision=deny`;
    const type = { "content-type": "application/x-www-form-urlencoded" };
    assert.equal((await who.browser.request("POST", "/oauth/consent", type, twice)).status, 403);
    assert.ok(returned(await who.browser.post("/oauth/consent", fields, null)).code);
    assert.ok(returned(await who.browser.post("/oauth/consent", fields)).code);
    const byAddress = who.browser.origin.replace("localhost", "127.0.0.1");
    const host = {
      host: new URL(byAddress).host,
      origin: byAddress,
      "content-type": "application/x-www-form-urlencoded",
    };
    const body = new URLSearchParams(fields).toString();
    assert.ok(returned(await who.browser.request("POST", "/oauth/consent", host, body)).code);
  },
);

choice("5.sign-in-link.form-without-origin", "what is no form, or too large, is refused", OWN, async ({ api }) => {
  const { browser } = await person(api);
  const json = await browser.request("POST", SIGN_IN, { "content-type": "application/json" }, "{}");
  assert.equal(json.status, 415);
  assert.equal((await browser.post(SIGN_IN, { email: "x".repeat(70_000) })).status, 413);
  for (const [method, path, allow] of [
    ["GET", "/oauth/consent", "POST"],
    ["GET", "/dashboard/sign-out", "POST"],
    ["PUT", SIGN_IN, "GET, HEAD, POST"],
  ] as const) {
    const answer = await browser.request(method, path);
    assert.equal(answer.status, 405);
    assert.equal(answer.header("allow"), `${allow}, OPTIONS`);
  }
});

choice(
  "5.sign-in-link.consent",
  "pages may not be framed, cached, or load anything from elsewhere",
  OWN,
  async ({ api }) => {
    const [app, who] = [await register(api), await person(api)];
    const native = await register(api, { redirect_uris: ["http://[::1]:8000/cb"] });
    const pages = [
      [await new Browser(api).open(SIGN_IN), "'self'"],
      [await who.browser.open(authorizeUrl(app)), "'self' https:"],
      [await who.browser.open(authorizeUrl(native, { redirect_uri: "http://[::1]:9/cb" })), "'self' http:"],
      [await who.browser.open(authorizeUrl(app, { client_id: "x" })), "'self'"],
      [await who.browser.request("GET", "/oauth/consent"), "'self'"],
    ] as const;
    for (const [page, formAction] of pages) {
      assert.equal(
        page.header("content-security-policy"),
        `default-src 'none'; style-src 'self'; img-src 'self'; form-action ${formAction}; base-uri 'none'; frame-ancestors 'none'`,
      );
      assert.equal(page.header("cache-control"), "no-store");
      assert.equal(page.header("referrer-policy"), "same-origin");
      assert.equal(page.header("x-content-type-options"), "nosniff");
      assert.doesNotMatch(page.text, /<script|<style|style="| on\w+="|(?:src|href)="(?:https?:)?\/\//);
      assert.match(page.text, /<html lang="en">[\s\S]*<title>[^<]+<\/title>[\s\S]*<h1>/);
    }
  },
);

choice("5.sign-in-link.consent", "the style sheet and the icon are there, and may be kept", async ({ api }) => {
  const anyone = api.root.as(null);
  const page = await anyone.get(SIGN_IN);
  const paths = [...page.text.matchAll(/<link[^>]* href="([^"]+)"/g)].map(([, path = ""]) => path);
  assert.equal(paths.length, 2);
  for (const path of [...paths, "/favicon.ico"]) {
    const answer = await anyone.get(path);
    assert.equal(answer.status, 200, path);
    assert.match(answer.header("content-type"), /^(text\/css; charset=utf-8|image\/svg\+xml)$/);
    assert.match(answer.header("cache-control"), /immutable/);
    assert.equal((await anyone.send("POST", path)).status, 405);
  }
});
