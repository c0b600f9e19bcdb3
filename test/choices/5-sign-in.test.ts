// Signing in to the dashboard and for consent: the list of users on a local server, the API key elsewhere, and the
// session that follows.
import assert from "node:assert/strict";
import { Agent } from "node:https";
import { type ServiceOptions, startService } from "../../src/index.ts";
import { Browser, formsOf, SIGN_IN, usersOn } from "../support/browser.ts";
import { choice, MANUAL } from "../support/clauses.ts";
import { type Answer, Client, freshAddress, type SentHeaders, str } from "../support/client.ts";
import { freshFile } from "../support/closing.ts";
import { assertPage, csrfOf } from "../support/dashboard.ts";
import { authorizeUrl, person, register, returned, scene } from "../support/oauth.ts";
import { printedOn } from "../support/process.ts";
import { CA_CERT, TLS } from "../support/tls.ts";

const KEY = "key-of-the-first-account";
const OTHER_KEY = "key-of-the-second-account";
const SEED = {
  accounts: [
    { name: "First", api_keys: [{ name: "k", key: KEY }] },
    {
      name: "Second",
      api_keys: [{ name: "k", key: OTHER_KEY }],
      users: [
        { email: "ada@example.com", name: "Ada <b>", permissions: ["admin" as const] },
        { email: "nameless@example.com" },
      ],
    },
  ],
};
const TWO_ACCOUNTS = { ...MANUAL, seed: SEED };
/** Other machines can reach this server. */
const REMOTE = { ...TWO_ACCOUNTS, host: "0.0.0.0" };

const isSignedIn = async (browser: Browser): Promise<boolean> =>
  (await browser.request("GET", SIGN_IN)).headers.location === "/dashboard";

/** The session cookie's name contains the port, because several servers may share a host. */
const cookieName = (api: Client) => `apphost_session_${new URL(api.baseUrl).port}`;

/** Returns true if this cookie is that of a session. */
async function isSession(api: Client, cookie: string, name = cookieName(api)): Promise<boolean> {
  const browser = new Browser(api);
  browser.cookies.set(name, cookie);
  return isSignedIn(browser);
}

/** Sends the API key; returns the page of the second step. */
async function sendKey(
  browser: Browser,
  api_key: string,
  { next = "/dashboard", headers = {} }: { next?: string; headers?: SentHeaders } = {},
): Promise<Answer> {
  const page = await browser.request("GET", `${SIGN_IN}?${new URLSearchParams({ next })}`, headers);
  assert.match(page.text, /<label for="api_key">API key</);
  assert.deepEqual(usersOn(page), [], "no user is listed before the key is known");
  return browser.post(SIGN_IN, { ...formsOf(page)[0]?.fields, api_key }, browser.origin, headers);
}

/** Signs in with an API key and then as the first user of its account. */
const signInWithKey = async (browser: Browser, key: string, next?: string): Promise<Answer> =>
  browser.continueAs(await sendKey(browser, key, next === undefined ? {} : { next }));

choice(
  "5.sign-in",
  "a local server lists the users of every account with one button each",
  TWO_ACCOUNTS,
  async ({ api }) => {
    const page = await new Browser(api).open(SIGN_IN);
    assert.match(assertPage(page), /Sign in First .* Second /);
    assert.deepEqual(
      usersOn(page).map(({ label }) => label),
      [
        "Continue as Owner, owner@example.com",
        "Continue as Ada <b>, ada@example.com",
        "Continue as nameless@example.com",
      ],
    );
    assert.doesNotMatch(page.text, /api_key/);
    for (const { id, label } of usersOn(page)) {
      const browser = new Browser(api);
      await browser.submit(await browser.open(SIGN_IN), SIGN_IN, { user_id: id });
      const { text } = await browser.open("/dashboard");
      assert.ok(text.includes(label.replace(/^.* /, "")), label);
    }
    const unknown = await new Browser(api).fillIn(SIGN_IN, { user_id: "usr_unknown" });
    assertPage(unknown, 400);
    const keyOnly = new Browser(api);
    assertPage(await keyOnly.fillIn(SIGN_IN, { api_key: KEY }), 400);
    assert.equal(await isSignedIn(keyOnly), false, "a key alone signs nobody in");
  },
);

