// The account dashboard (spec parts 5 and 6 name it): who gets in, what each user sees and may do there, and that what is
// done there is the same as through the API.
import assert from "node:assert/strict";
import { dashboardRows } from "../../src/web/dashboard/dashboard.ts";
import { Browser, formsOf } from "../support/browser.ts";
import { choice } from "../support/clauses.ts";
import { type Client, str } from "../support/client.ts";
import { assertPage, csrfOf, multipart, owner, textOf } from "../support/dashboard.ts";
import { fresh } from "../support/fresh.ts";
import { ALL_SCOPES, person } from "../support/oauth.ts";
import { eventually } from "../support/wait.ts";
import { fill, makeWorld } from "../support/world.ts";

const OWN = { needs: "embedded" } as const;

let made: ReturnType<typeof makeWorld> | undefined;
/** One of everything in the account that the tests of this file share. */
function world(api: Client): ReturnType<typeof makeWorld> {
  made ??= makeWorld(api);
  return made;
}

choice("1.dashboard", "asks for a sign-in first and then goes on where one wanted to be", OWN, async ({ api }) => {
  const browser = new Browser(api);
  const asked = await browser.request("GET", "/dashboard/apps?skip=20");
  assert.equal(asked.status, 303);
  assert.equal(asked.headers.location, "/dashboard/sign-in?next=%2Fdashboard%2Fapps%3Fskip%3D20");
  const posted = await browser.post("/dashboard/apps", { title: "x" });
  assert.equal(posted.headers.location, "/dashboard/sign-in?next=%2Fdashboard");
});

choice("1.dashboard", "every page is whole and keeps to itself", OWN, async ({ api }) => {
  const ids = await world(api);
  const browser = await owner(api);
  const pages = dashboardRows.filter(({ method }) => method === "GET");
  for (const { path } of pages) assertPage(await browser.open(fill(path, ids)));
  assert.ok(pages.length > 20);
});

choice("1.dashboard", "nothing there says that it is missing, and what does", OWN, async ({ api }) => {
  const browser = await owner(api);
  assertPage(await browser.open("/dashboard/nothing"), 404);
  assertPage(await browser.open("/dashboard/apps/app_00000000000000000000000"), 404);
  const wrong = await browser.post("/dashboard/events", {});
  assertPage(wrong, 405);
  assert.equal(wrong.header("allow"), "GET, HEAD, OPTIONS");
  assert.equal((await browser.request("HEAD", "/dashboard/apps")).text, "");
  assert.equal((await browser.open("/dashboard/")).status, 200);
});

const EMPTY = /no apps yet|no data yet|nothing has happened yet|no webhooks yet|no oauth apps yet/i;

choice("1.dashboard", "an empty account is told what to do next", { ...OWN, options: {} }, async ({ api }) => {
  const browser = await owner(api);
  for (const part of ["apps", "data-sources", "events", "settings/webhooks", "settings/oauth-apps"])
    assert.match(textOf(await browser.open(`/dashboard/${part}`)), EMPTY, part);
  assert.match(textOf(await browser.open("/dashboard")), /Create app/);
});

choice("1.dashboard", "the first request stands there until there is an app", { ...OWN, options: {} }, async (it) => {
  const { api, baseUrl } = it;
  const browser = await owner(api);
  const reader = (await person(api, ["read:apps"])).browser;
  const isShown = async (who: Browser) =>
    textOf(await who.open("/dashboard")).includes(`curl -X POST "${baseUrl}/apps"`);
  assert.deepEqual([await isShown(browser), await isShown(reader)], [true, false], "to whoever may make one");
  await api.create("/apps", { title: "First" });
  assert.equal(await isShown(browser), false);
});

/** The permission that the API takes for the operation behind a page. */
async function scopesOf(root: Client): Promise<ReadonlyMap<string, string>> {
  const { paths } = (await root.get("/openapi.json")).json;
  const found = new Map<string, string>();
  for (const item of Object.values(Object(paths)))
    for (const operation of Object.values(Object(item))) {
      const { operationId, security } = Object(operation);
      const scopes = Object(Object(security)[1]).oauth;
      found.set(str(operationId), Array.isArray(scopes) ? String(scopes[0]) : "");
    }
  return found;
}

