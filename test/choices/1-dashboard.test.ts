// The account dashboard (spec parts 5 and 6 name it): sign-in, what each user may see and do, and that its actions have
// the same effect as the API's.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { dashboardRoutes } from "../../src/web/dashboard/pages.ts";
import {
  ALL_SCOPES,
  type Answer,
  assertPage,
  attempted,
  B_KEY,
  Browser,
  type Context,
  choice,
  contains,
  csrfOf,
  eventually,
  fill,
  idIn,
  logOf,
  type Members,
  makeWorld,
  multipart,
  owner,
  person,
  problem,
  SIGN_IN,
  secretIn,
  str,
  TWO,
  textOf,
} from "../support/index.ts";

/** An account that no other test changes. */
const ALONE = {} as const;

type Run = (browser: Browser, own: Context) => Promise<unknown>;

/** In a browser in which the owner is signed in. */
const asOwner = (title: string, run: Run) =>
  choice(`1.dashboard: ${title}`, async (own) => run(await owner(own.api), own));
const asOwnerAlone = (title: string, run: Run) =>
  choice(`1.dashboard: ${title}`, ALONE, async (own) => run(await owner(own.api), own));
const KEYS = "/dashboard/settings/api-keys";

choice(
  "1.dashboard: the dashboard asks for a sign-in and then continues to the requested page",
  async ({ api }) => {
    for (const [method, path] of [
      ["GET", "/dashboard/apps?skip=20"],
      ["POST", "/dashboard/apps/new"],
    ] as const) {
      const { headers } = await new Browser(api).request(method, path);
      assert.equal(headers.location, `${SIGN_IN}?${new URLSearchParams({ next: path })}`);
    }
  },
);

asOwner(
  "every dashboard page is complete, loads nothing from elsewhere, and the first one takes at most 30 kB",
  async (browser, { api }) => {
    const ids = await makeWorld(api);
    const pages = dashboardRoutes.filter(({ method }) => method === "GET");
    for (const { path } of pages)
      assert.doesNotMatch(assertPage(await browser.open(fill(path, ids))), /\[object/, path);
    assert.ok(pages.length > 20);
    const page = await browser.request("GET", "/dashboard");
    let bytes = page.bytes.length;
    const assets = [...page.text.matchAll(/(?:href|src)="(\/(?:assets\/|favicon)[^"]*)"/g)];
    assert.ok(assets.length >= 2, String(assets.length));
    for (const [, asset] of assets)
      bytes += (await browser.request("GET", str(asset))).bytes.length;
    assert.ok(bytes < 30_000, String(bytes));
  },
);

asOwner(
  "the dashboard returns 404 for an unknown page, 405 for a wrong method, and supports HEAD",
  async (browser) => {
    for (const path of ["nothing", "apps/app_00000000000000000000000"])
      assertPage(await browser.open(`/dashboard/${path}`), 404);
    const wrong = await browser.post("/dashboard/events", {});
    assertPage(wrong, 405);
    assert.equal(wrong.header("allow"), "GET, HEAD");
    assert.equal((await browser.request("HEAD", "/dashboard/apps")).text, "");
    (await browser.open("/dashboard/")).is(200);
  },
);

asOwnerAlone(
  "an empty account has empty lists, and its last admin cannot be removed",
  async (browser, { api }) => {
    const empty = await browser.open("/dashboard/apps");
    contains(textOf(empty), "No apps yet. Create one… Create app ");
    const [first, ...others] = (await api.get("/users")).items;
    for (const { id } of others) await api.delete(`/users/${str(id)}`);
    const again = await owner(api);
    const [, admin] = (await api.get("/users")).items;
    await api.delete(`/users/${str(first?.id)}`);
    const edit = `/dashboard/users/${str(admin?.id)}/edit`;
    const refused = await again.fillIn(edit, { email: str(admin?.email) });
    contains(assertPage(refused, 409), "last user with the permission admin");
  },
);

choice(
  "1.dashboard: each page requires the permission of the operation that it represents",
  ALONE,
  async ({ api }) => {
    const ids = await makeWorld(api);
    for (const permission of [...ALL_SCOPES, null]) {
      const { browser } = await person(api, permission === null ? [] : [permission]);
      for (const { method, path, operation } of dashboardRoutes) {
        // The form of an action shows its target, so it requires the permission to read that, too.
        const target = dashboardRoutes.find(
          (row) => row.method === method && row.path === path.replace(/\}\/[a-z]+$/, "}"),
        );
        const needed = [operation.scope, target?.operation.scope ?? null];
        const isAllowed = needed.every(
          (scope) => scope === null || permission === "admin" || permission === scope,
        );
        const url = fill(path, ids);
        // A form without its token changes nothing; it gets an error message instead.
        const response =
          method === "GET" ? await browser.request("GET", url) : await browser.post(url, {});
        const text = textOf(response);
        if (method === "POST") response.is(403, path);
        const isDenied = response.status === 403 && text.includes("This requires the permission");
        assert.equal(isDenied, !isAllowed, `${permission} ${method} ${path}: ${response.status}`);
        assert.ok(isAllowed || needed.some((scope) => scope && text.includes(scope)));
      }
    }
  },
);