choice(
  "5.sign-in.proxy",
  "a request that came through a proxy needs an API key, even on a local server",
  TWO_ACCOUNTS,
  async ({ api }) => {
    const [owner] = usersOn(await new Browser(api).open(SIGN_IN));
    for (const name of [
      "Forwarded",
      "Via",
      "X-Real-IP",
      "X-Forwarded-For",
      "X-Forwarded-Host",
      "X-Forwarded-Proto",
      "x-forwarded-anything",
    ]) {
      const headers = { [name]: "192.0.2.1" };
      const browser = new Browser(api);
      const page = await browser.request("GET", SIGN_IN, headers);
      assert.doesNotMatch(page.text, /example\.com/, name);
      const fields = { ...formsOf(page)[0]?.fields, user_id: str(owner?.id) };
      const skipped = await browser.post(SIGN_IN, fields, browser.origin, headers);
      assert.deepEqual([skipped.status, await isSignedIn(browser)], [400, false], name);
      const second = await sendKey(browser, KEY, { headers });
      const [form] = formsOf(second);
      const choose = { ...form?.fields, user_id: str(owner?.id) };
      const done = await browser.post(SIGN_IN, choose, browser.origin, headers);
      assert.deepEqual([done.status, await isSignedIn(browser)], [303, true], name);
    }
    const near = { "x-forward": "1", "forwarded-for": "1" };
    assert.equal(usersOn(await new Browser(api).request("GET", SIGN_IN, near)).length, 3);
  },
);

choice(
  "5.sign-in.key",
  "a server that others can reach asks for an API key and lists the users of its account only",
  REMOTE,
  async ({ api, service }) => {
    const page = await sendKey(new Browser(api), ` ${OTHER_KEY} `);
    assert.match(assertPage(page), /Second/);
    assert.deepEqual(
      usersOn(page).map(({ label }) => label),
      ["Continue as Ada <b>, ada@example.com", "Continue as nameless@example.com"],
    );
    const { access_token } = await service.signIn({ scopes: ["admin"] });
    for (const wrong of ["no-such-key", "", `${KEY}x`, access_token, "k"]) {
      const browser = new Browser(api);
      const again = await sendKey(browser, wrong);
      assert.match(assertPage(again, 400), /This API key is not valid/);
      assert.deepEqual([usersOn(again), await isSignedIn(browser)], [[], false]);
      assert.ok(wrong.length < 4 || !again.text.includes(wrong), "it is not shown again");
    }
    const outsider = usersOn(page)[0]?.id ?? "";
    const first = new Browser(api);
    const [form] = formsOf(await sendKey(first, KEY));
    assertPage(await first.post(SIGN_IN, { ...form?.fields, user_id: outsider }), 400);
    assert.equal(await isSignedIn(first), false, "a user of another account");
  },
);

choice(
  "5.sign-in.key",
  "the API key is not shown, logged, journaled or stored",
  { ...REMOTE, log: "json" },
  async ({ api, service }) => {
    const browser = new Browser(api);
    const pages: Answer[] = [];
    const printed = await printedOn(process.stdout, async () => {
      const second = await sendKey(browser, KEY);
      pages.push(second, await browser.continueAs(second), await browser.open("/dashboard"));
    });
    assert.ok(printed.some((line) => line.includes(SIGN_IN)));
    const everything = [
      ...printed,
      ...pages.map(({ text, headers }) => text + JSON.stringify(headers)),
      JSON.stringify(service.requests),
      JSON.stringify(await service.snapshot()),
    ];
    for (const text of everything) assert.ok(!text.includes(KEY), text.slice(0, 200));
  },
);

choice(
  "5.sign-in.state",
  "the second step works once and within 5 minutes, while its key exists",
  REMOTE,
  async ({ api, service }) => {
    /** Takes the first step; returns a function that takes the second one. */
    const begin = async (key = KEY) => {
      const browser = new Browser(api);
      const page = await sendKey(browser, key);
      const cookies = new Map(browser.cookies);
      return async () => {
        const other = new Browser(api);
        for (const [name, value] of cookies) other.cookies.set(name, value);
        return (await other.continueAs(page)).status;
      };
    };
    const [once, early, late] = [await begin(), await begin(), await begin()];
    assert.deepEqual([await once(), await once()], [303, 400]);
    const race = await begin();
    const statuses = await Promise.all(Array.from({ length: 10 }, race));
    assert.equal(statuses.filter((status) => status === 303).length, 1, String(statuses));
    await service.clock.advance("299999ms");
    assert.equal(await early(), 303);
    await service.clock.advance("1ms");
    assert.equal(await late(), 400);
    const key = await api.as(KEY).create("/api-keys", { name: "Short-lived" });
    const orphan = await begin(str(key.key));
    await api.as(KEY).delete(`/api-keys/${key.id}`);
    assert.equal(await orphan(), 400);
    const forged = new Browser(api);
    const [form] = formsOf(await sendKey(forged, KEY));
    const [user] = usersOn(await sendKey(new Browser(api), KEY));
    for (const state of ["", "x".repeat(43)])
      assertPage(
        await forged.post(SIGN_IN, { ...form?.fields, state, user_id: str(user?.id) }),
        400,
      );
  },
);

