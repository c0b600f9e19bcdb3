// Signing in to the dashboard and for consent: the list of users on a local server, the API key elsewhere, and the
// session that follows.
import assert from "node:assert/strict";
import {
  type Answer,
  assertPage,
  authorizeUrl,
  Browser,
  type Client,
  choice,
  contains,
  csrfOf,
  embedded,
  formsOf,
  MANUAL,
  person,
  printedOn,
  register,
  returned,
  type SentHeaders,
  SIGN_IN,
  scene,
  str,
  usersOn,
} from "../support/index.ts";

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

const isSignedIn = async (browser: Browser) =>
  (await browser.request("GET", SIGN_IN)).headers.location === "/dashboard";

/** The session cookie's name contains the port, because several servers may share a host. */
const cookieName = (api: Client) => `apphost_session_${new URL(api.baseUrl).port}`;

/** Returns true if this cookie is that of a session. */
async function isSession(api: Client, cookie = "") {
  const browser = new Browser(api);
  browser.cookies.set(cookieName(api), cookie);
  return isSignedIn(browser);
}

/** Sends the API key; returns the page of the second step. */
async function sendKey(
  browser: Browser,
  api_key: string,
  next = "/dashboard",
  headers: SentHeaders = {},
) {
  const page = await browser.request("GET", `${SIGN_IN}?${new URLSearchParams({ next })}`, headers);
  contains(page.text, '<label for="api_key">API key<');
  assert.deepEqual(usersOn(page), [], "no user is listed before the key is known");
  return browser.post(SIGN_IN, { ...formsOf(page)[0]?.fields, api_key }, browser.origin, headers);
}

choice(
  "5.sign-in: a local server lists the users of every account with one button each",
  TWO_ACCOUNTS,
  async ({ api }) => {
    const page = await new Browser(api).open(SIGN_IN);
    contains(assertPage(page), "Sign in First … Second ");
    const labels = usersOn(page).map(({ label }) => label);
    assert.deepEqual(labels, [
      "Continue as Owner, owner@example.com",
      "Continue as Ada <b>, ada@example.com",
      "Continue as nameless@example.com",
    ]);
    const ada = new Browser(api);
    await ada.continueAs(page, "ada@example.com");
    contains((await ada.open("/dashboard")).text, "ada@example.com");
    for (const fields of [{ user_id: "usr_unknown" }, { api_key: KEY }]) {
      const browser = new Browser(api);
      assertPage(await browser.fillIn(SIGN_IN, fields), 400);
      assert.equal(await isSignedIn(browser), false);
    }
  },
);

choice(
  "5.sign-in.proxy: a request that came through a proxy needs an API key, even on a local server",
  TWO_ACCOUNTS,
  async ({ api }) => {
    const user_id = str(usersOn(await new Browser(api).open(SIGN_IN))[0]?.id);
    for (const name of ["Forwarded", "Via", "X-Real-IP", "X-Forwarded-For", "x-forwarded-host"]) {
      const headers = { [name]: "192.0.2.1" };
      const browser = new Browser(api);
      const choose = (page: Answer) =>
        browser.post(SIGN_IN, { ...formsOf(page)[0]?.fields, user_id }, browser.origin, headers);
      assert.equal(
        (await choose(await browser.request("GET", SIGN_IN, headers))).status,
        400,
        name,
      );
      (await choose(await sendKey(browser, KEY, "/", headers))).is(303, name);
    }
  },
);

choice(
  "5.sign-in.key: a server that others can reach asks for an API key and lists the users of its account only",
  REMOTE,
  async ({ api, service }) => {
    const page = await sendKey(new Browser(api), ` ${OTHER_KEY} `);
    const labels = usersOn(page).map(({ label }) => label);
    assert.deepEqual(labels, [
      "Continue as Ada <b>, ada@example.com",
      "Continue as nameless@example.com",
    ]);
    const { access_token } = await service.signIn({ scopes: ["admin"] });
    for (const wrong of ["", `${KEY}x`, access_token]) {
      const browser = new Browser(api);
      const again = await sendKey(browser, wrong);
      contains(assertPage(again, 400), "This API key is not valid");
      assert.deepEqual([usersOn(again), await isSignedIn(browser)], [[], false]);
    }
    const first = new Browser(api);
    const [form] = formsOf(await sendKey(first, KEY));
    const outsider = { ...form?.fields, user_id: str(usersOn(page)[0]?.id) };
    assertPage(await first.post(SIGN_IN, outsider), 400);
    assert.equal(await isSignedIn(first), false, "a user of another account");
  },
);