choice("1.dashboard", "each page takes the permission of the operation that it stands for", OWN, async ({ api }) => {
  const ids = await world(api);
  const scopes = await scopesOf(api.root.as(null));
  for (const held of [...ALL_SCOPES, null]) {
    const { browser } = await person(api, held === null ? [] : [held]);
    for (const { method, path, operation } of dashboardRows) {
      // The form of a change shows what there is, so it takes the permission to read that, too.
      const read = dashboardRows.find((row) => row.method === method && `${row.path}/edit` === path);
      const needed = [operation, read?.operation].flatMap((name) => (name ? [scopes.get(name)] : []));
      const may = needed.every((scope) => held === "admin" || held === scope);
      const address = fill(path, ids);
      // Without its token a form changes nothing, and whoever may send one is told so instead.
      const answer = method === "GET" ? await browser.request("GET", address) : await browser.post(address, {});
      const refused = answer.status === 403 && answer.text.includes("needs the scope");
      assert.equal(refused, !may, `${held} ${method} ${path}: ${answer.status}`);
      if (refused)
        assert.ok(
          needed.some((scope) => textOf(answer).includes(String(scope))),
          "it says which permission",
        );
    }
  }
});

choice("1.dashboard", "what a user may not do has no button", OWN, async ({ api }) => {
  const app = await api.create("/apps", { title: "Shown" });
  const { browser } = await person(api, ["read:apps"]);
  const page = await browser.open(`/dashboard/apps/${app.id}`);
  assertPage(page);
  assert.doesNotMatch(page.text, /\/(edit|deploy|delete)"/);
  assert.match(textOf(page), /takes the permission read:data/);
  assert.match(textOf(await (await person(api, [])).browser.open("/dashboard")), /has no permissions/);
});

const OTHER_KEY = "key-of-another-account";
const TWO = { seed: { accounts: [{ name: "Mine" }, { name: "Other", api_keys: [{ name: "k", key: OTHER_KEY }] }] } };

choice("1.dashboard", "another account's things are not there", { ...OWN, options: TWO }, async ({ api }) => {
  const ids = await makeWorld(api.as(OTHER_KEY));
  const browser = await owner(api);
  const csrf = csrfOf(await browser.open("/dashboard/apps/new"));
  const rows = dashboardRows.filter(({ path }) => path.includes("{"));
  for (const { method, path } of rows) {
    const answer = await (method === "GET"
      ? browser.open(fill(path, ids))
      : browser.post(fill(path, ids), { csrf, type: "app.created" }));
    assert.equal(answer.status, 404, `${method} ${path}`);
  }
  assert.ok(rows.length > 15, String(rows.length));
});

choice(
  "1.dashboard",
  "a limited account is shown but not changed, a suspended one not shown",
  { ...OWN, options: {} },
  async ({ api, service }) => {
    const browser = await owner(api);
    await service.setAccountState("limited");
    const page = await browser.open("/dashboard/apps/new");
    assert.match(textOf(page), /This account is limited/);
    const refused = await browser.submit(page, "/dashboard/apps", { title: "No", theme: "light" });
    assertPage(refused, 403);
    await service.setAccountState("suspended");
    const suspended = await browser.open("/dashboard");
    assertPage(suspended, 403);
    assert.match(textOf(suspended), /The account is suspended/);
    assert.doesNotMatch(textOf(suspended), /Your API|Latest events/);
    assert.match(suspended.text, /Sign out/);
    await service.setAccountState("active");
    assert.equal((await api.get("/apps")).json.total, 0);
  },
);

choice("1.dashboard", "a form that is not our own changes nothing", OWN, async ({ api }) => {
  const ids = await world(api);
  const browser = await owner(api);
  const csrf = csrfOf(await browser.open("/dashboard/apps/new"));
  const before = await api.get("/events?limit=1");
  for (const { path } of dashboardRows.filter(({ method }) => method === "POST")) {
    const address = fill(path, ids);
    assert.equal((await browser.post(address, { title: "x" })).status, 403, `${path} without a token`);
    assert.equal((await browser.post(address, { csrf }, "https://evil.example")).status, 403, `${path} from elsewhere`);
    assert.equal((await browser.post(address, { csrf: csrf.replace(/^./, "x") })).status, 403, `${path} with another`);
  }
  assert.equal((await api.get("/events?limit=1")).json.total, before.json.total);
  assert.equal((await api.get(`/apps/${ids.app_id}`)).status, 200);
});

choice("1.dashboard", "an app is made, changed, deployed and deleted", OWN, async ({ api }) => {
  const browser = await owner(api);
  const title = `App ${fresh()}`;
  const filled = { title, description: "One\r\ntwo", theme: "dark", public: "on" };
  const made = await browser.submit(await browser.open("/dashboard/apps/new"), "/dashboard/apps", filled);
  assert.match(textOf(made), /Created\./);
  const id = /app_[0-9A-Za-z]{23}/.exec(made.text)?.[0] ?? "";
  const { title: kept, description, theme, public: shared } = (await api.get(`/apps/${id}`)).json;
  assert.deepEqual([kept, description, theme, shared], [title, "One\ntwo", "dark", true]);
  const path = `/dashboard/apps/${id}`;
  const edit = await browser.open(`${path}/edit`);
  assert.match(edit.text, /<textarea[^>]*>\nOne\ntwo<\/textarea>/, "what is there stands in the form");
  await browser.submit(edit, `${path}/edit`, { title: "Other", theme: "light" });
  assert.deepEqual(
    [(await api.get(`/apps/${id}`)).json].map((app) => [app.title, app.description, app.public]),
    [["Other", "", false]],
  );
  const page = await browser.open(path);
  const refused = await browser.submit(page, `${path}/deploy`, { name: "", environment: "No!", custom_domain: "x" });
  assertPage(refused, 422);
  for (const field of ["name", "environment", "custom_domain"]) assert.ok(refused.text.includes(`id="${field}-fault"`));
  assert.match(refused.text, /value="No!"/, "what was typed is still there");
  const deployed = await browser.submit(page, `${path}/deploy`, { name: "R1", environment: "production" });
  assert.match(textOf(deployed), /It is live now/);
  assert.equal((await api.get(`/apps/${id}/deployments`)).items[0]?.status, "live");
  assert.match(textOf(await browser.submit(await browser.open(path), `${path}/delete`, {})), /Deleted\./);
  assert.equal((await api.get(`/apps/${id}`)).status, 404);
});

choice(
  "1.dashboard",
  "Settings, API Keys: a new key is shown once and works until it is revoked",
  OWN,
  async ({ api }) => {
    const browser = await owner(api);
    const path = "/dashboard/settings/api-keys";
    const page = await browser.open(`${path}/new`);
    const made = await browser.submit(page, path, { name: "Build server" });
    assertPage(made, 201);
    const key = /<code class="secret" id="secret">(ahs_[\w-]{43})<\/code>/.exec(made.text)?.[1] ?? "";
    assert.equal((await api.as(key).get("/apps")).status, 200);
    const later = await browser.open(path);
    assert.ok(!later.text.includes(key), "not shown again");
    assert.ok(later.text.includes(key.slice(-4)));
    const { id } = (await api.get("/api-keys?limit=100")).items.find(({ name }) => name === "Build server") ?? {};
    const own = `${path}/${str(id)}`;
    assert.match(textOf(await browser.submit(await browser.open(own), `${own}/delete`, {})), /Deleted\./);
    assert.equal((await api.as(key).get("/apps")).status, 401);
    assertPage(await browser.submit(page, path, { name: " " }), 422);
  },
);

choice("1.dashboard", "users are added with a link that signs them in, changed and removed", OWN, async ({ api }) => {
  const browser = await owner(api);
  const email = `${fresh()}@example.com`;
  const page = await browser.open("/dashboard/users/new");
  const made = await browser.submit(page, "/dashboard/users", { email, "permissions.read:apps": "on" });
  assertPage(made, 201);
  const link = /id="secret">([^<]*)</.exec(made.text)?.[1] ?? "";
  assert.equal((await new Browser(api).signIn(link)).headers.location, "/dashboard");
  const again = await browser.submit(page, "/dashboard/users", { email });
  assertPage(again, 409);
  assert.match(textOf(again), /is already a user of this account/);
  const user = (await api.get("/users?limit=100")).items.find((each) => each.email === email);
  const path = `/dashboard/users/${str(user?.id)}`;
  const filled = { email, name: "Ada", "permissions.read:data": "on" };
  await browser.submit(await browser.open(`${path}/edit`), `${path}/edit`, filled);
  const changed = (await api.get(`/users/${str(user?.id)}`)).json;
  assert.deepEqual([changed.name, changed.permissions], ["Ada", ["read:data"]]);
  await browser.submit(await browser.open(path), `${path}/delete`, {});
  assert.equal((await api.get(`/users/${str(user?.id)}`)).status, 404);
});

choice("1.dashboard", "pressed twice or loaded again a form makes one thing", OWN, async ({ api }) => {
  const browser = await owner(api);
  const other = await owner(api);
  const path = "/dashboard/settings/api-keys";
  const [form] = formsOf(await browser.open(`${path}/new`)).filter(({ action }) => action === path);
  const name = fresh();
  const fields = { ...form?.fields, name };
  const named = async (text: string) => (await api.get("/api-keys?limit=100")).items.filter((key) => key.name === text);
  const [first, second] = await Promise.all([browser.post(path, fields), browser.post(path, fields)]);
  assertPage(first, 201);
  assert.equal(second.text, first.text, "the key is still seen by whoever pressed twice");
  assert.equal((await browser.post(path, fields)).text, first.text);
  assert.equal((await named(name)).length, 1);
  assertPage(await browser.post(path, { ...fields, name: `${name} 2` }), 201);
  assert.equal((await named(`${name} 2`)).length, 1, "filled in otherwise it is another");
  const csrf = csrfOf(await other.open(path));
  assert.notEqual((await other.post(path, { ...fields, csrf })).text, first.text, "nobody else sees it");
  assertPage(await browser.post(path, { ...fields, name: " " }), 422);
  assertPage(await browser.post(path, { ...fields, name: " " }), 422);
});

choice("1.dashboard", "the newest 100 answers to forms are remembered", { ...OWN, options: {} }, async ({ api }) => {
  const browser = await owner(api);
  const path = "/dashboard/settings/api-keys";
  const csrf = csrfOf(await browser.open(`${path}/new`));
  const pressed = (n: number) => browser.post(path, { csrf, once: `form ${n}`, name: `Key ${n}` });
  const first = await pressed(0);
  for (let n = 1; n < 100; n += 1) await pressed(n);
  assert.equal((await pressed(0)).text, first.text);
  await pressed(100);
  assert.notEqual((await pressed(0)).text, first.text);
});

choice("1.dashboard", "the last admin stays, and is told why", { ...OWN, options: {} }, async ({ api, service }) => {
  const browser = new Browser(api);
  await browser.signIn(service.signInUrl);
  const id = str((await api.get("/users")).items[0]?.id);
  const page = await browser.open(`/dashboard/users/${id}/edit`);
  const refused = await browser.submit(page, `/dashboard/users/${id}/edit`, { email: "owner@example.com" });
  assertPage(refused, 409);
  assert.match(textOf(refused), /last user with the permission admin/);
});

choice(
  "1.dashboard",
  "data are uploaded as a file or pasted, shown when they are read, or why not",
  OWN,
  async ({ api }) => {
    const browser = await owner(api);
    const csrf = csrfOf(await browser.open("/dashboard/data-sources/new"));
    const upload = async (fields: Record<string, string>) => {
      const { body, type } = multipart({ csrf, ...fields });
      const headers = { "content-type": type, origin: browser.origin };
      return browser.request("POST", "/dashboard/data-sources", headers, body);
    };
    const settled = (location: string) =>
      eventually(async () => {
        const page = await browser.open(location);
        return /Still being processed/.test(page.text) ? undefined : page;
      });
    const csv = "town,people\r\n<Łódź>,670\r\n";
    const made = await upload({ name: "Towns", type: "csv", app_id: "", "data-text": "", data: csv });
    assert.equal(made.status, 303, made.text);
    const page = await settled(made.header("location"));
    assertPage(page);
    assert.match(textOf(page), /<Łódź> 670/);
    const pasted = await upload({ name: "Pasted", type: "json", "data-text": '[{"a":1}]', data: "" });
    assert.match(textOf(await settled(pasted.header("location"))), /a number 1 /);
    const failed = await upload({ name: "Broken", type: "csv", data: "a,b\r\n1\r\n" });
    assert.match(textOf(await settled(failed.header("location"))), /could not be processed Line 2/);
    for (const wrong of [
      { type: "json", data: "[" },
      { type: "csv", data: "" },
      { type: "xml", data: "x" },
    ]) {
      const refused = await upload({ name: "N", ...wrong });
      assertPage(refused, 422);
      assert.match(refused.text, /class="fault"/);
    }
    const { body, type } = multipart({ csrf, name: "Latin", type: "csv" });
    const latin = body.replace("Latin\r\n", "Latin\r\n").replace("csv\r\n--", "\xff\r\n--");
    const unread = await browser.request(
      "POST",
      "/dashboard/data-sources",
      { "content-type": type, origin: browser.origin },
      Buffer.from(latin, "latin1").toString("latin1"),
    );
    assert.ok(unread.status >= 400);
    const where = made.header("location").replace(/\?.*/, "");
    await browser.submit(page, `${where}/delete`, {});
    assert.equal((await browser.open(where)).status, 404);
  },
);

choice(
  "1.dashboard",
  "Settings, OAuth apps: registered with a secret that is shown once, and removed",
  OWN,
  async ({ api }) => {
    const browser = await owner(api);
    const path = "/dashboard/settings/oauth-apps";
    const page = await browser.open(`${path}/new`);
    const filled = {
      name: "Mailer",
      redirect_uris: "https://a.example/cb\r\n\r\n https://b.example/cb ",
      "scopes.admin": "on",
    };
    const made = await browser.submit(page, path, filled);
    assertPage(made, 201);
    const id = /cli_[0-9A-Za-z]{23}/.exec(made.text)?.[0] ?? "";
    const { redirect_uris, scopes } = (await api.get(`/oauth-clients/${id}`)).json;
    assert.deepEqual([redirect_uris, scopes], [["https://a.example/cb", "https://b.example/cb"], ["admin"]]);
    assert.match(made.text, /id="secret">[\w-]{43}</);
    const refused = await browser.submit(page, path, { name: "N", redirect_uris: "ftp://x" });
    assertPage(refused, 422);
    assert.match(textOf(refused), /It must be (an absolute )?https/);
    await browser.submit(await browser.open(`${path}/${id}`), `${path}/${id}/delete`, {});
    assert.equal((await api.get(`/oauth-clients/${id}`)).status, 404);
  },
);

choice("1.dashboard", "an event leads to the request that caused it and to what was sent", OWN, async ({ api }) => {
  const browser = await owner(api);
  const hook = await api.create("/webhooks", { url: "http://127.0.0.1:9/", events: ["app.created"] });
  const made = await api.post("/apps", { title: "Caused" });
  const event = (await api.get("/events?type=app.created&limit=100")).items.at(-1);
  const page = await browser.open(`/dashboard/events/${str(event?.id)}`);
  assertPage(page);
  assert.ok(page.text.includes(made.header("x-request-id")), "the request");
  assert.match(page.text, new RegExp(`/webhooks/${hook.id}/deliveries/dlv_`), "the delivery");
  const list = await browser.open("/dashboard/events?type=app.created");
  assert.ok(list.text.includes(str(event?.id)));
  assert.doesNotMatch(list.text.replace(/<nav[\s\S]*?<\/nav>/g, ""), /app\.deployed/);
});

choice("1.dashboard", "lists begin with the newest and turn pages", { ...OWN, options: {} }, async ({ api }) => {
  const browser = await owner(api);
  for (let n = 1; n <= 21; n += 1) await api.create("/apps", { title: `Number ${n}.` });
  const first = textOf(await browser.open("/dashboard/apps"));
  assert.match(first, /Number 21\..*Number 2\..*1 to 20 of 21/);
  assert.doesNotMatch(first, /Number 1\./);
  const last = textOf(await browser.open("/dashboard/apps?skip=20"));
  assert.match(last, /Number 1\. .*21 to 21 of 21/);
  for (const skip of ["999", "-1", "x", "99999999999999999999"])
    assertPage(await browser.open(`/dashboard/apps?skip=${skip}`));
});

const FIRST_PAGE_BYTES = 30_000;

choice("1.dashboard", "the first page is under 30 kB in all", OWN, async ({ api }) => {
  await world(api);
  const browser = await owner(api);
  for (const path of ["/dashboard", "/dashboard/sign-in"]) {
    const page = await browser.request("GET", path);
    let bytes = page.bytes.length;
    for (const [, asset] of page.text.matchAll(/(?:href|src)="(\/assets\/[^"]*)"/g))
      bytes += (await browser.request("GET", str(asset))).bytes.length;
    assert.ok(bytes < FIRST_PAGE_BYTES, `${path}: ${bytes}`);
  }
});