choice(
  "5.sign-in.csrf",
  "both steps are POSTs that need the CSRF token and this server's origin",
  REMOTE,
  async ({ api }) => {
    const browser = new Browser(api);
    const second = await sendKey(browser, KEY);
    const [form] = formsOf(second);
    const user_id = usersOn(second)[0]?.id ?? "";
    const foreign = csrfOf(await new Browser(api).open(SIGN_IN));
    for (const step of [{ api_key: KEY }, { ...form?.fields, user_id }]) {
      const { csrf: _, ...bare } = { csrf: "", ...step };
      for (const [fields, origin] of [
        [bare, browser.origin],
        [{ ...bare, csrf: foreign }, browser.origin],
        [{ ...bare, csrf: str(form?.fields.csrf) }, "https://evil.example"],
      ] as const)
        assertPage(await browser.post(SIGN_IN, fields, origin), 403);
      const query = new URLSearchParams({ ...bare, csrf: str(form?.fields.csrf) });
      const read = await browser.request("GET", `${SIGN_IN}?${query}`);
      assert.deepEqual([read.status, usersOn(read), await isSignedIn(browser)], [200, [], false]);
    }
    assert.equal((await browser.continueAs(second)).status, 303, "the state is still unused");
  },
);

const ELSEWHERE =
  "|dashboard|https://evil.example/|//evil.example|///evil.example|/\\evil.example|javascript:a()|\\/evil.example|" +
  "\\\\evil.example|/\t/evil.example|/\n/evil.example|/.//evil.example| //evil.example|/x/..//evil.example|" +
  "/%2e//evil.example|\u0000//evil.example|//evil.example:99999";
const OWN_PATHS = ["/dashboard/settings?tab=keys", "/oauth/authorize?client_id=cli_1&scope=a%20b"];

choice(
  "5.sign-in.next",
  "a sign-in leads only to paths of this server",
  MANUAL,
  async ({ api }) => {
    const { browser } = await person(api);
    for (const [next = "", target] of [
      ...ELSEWHERE.split("|").map((path) => [path, "/dashboard"]),
      ...OWN_PATHS.map((path) => [path, path]),
      ["/a/../dashboard/apps#part", "/dashboard/apps"],
    ]) {
      const url = `${SIGN_IN}?${new URLSearchParams({ next })}`;
      assert.equal((await browser.request("GET", url)).headers.location, target, next);
      const signedIn = await new Browser(api).signIn("", next);
      assert.equal(signedIn.headers.location, target, next);
    }
  },
);

choice(
  "5.sign-in.next",
  "a sign-in continues at the requested page, through both steps and authorize to consent",
  { ...MANUAL, host: "0.0.0.0" },
  async ({ api, service }) => {
    const app = await register(api);
    const wanted = authorizeUrl(app, { state: "a&b" });
    const browser = new Browser(api);
    const asked = await browser.request("GET", wanted);
    assert.equal(asked.headers.location, `${SIGN_IN}?${new URLSearchParams({ next: wanted })}`);
    const signedIn = await signInWithKey(browser, str(service.apiKey), wanted);
    assert.equal(signedIn.headers.location, wanted);
    const consent = await browser.open(wanted);
    const allowed = await browser.submit(consent, "/oauth/consent", { decision: "allow" });
    assert.equal(returned(allowed).state, "a&b");
    const longest = authorizeUrl(app, { state: "&".repeat(2_000) });
    const [form] = formsOf(await new Browser(api).request("GET", longest));
    assert.equal(form?.fields.next, longest, "also if the address of the sign-in is too long");
  },
);