choice(
  "1.dashboard: the dashboard shows no button for an action that the user may not perform",
  async ({ api }) => {
    const app = await api.newApp();
    const { browser } = await person(api, ["read:apps"]);
    const page = await browser.open(`/dashboard/apps/${app.id}`);
    contains(assertPage(page), "requires the permission read:data");
    assert.doesNotMatch(page.text, /\/(edit|deploy|delete|new\?app_id=\w+)"/);
    assert.doesNotMatch((await browser.open("/dashboard/apps")).text, /apps\/new/);
    contains((await (await owner(api)).open("/dashboard/apps")).text, "apps/new");
    contains(
      textOf(await (await person(api, [])).browser.open("/dashboard")),
      "has no permissions",
    );
  },
);

choice(
  "1.dashboard: the dashboard does not show another account's resources",
  TWO,
  async ({ api }) => {
    const ids = await makeWorld(api.as(B_KEY));
    const browser = await owner(api);
    const fields = { csrf: csrfOf(await browser.open("/dashboard/apps/new")), type: "app.created" };
    const rows = dashboardRoutes.filter(({ path }) => path.includes("{"));
    for (const { method, path } of rows) {
      const address = fill(path, ids);
      const answer = await (method === "GET"
        ? browser.open(address)
        : browser.post(address, fields));
      answer.is(404, `${method} ${path}`);
    }
    assert.ok(rows.length > 15, String(rows.length));
  },
);

asOwnerAlone(
  "the dashboard shows a limited account read-only, and a suspended one not at all",
  async (browser, { api, service }) => {
    contains((await browser.open("/dashboard/apps")).text, "Create app");
    await service.setAccountState("limited");
    assert.doesNotMatch((await browser.open("/dashboard/apps")).text, /Create app/);
    const page = await browser.open("/dashboard/apps/new");
    contains(textOf(page), "This account is limited");
    assertPage(
      await browser.submit(page, "/dashboard/apps/new", { title: "No", theme: "light" }),
      403,
    );
    await service.setAccountState("suspended");
    const suspended = assertPage(await browser.open("/dashboard"), 403);
    contains(suspended, "The account is suspended…Sign out");
    assert.doesNotMatch(suspended, /Your API|Latest events/);
    await service.setAccountState("active");
    assert.equal((await api.get("/apps")).json.total, 0);
  },
);

asOwner(
  "an app can be created, updated, deployed and deleted by forms",
  async (browser, { api }) => {
    const title = `App ${randomUUID()}`;
    const filled = { title, description: "One\r\ntwo", theme: "dark", public: "on" };
    const created = await browser.fillIn("/dashboard/apps/new", filled);
    contains(textOf(created), "Done.");
    const app = `/apps/${idIn(created, "app")}`;
    const path = `/dashboard${app}`;
    const fields = async () => {
      const { json } = await api.get(app);
      return [json.title, json.description, json.theme, json.public];
    };
    assert.deepEqual(await fields(), [title, "One\ntwo", "dark", true]);
    const { text } = await browser.open(path);
    contains(text, `href="${path}/delete"`);
    const edit = await browser.open(`${path}/edit`);
    assert.match(edit.text, /<textarea[^>]*>\nOne\ntwo<\/textarea>/);
    const emptied = await browser.submit(edit, `${path}/edit`, { title: "", theme: "light" });
    contains(assertPage(emptied, 422), "Title It must have");
    await browser.submit(edit, `${path}/edit`, { title: "Other", theme: "light" });
    assert.deepEqual(await fields(), ["Other", "", "light", false]);
    const wrong = { name: "", environment: "No!", custom_domain: "x" };
    const refused = await browser.fillIn(`${path}/deploy`, wrong);
    assertPage(refused, 422);
    for (const field of Object.keys(wrong)) contains(refused.text, `id="${field}-error"`);
    contains(refused.text, 'value="No!"');
    const deployed = await browser.fillIn(`${path}/deploy`, {
      name: "R1",
      environment: "production",
    });
    contains(textOf(deployed), "Done.");
    assert.equal((await api.get(`${app}/deployments`)).items[0]?.status, "live");
    contains(textOf(await browser.open(`${path}/delete`)), "deletes its deployments too");
    contains(textOf(await browser.fillIn(`${path}/delete`)), "Done.");
    problem(await api.get(app), "not_found");
  },
);

/** Creates a resource by its form; returns the page that shows its one-time value, that value and the id. */
async function makes(
  browser: Browser,
  path: string,
  prefix: string,
  fields: Readonly<Record<string, string>>,
) {
  const page = await browser.fillIn(`${path}/new`, fields);
  assertPage(page, 201);
  return { page, secret: secretIn(page), id: idIn(page, prefix) };
}

asOwner(
  "the dashboard shows a new API key once, and the key works until it is revoked",
  async (browser, { api }) => {
    const { page, secret, id } = await makes(browser, KEYS, "key", { name: "Build server" });
    assert.match(secret, /^ahs_[\w-]{43}$/);
    assert.match(page.text, /<button [^>]*data-copy hidden>/, "shown by the script alone");
    (await api.as(secret).get("/apps")).is(200);
    const later = await browser.open(KEYS);
    assert.deepEqual(
      [later.text.includes(secret), later.text.includes(secret.slice(-4))],
      [false, true],
    );
    contains(textOf(await browser.fillIn(`${KEYS}/${id}/delete`)), "Done.");
    problem(await api.as(secret).get("/apps"), "invalid_credential");
    assertPage(await browser.fillIn(`${KEYS}/new`, { name: " " }), 422);
  },
);

asOwner(
  "data can be uploaded or pasted, and the page shows the parsed rows or the validation issues",
  async (browser, { api }) => {
    const csrf = csrfOf(await browser.open("/dashboard/data-sources/new"));
    const upload = async (
      fields: Record<string, string>,
      sent = (body: string): string | Buffer => body,
    ) => {
      const { body, type } = await multipart({ csrf, name: "N", ...fields });
      const headers = { "content-type": type, origin: browser.origin };
      return browser.request("POST", "/dashboard/data-sources/new", headers, sent(body));
    };
    const shows = async (answer: Answer, words: string) => {
      const page = await eventually(async () => {
        const now = await browser.open(answer.header("location"));
        return /Status<\/dt><dd><span class="badge processing"/.test(now.text) ? undefined : now;
      });
      contains(assertPage(page), words);
    };
    const csv = 'town,people\r\n"<Łódź>\r\n",670\r\n';
    const made = await upload({ type: "csv", app_id: "", "data-text": "", data: csv });
    await shows(made, "<Łódź> 670");
    const id = /ds_\w+/.exec(made.header("location"));
    const rows = await api.get(`/data-sources/${id}/rows`);
    assert.equal(rows.items[0]?.town, "<Łódź>\r\n", "a file stays as it is");
    await shows(await upload({ type: "json", "data-text": '[{"a":1}]', data: "" }), "a number 1 ");
    const failed = await upload({ type: "csv", data: "a,b\r\n1\r\n" });
    await shows(failed, "The data could not be read: Line 2… Status Failed … Error Line 2");
    for (const [type, data] of Object.entries({ json: "[", csv: "", xml: "x" })) {
      const refused = await upload({ type, data });
      assertPage(refused, 422);
      contains(refused.text, 'class="error"');
    }
    const notUtf8 = (body: string) => Buffer.from(body.replace("<1>", "\xff"), "latin1");
    assertPage(await upload({ type: "csv", data: "a\r\n<1>" }, notUtf8), 415);
    const where = made.header("location").replace(/\?.*/, "");
    await browser.fillIn(`${where}/delete`);
    assertPage(await browser.open(where), 404);
  },
);

asOwner(
  "OAuth apps are registered with a secret shown once, and can be deleted",
  async (browser, { api }) => {
    const path = "/dashboard/settings/oauth-apps";
    const redirect_uris = "https://a.example/cb\r\n\r\n https://b.example/cb ";
    const { page, secret, id } = await makes(browser, path, "cli", {
      name: "Mailer",
      redirect_uris,
      "scopes.read:apps": "on",
      "scopes.admin": "on",
    });
    assert.match(secret, /^[\w-]{43}$/);
    assert.match(textOf(page), new RegExp(`${secret} ID: ${id} `), "an app needs both");
    const { json } = await api.get(`/oauth-clients/${id}`);
    assert.deepEqual(
      [json.redirect_uris, json.scopes],
      [
        ["https://a.example/cb", "https://b.example/cb"],
        ["read:apps", "admin"],
      ],
    );
    const open = { name: "Open", redirect_uris, "scopes.admin": "on", public: "on" };
    const withoutSecret = await browser.fillIn(`${path}/new`, open);
    contains(assertPage(withoutSecret), "Done. … Open ");
    const refused = await browser.fillIn(`${path}/new`, { name: "N", redirect_uris: "ftp://x" });
    contains(assertPage(refused, 422), "Entry 1 must be a URL");
    await browser.fillIn(`${path}/${id}/delete`);
    problem(await api.get(`/oauth-clients/${id}`), "not_found");
  },
);

asOwner(
  "an event links to the request that caused it and to its deliveries",
  async (browser, { api }) => {
    const hook = await api.newWebhook();
    const caused = await api.post("/apps", { title: "Caused" });
    const id = str((await api.get("/events?type=app.created&limit=100")).items.at(-1)?.id);
    await attempted(api, hook);
    const page = await browser.open(`/dashboard/events/${id}`);
    const text = assertPage(page);
    contains(text, `Request: ${caused.header("x-request-id")} … ${id}`);
    contains(text, "Delivery Status Attempts …http://127.0.0.1:9/ Retrying refused 1 20");
    const log = `/dashboard/settings/webhooks/${hook.id}/deliveries`;
    contains(page.text, log);
    const open = async (delivery: Members) => (await browser.open(`${log}/${delivery.id}`)).text;
    const [delivery = {}] = await logOf(api, hook);
    const delivered = await open(delivery);
    contains(delivered, `href="/dashboard/events/${id}"`);
    contains(delivered, "<h1>Delivery of app.created</h1>");
    const sample = await api.post(`/webhooks/${hook.id}/test`, { type: "app.created" });
    const test = await open(sample.json);
    assert.ok(!test.includes("events/evt_"), "the event of a test has no page");
    contains(text, '"object": { "id": "app_…", "title": "Caused"');
    contains((await browser.open("/dashboard/events?type=app.created")).text, id);
    await api.delete(`/webhooks/${hook.id}`);
    contains((await browser.open(`/dashboard/events/${id}`)).text, "<td>Deleted webhook<td");
  },
);

asOwnerAlone("lists show the newest entry first and are paged", async (browser, { api }) => {
  for (let n = 1; n <= 21; n += 1) await api.newApp({ title: `Number ${n}.` });
  const first = await browser.open("/dashboard/apps");
  contains(textOf(first), "Number 21.…Number 2.…1 to 20 of 21, newest first Older ");
  assert.ok(!first.text.includes("Number 1."));
  const last = textOf(await browser.open("/dashboard/apps?skip=20"));
  contains(last, "Number 1. …21 to 21 of 21, newest first Newer ");
  for (const skip of ["999", "x"])
    contains(textOf(await browser.open(`/dashboard/apps?skip=${skip}`)), "1 to 20 of 21");
  const filtered = await browser.open("/dashboard/events?type=app.created");
  contains(textOf(filtered), " All app.created app.updated … 1 to 20 of 21");
  contains(filtered.text, 'events?type=app.created&amp;skip=20"');
});

asOwnerAlone(
  "lists show what people look for: visibility, live deployment, status and last delivery",
  async (browser, { api, service }) => {
    const { id: app_id } = await api.newApp({ title: "Sales", public: true });
    const hook = await api.newWebhook({ events: ["app.deployed"] });
    const retired = await api.deploy(app_id, { name: "First" });
    const { id } = await api.deploy(app_id, { name: "Second" });
    await api.create("/data-sources", { name: "Rows", type: "json", data: [{ a: 1 }], app_id });
    await service.settled();
    const lists = async (path: string, text: string) =>
      contains(textOf(await browser.open(`/dashboard/${path}`)), text);
    await lists("apps", "Title Visibility Live deployment Updated Sales Public Second 20");
    contains((await browser.open("/dashboard/apps")).text, `/sites/${id}/`);
    await lists(`apps/${app_id}/deployments/${id}`, " Second Open ");
    await lists(`apps/${app_id}/deployments/${retired.id}`, " First Details ");
    const webhooks = "settings/webhooks";
    await lists(
      webhooks,
      "URL Events Status Last delivery http://127.0.0.1:9/ app.deployed Active Retrying 20",
    );
    await lists("data-sources", "Rows Sales 1 Ready 20");
    await lists("events", "app.deployed Sales 1 Retrying 20… app.created Sales None 20");
    await api.patch(`/webhooks/${hook.id}`, { active: false });
    await service.settled();
    await lists(webhooks, " Disabled Cancelled 20");
    await lists("users", "Name Email Permissions Created");
    await lists("settings/api-keys", "Name Last four Created Last used Start-up key");
  },
);

asOwnerAlone(
  "the first page offers the next steps of a new account, then its newest records, and a request to paste",
  async (browser, { api, baseUrl }) => {
    const empty = textOf(await browser.open("/dashboard"));
    contains(empty, "No apps yet…No data yet…No webhooks yet…No events yet. Create an app to see");
    contains(empty, `curl "${baseUrl}/apps" -H "Authorization: Bearer $API_KEY"`);
    await api.newApp({ title: "Counted" });
    const first = await browser.open("/dashboard");
    contains(first.text, '<h2><a href="/dashboard/settings/webhooks">Webhooks</a></h2>');
    const page = textOf(first);
    contains(page, " Counted Private None …No data yet…app.created Counted");
    assert.doesNotMatch(page, / All app/);
    const { text } = await browser.open("/dashboard/apps");
    contains(text, '<a href="/dashboard/apps" aria-current="page">Apps</a>');
  },
);

asOwner(
  "a filter without a match says so, and every empty list offers its next action",
  async (browser, { api }) => {
    const app = `/dashboard/apps/${(await api.newApp()).id}`;
    const hook = `/dashboard/settings/webhooks/${(await api.newWebhook()).id}`;
    for (const [path, words, action] of [
      [app, "Not deployed yet. … Deploy ", `${app}/deploy`],
      [hook, "No deliveries yet. Send a test event to see one.", `${hook}/test`],
      [`${hook}?status=failed`, "None here. Choose another filter.", `${hook}/test`],
    ] as const) {
      const page = await browser.open(path);
      contains(assertPage(page), words);
      const isOffered = page.text.includes(`href="${action}" class="button"`);
      assert.notEqual(isOffered, path.includes("?"), path);
    }
  },
);