choice(
  "5.sign-in.key: the API key is not shown, logged, journaled or stored",
  { ...REMOTE, log: "json" },
  async ({ api, service }) => {
    const browser = new Browser(api);
    const pages: Answer[] = [];
    const printed = await printedOn(process.stdout, async () => {
      const second = await sendKey(browser, KEY);
      pages.push(
        second,
        await browser.continueAs(second),
        await sendKey(new Browser(api), `${KEY}x`),
      );
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
  "5.sign-in.state: the second step works once and within 5 minutes, while its key exists",
  REMOTE,
  async ({ api, service }) => {
    /** Takes the first step; returns a function that takes the second one. */
    const begin = async (key = KEY) => {
      const browser = new Browser(api);
      const page = await sendKey(browser, key);
      return async () => (await browser.continueAs(page)).status;
    };
    const [early, late] = [await begin(), await begin()];
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
  },
);

choice(
  "5.sign-in.csrf: both steps are POSTs that need the CSRF token and this server's origin",
  REMOTE,
  async ({ api }) => {
    const browser = new Browser(api);
    const second = await sendKey(browser, KEY);
    const [form] = formsOf(second);
    for (const step of [{ api_key: KEY }, { user_id: str(usersOn(second)[0]?.id) }]) {
      const fields = { ...form?.fields, ...step };
      assertPage(await browser.post(SIGN_IN, { ...fields, csrf: "x" }), 403);
      assertPage(await browser.post(SIGN_IN, fields, "https://evil.example"), 403);
      await browser.request("GET", `${SIGN_IN}?${new URLSearchParams(fields)}`);
      assert.equal(await isSignedIn(browser), false);
    }
    (await browser.continueAs(second)).is(303, "the state is still unused");
  },
);

const FOREIGN =
  " https://evil.example/ //evil.example /\\evil.example javascript:a() /\t/evil.example /.//evil.example /%2e//evil.example //evil.example:99999";

choice("5.sign-in.next: a sign-in leads only to paths of this server", async ({ api }) => {
  const { browser } = await person(api);
  const consent = "/oauth/authorize?client_id=cli_1&scope=a%20b";
  for (const [next, target] of [
    ...FOREIGN.split(" ").map((next) => [next, "/dashboard"] as const),
    ["/a/../dashboard/apps#part", "/dashboard/apps"],
    [consent, consent],
  ] as const) {
    const url = `${SIGN_IN}?${new URLSearchParams({ next })}`;
    assert.equal((await browser.request("GET", url)).headers.location, target, next);
    const signedIn = await new Browser(api).signIn("", next);
    assert.equal(signedIn.headers.location, target, next);
  }
});

choice(
  "5.sign-in.next: a sign-in continues at the requested page, through both steps and authorize to consent",
  { ...MANUAL, host: "0.0.0.0" },
  async ({ api, service }) => {
    const app = await register(api);
    const wanted = authorizeUrl(app, { state: "a&b" });
    const browser = new Browser(api);
    const [form] = formsOf(await browser.open(wanted));
    assert.equal(form?.fields.next, wanted);
    const signedIn = await browser.continueAs(await sendKey(browser, str(service.apiKey), wanted));
    assert.equal(signedIn.headers.location, wanted);
    const consent = await browser.open(wanted);
    const allowed = await browser.submit(consent, "/oauth/consent", { decision: "allow" });
    assert.equal(returned(allowed).state, "a&b");
  },
);

choice(
  "5.sign-in.session: a local session lasts 12 hours, or until sign-out or the deletion of its user",
  MANUAL,
  async ({ api, service }) => {
    const { app, who: first, open } = await scene(api);
    const [second, third] = [await person(api), await person(api)];
    const cookie = first.browser.cookies.get(cookieName(api));
    const out = await first.browser.submit(await open(), "/dashboard/sign-out", {});
    assert.equal(formsOf(out)[0]?.fields.next, authorizeUrl(app), "the next user continues there");
    assert.equal(await isSession(api, cookie), false);
    await api.delete(`/users/${second.id}`);
    assert.equal(await isSignedIn(second.browser), false);
    await service.clock.advance(`${12 * 3_600_000 - 1}ms`);
    assert.equal(await isSignedIn(third.browser), true);
    await service.clock.advance("1ms");
    assert.equal(await isSignedIn(third.browser), false);
  },
);

choice(
  "5.sign-in.session: deleting an API key ends the sessions that it opened, and no others",
  REMOTE,
  async ({ api, service }) => {
    const account = api.as(KEY);
    const { id, key } = await account.create("/api-keys", { name: "Of one person" });
    const [withNewKey, withOldKey] = [new Browser(api), new Browser(api)];
    await withNewKey.continueAs(await sendKey(withNewKey, str(key)));
    await withOldKey.continueAs(await sendKey(withOldKey, KEY));
    assert.equal(await isSignedIn(withNewKey), true);
    await account.delete(`/api-keys/${id}`);
    assert.deepEqual([await isSignedIn(withNewKey), await isSignedIn(withOldKey)], [false, true]);
    await service.reset();
    assert.equal(await isSignedIn(withOldKey), false);
  },
);

choice(
  "5.sign-in.cookie: every sign-in sets a new cookie and ends the previous session, and no cookie opens the API",
  async ({ api }) => {
    const browser = new Browser(api);
    const page = await browser.request("GET", SIGN_IN);
    const planted = browser.cookies.get(cookieName(api));
    await browser.continueAs(page);
    assert.equal(await isSession(api, planted), false, "a planted cookie is worthless");
    const before = browser.cookies.get(cookieName(api));
    const csrf = csrfOf(await browser.open("/dashboard/apps/new"));
    await browser.post(SIGN_IN, { csrf, user_id: str(usersOn(page)[0]?.id) });
    assert.deepEqual([await isSession(api, before), await isSignedIn(browser)], [false, true]);
    (await browser.request("GET", "/v1/apps")).is(401);
  },
);

choice(
  "5.sign-in.cookie: the cookie is Secure over https, and its port is that of the Host header, or else of the scheme",
  async () => {
    const SECURE = "; Secure";
    for (const [publicUrl, host, name, secure] of [
      [undefined, "[::1]:8443", "apphost_session_8443", ""],
      [undefined, "app.localhost", "apphost_session_80", ""],
      ["https://apps.example.com", "app.localhost", "__Host-apphost_session_443", SECURE],
      ["https://apps.example.com", "[::1]:8443", "__Host-apphost_session_8443", SECURE],
    ] as const) {
      await using own = await embedded(publicUrl === undefined ? {} : { publicUrl });
      const cookie = (await own.api.anyone.get(SIGN_IN, { host })).header("set-cookie");
      const [start = "", ...attributes] = cookie.split("=");
      assert.equal(start, name, host);
      assert.match(
        attributes.join("="),
        new RegExp(`^[\\w-]{43}; Path=/; HttpOnly; SameSite=Lax${secure}$`),
      );
    }
  },
);