choice(
  "5.sign-in.session",
  "a local session lasts 12 hours, or until sign-out or the deletion of its user, whatever becomes of API keys",
  MANUAL,
  async ({ api, service }) => {
    const { app, who: first, open } = await scene(api);
    const [second, third] = [await person(api), await person(api)];
    const page = await open();
    const cookie = first.browser.cookies.get(cookieName(api)) ?? "";
    const out = await first.browser.submit(page, "/dashboard/sign-out", {});
    assert.equal(formsOf(out)[0]?.fields.next, authorizeUrl(app), "the next user continues there");
    assert.notEqual(first.browser.cookies.get(cookieName(api)), cookie);
    assert.equal(await isSession(api, cookie), false);
    await api.delete(`/users/${second.id}`);
    assert.equal(await isSignedIn(second.browser), false);
    const key = await api.create("/api-keys", { name: "Unrelated" });
    await api.delete(`/api-keys/${key.id}`);
    await service.clock.advance(`${12 * 3_600_000 - 1}ms`);
    assert.equal(await isSignedIn(third.browser), true);
    await service.clock.advance("1ms");
    assert.equal(await isSignedIn(third.browser), false);
  },
);

choice(
  "5.sign-in.session",
  "deleting an API key ends the sessions that it opened, and no others",
  REMOTE,
  async ({ api, service }) => {
    const account = api.as(KEY);
    const key = await account.create("/api-keys", { name: "Of one person" });
    const [withNewKey, withOldKey] = [new Browser(api), new Browser(api)];
    await signInWithKey(withNewKey, str(key.key));
    await signInWithKey(withOldKey, KEY);
    const signedIn = async () => [await isSignedIn(withNewKey), await isSignedIn(withOldKey)];
    assert.deepEqual(await signedIn(), [true, true]);
    await account.delete(`/api-keys/${key.id}`);
    assert.deepEqual(await signedIn(), [false, true]);
    await service.reset();
    assert.deepEqual(await signedIn(), [false, false], "a reset ends all");
  },
);

choice(
  "5.sign-in.cookie",
  "the session cookie is HttpOnly and SameSite=Lax, and every sign-in sets a new one",
  MANUAL,
  async ({ api }) => {
    const { browser } = await person(api);
    const before = browser.cookies.get(cookieName(api)) ?? "";
    const csrf = csrfOf(await browser.open("/dashboard/apps/new"));
    const user = await api.create("/users", { email: freshAddress() });
    const again = await browser.post(SIGN_IN, { csrf, user_id: user.id });
    const [line = ""] = again.headers["set-cookie"] ?? [];
    assert.match(line, /^apphost_session_\d+=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax$/);
    const after = browser.cookies.get(cookieName(api)) ?? "";
    assert.deepEqual(
      [await isSession(api, after), await isSession(api, after, `x${cookieName(api)}`)],
      [true, false],
    );
    assert.equal(await isSession(api, before), false, "a sign-in ends the previous session");
    const planted = new Browser(api);
    await planted.request("GET", SIGN_IN);
    const foreign = planted.cookies.get(cookieName(api)) ?? "";
    await planted.signIn();
    assert.equal(await isSession(api, foreign), false, "a planted cookie is worthless");
    assert.equal((await browser.request("GET", "/v1/apps")).status, 401, "no key of the API");
  },
);

choice(
  "5.sign-in.cookie",
  "the session cookie over TLS is Secure and has the prefix __Host-",
  async () => {
    const [tlsCert, tlsKey] = [freshFile("cert.pem", TLS.cert), freshFile("key.pem", TLS.key)];
    await using service = await startService({ tlsCert, tlsKey });
    const agent = new Agent({ ca: CA_CERT });
    const api = new Client({ baseUrl: service.baseUrl, key: null, agent });
    assert.match(
      (await api.root.get(SIGN_IN)).header("set-cookie"),
      /^__Host-apphost_session_\d+=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    );
  },
);

choice(
  "5.sign-in.cookie",
  "servers on one host do not sign each other's users out",
  MANUAL,
  async ({ api }) => {
    await using other = await startService();
    const [one, two] = [
      new Browser(api),
      new Browser(new Client({ baseUrl: other.baseUrl, key: other.apiKey })),
    ];
    /** Browsers share one cookie jar for a host, whatever the port. */
    const share = (from: Browser, to: Browser) => {
      for (const [name, value] of from.cookies) to.cookies.set(name, value);
    };
    await one.signIn();
    share(one, two);
    assert.equal(await isSignedIn(two), false);
    await two.signIn();
    share(two, one);
    assert.deepEqual([await isSignedIn(one), await isSignedIn(two)], [true, true]);
    await two.submit(await two.open("/dashboard"), "/dashboard/sign-out", {});
    share(two, one);
    assert.deepEqual([await isSignedIn(one), await isSignedIn(two)], [true, false]);
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
