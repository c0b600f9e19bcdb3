// Deployed apps (spec part 2: url and custom_domain of a deployment; part 6: user.interaction): what their address
// shows to which visitor, and the effect of a click on a point.
import assert from "node:assert/strict";
import {
  type Answer,
  assertPage,
  B_KEY,
  Browser,
  begins,
  type Client,
  choice,
  contains,
  csrfOf,
  decoded,
  deployed,
  formsOf,
  freshHost,
  groups,
  interactions,
  page,
  person,
  str,
  TWO,
  textOf,
} from "../support/index.ts";

const SALES =
  "month,region,revenue\n2026-01,North,10\n2026-01,South,20.5\n2026-02,North,-4\n2026-02,South,\n";

const many = <T>(count: number, create: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => create(index));
const buttonsIn = ({ text }: Answer) => text.split("<foreignObject ").length - 1;
/** Returns the rows of values that send their points, in the order of the page. */
const rowsIn = ({ text }: Answer) =>
  groups(text, /<tr><td><button name="point" value="(\d+)">/g).map(Number);

/** Clicks the point with this label in the first chart. */
async function click(browser: Browser, path: string, label: string, query = "") {
  const site = await browser.open(`${path}?${query}`);
  const [form] = formsOf(site);
  const point = new RegExp(`value="(\\d+)" title="${label}"`).exec(site.text)?.[1] ?? "none";
  return browser.post(path + str(form?.action), { ...form?.fields, point });
}

choice(
  "2.data-reading.chart-columns: a site shows the title, the description and a chart or table of each ready data source, all escaped",
  async ({ api }) => {
    const { path, give, page: site } = await deployed(api, { description: "Net of <returns>" });
    contains(assertPage(await site()), "Sales Net of <returns> No data yet. Charts will appear");
    await give("Revenue", SALES);
    await give("Names", [{ name: "Ada" }, { name: "<b>Bob</b>" }]);
    await give("<i>Marks</i>", [{ 'n"><i>': `'"><i>`, "<i>": 7 }]);
    await give("Broken", "a,b\n1\n");
    const shown = await page(api, path);
    const text = assertPage(shown);
    assert.equal(buttonsIn(shown), 4);
    contains(text, "Revenue ■ North ■ South Revenue Month 0 ");
    contains(text, "Show as table Month Region Revenue 2026-01 North 10 ");
    contains(text, "Names Name Ada <b>Bob</b>");
    contains(shown.text, 'title="&#39;&quot;&gt;&lt;i&gt;, 7 &lt;i&gt;"');
    assert.match(shown.text, /y="201" width="[^"]*" height="39"><button [^>]*title="2026-02, -4 /);
    assert.doesNotMatch(shown.text, /<i>|Broken/);
  },
);

choice(
  "2.data-reading.chart-points: a chart draws the first 2,000 rows, and the table has a button for each point that it shows",
  async ({ api }) => {
    const { path, give } = await deployed(api);
    const row = (day: number) => ({ at: new Date(day * 86_400_000).toISOString(), value: -day });
    const id = await give("Long", many(2_001, row));
    const shown = await page(api, path);
    assert.equal(/<path d="M([^"]*)"/.exec(shown.text)?.[1]?.split(" ").length, 2_000);
    assert.equal(buttonsIn(shown), 80, "every 25th point");
    contains(textOf(shown), "The first 200 of 2000 rows. The first 2000 of 2001 rows");
    assert.deepEqual(rowsIn(shown), [...Array(200).keys()]);
    const sorted = await page(api, `${path}?table=${id}&sort=value`);
    assert.deepEqual(
      rowsIn(sorted),
      many(200, (index) => 1_999 - index),
    );
    const sent = await page(api, `${path}?chart=${id}&point=1999`);
    assert.equal(buttonsIn(sent), 81, "the sent point has a button");
  },
);

choice(
  "2.data-reading.chart-points: links sort the rows of a table in both orders, with empty cells last",
  async ({ api }) => {
    const { path, give } = await deployed(api);
    const row = (name: string, at: string, amount: number | null) => ({ name, at, amount });
    await give("Other", [row("x", "2026-01-01", 1)]);
    const id = await give("Rows", [
      row("K10", "2026-01-02T00:30:00+02:00", 5),
      row("K9", "2026-01-01T23:00:00Z", null),
      row("k1", "2026-01-01", 40),
    ]);
    const namesBy = async (query: string) => {
      const shown = await page(api, path + query);
      const [, other = "", rows = ""] = shown.text.split("<tbody>");
      contains(other, "<td>1 Jan 2026");
      return {
        shown,
        names: groups(rows, /<tr><td>(?:<button[^>]*>)?(\w+)/g).join(" "),
      };
    };
    assert.equal((await namesBy("")).names, "K10 K9 k1");
    const byLink = (text: string, { shown }: Awaited<ReturnType<typeof namesBy>>) => {
      const link = new RegExp(`<a href="([^"]*${id}[^"]*)">${text}<`).exec(shown.text)?.[1];
      return namesBy(decoded(str(link?.split("#")[0])));
    };
    const start = await namesBy("");
    for (const [column, up, down] of [
      ["Name", "k1 K9 K10", "K10 K9 k1"],
      ["At", "k1 K10 K9", "K9 K10 k1"],
      ["Amount", "K10 k1 K9", "k1 K10 K9"],
    ] as const) {
      const ascending = await byLink(column, start);
      const descending = await byLink(column, ascending);
      const again = await byLink(column, descending);
      assert.deepEqual(
        [ascending, descending, again].map(({ names }) => names),
        [up, down, up],
      );
      assert.match(descending.shown.text, /<details open>.*<th[^>]* aria-sort="descending">/s);
    }
  },
);

choice(
  "8.bounds.page: a page shows 200 rows and 30 columns of a table and 200 characters of a cell or name",
  async ({ api }) => {
    const { path, give } = await deployed(api);
    const row = Object.fromEntries(many(31, (index) => [`c${index}.`, "x".repeat(201)]));
    const id = await give(
      "Wide",
      many(201, () => row),
    );
    const { browser } = await person(api);
    for (const url of [path, `/dashboard/data-sources/${id}`]) {
      const shown = await browser.open(url);
      contains(textOf(shown), "c29.…The first 30 of 31 columns");
      assert.match(textOf(shown), /x{199}…/);
      assert.doesNotMatch(shown.text, /c30\.|x{200}/);
    }
    const { text } = await browser.open(path);
    assert.equal(text.split("<tr>").length - 2, 200);
  },
);

choice(
  "2.themes.drawn: the themes light and dark are drawn, and any other name follows the visitor's system",
  async ({ api }) => {
    for (const [theme, drawn] of [
      ["dark", "dark"],
      ["<sea>", "light dark"],
    ] as const) {
      const { text } = await (await deployed(api, { theme })).page();
      contains(text, `name="color-scheme" content="${drawn}"`);
    }
  },
);

choice(
  "4.app-endpoints.interaction-user: a click reports the point as the data contain it, and the user or an anonymous visitor",
  TWO,
  async ({ api }) => {
    const { app, path, give } = await deployed(api);
    const chart = await give("Revenue", SALES);
    const browser = new Browser(api);
    const { headers } = await click(browser, path, "2026-01, 20\\.5 revenue, South");
    begins(headers.location, `./?chart=${chart}&point=1&event=evt_`);
    const back = await browser.open(path + str(headers.location).slice(2));
    contains(textOf(back), "Sent: 2026-01, 20.5 revenue, South. Show as table");
    const [member, stranger] = [await person(api, []), await person(api.as(B_KEY), ["admin"])];
    for (const { browser } of [member, stranger])
      await click(browser, path, "2026-02, -4 revenue, North");
    const [first, second, third] = await interactions(api);
    const user_id = str(first?.user_id);
    assert.match(user_id, /^visitor_[0-9a-f]{20}$/);
    assert.deepEqual(first, {
      app_id: app,
      user_id,
      interaction_type: "chart_click",
      chart_id: chart,
      data_point: { x: "2026-01", y: 20.5, category: "South" },
    });
    assert.equal(second?.user_id, member.id);
    begins(third?.user_id, "visitor_");
    const hidden = await stranger.browser.open((await deployed(api, { public: false })).path);
    contains(assertPage(hidden, 404), "…There is no app here …another account. …Sign out");
  },
);

choice(
  "4.app-endpoints.interaction-user: after a click, the page of an administrator links to the event and keeps the table's state",
  TWO,
  async ({ api }) => {
    const { path, give } = await deployed(api);
    const chart = await give("Revenue", SALES);
    const table = `table=${chart}&sort=revenue`;
    for (const [permission, isLinked] of [
      ["admin", true],
      ["read:apps", false],
    ] as const) {
      const { browser } = await person(api, [permission]);
      const sent = await click(browser, path, "2026-02, -4 revenue, North", table);
      const location = str(sent.headers.location);
      assert.ok(location.startsWith(`./?${table}&chart=`), location);
      const back = await browser.open(path + location.slice(2));
      assert.deepEqual(rowsIn(back), [2, 0, 1]);
      const event = /evt_\w+/.exec(location)?.[0];
      assert.equal(back.text.includes(`href="/dashboard/events/${event}"`), isLinked, permission);
      if (isLinked) assertPage(await browser.open(`/dashboard/events/${event}`));
    }
    const { browser } = await person(api.as(B_KEY), ["admin"]);
    const foreign = await browser.open(`${path}?chart=${chart}&point=0&event=evt_1`);
    assert.doesNotMatch(foreign.text, /dashboard\/events/);
  },
);

choice(
  "4.app-endpoints.interaction-user: only the page's own form can report points, and only points that exist",
  async ({ api }) => {
    const [{ path, give }, other] = [await deployed(api), await deployed(api)];
    const [chart, foreign] = [await give("Revenue", SALES), await other.give("Other", SALES)];
    const browser = new Browser(api);
    const csrf = csrfOf(await browser.open(path));
    const before = (await interactions(api)).length;
    const action = `${path}interactions`;
    const form = { csrf, chart, point: "0" };
    assertPage(await browser.post(action, form, "https://evil.example"), 403);
    assertPage(await browser.post(action, { chart, point: "0" }), 403);
    assertPage(await new Browser(api).post(action, form), 403);
    for (const wrong of [{ point: "3" }, { point: "" }, { chart: foreign }, { chart: "ds_0" }])
      assertPage(await browser.post(action, { ...form, ...wrong }), 404);
    assert.equal((await interactions(api)).length, before);
  },
);

choice(
  "5.scope-per-endpoint.viewers: a private app requires a sign-in and read:apps",
  async ({ api }) => {
    const { path } = await deployed(api, { public: false });
    const location = `/dashboard/sign-in?${new URLSearchParams({ next: path })}`;
    assert.equal((await page(api, path)).header("location"), location);
    const signedOut = await new Browser(api).post(`${path}interactions`, {});
    assert.equal(signedOut.header("location"), location);
    for (const permission of ["read:apps", "admin"])
      assertPage(await (await person(api, [permission])).browser.open(path));
    const { browser } = await person(api, ["read:data", "write:apps"]);
    const refused = await browser.open(path);
    contains(assertPage(refused, 403), "requires the permission read:apps");
    contains(refused.text, `name="next" value="${path}"`);
  },
);

choice(
  "3.redeploy.site: the address of a retired or deleted deployment responds with 404",
  async ({ api }) => {
    const { app, path } = await deployed(api);
    const bare = path.slice(0, -1);
    assert.equal((await page(api, bare)).header("location"), path);
    const next = await api.deploy(app);
    assertPage(await page(api, path), 404);
    await api.delete(`/apps/${app}`);
    for (const url of [new URL(str(next.url)).pathname, path, bare])
      assertPage(await page(api, url), 404);
    for (const url of ["/sites/dep_00000000000000000000000/", `${path}more`])
      assertPage(await page(api, url), 404);
  },
);

choice(
  "5.scope-per-endpoint.viewers: the sites of a suspended account are not shown, and those of a limited account are read-only",
  {},
  async ({ api, service }) => {
    const { path } = await deployed(api);
    await service.setAccountState("limited");
    const browser = new Browser(api);
    assertPage(await browser.open(path));
    assertPage(await browser.post(`${path}interactions`, {}), 403);
    await service.setAccountState("suspended");
    assertPage(await browser.open(path), 403);
  },
);

/** Returns the response to a request for another host. */
const at = (api: Client, host: string, path = "/") => api.anyone.get(path, { host });

choice(
  "3.custom-domain.private-app: a custom domain serves its site at / and never hides the server's own addresses",
  async ({ api }) => {
    const custom_domain = freshHost();
    const { app, path } = await deployed(api, { title: "Harbour" }, { custom_domain });
    for (const host of [custom_domain, `${custom_domain.toUpperCase()}:8443`, `${custom_domain}.`])
      contains(assertPage(await at(api, host)), "Harbour");
    for (const [url, status] of Object.entries({
      "/apps": 404,
      "/v1/apps": 401,
      "/dashboard": 403,
      "/assets/style.css": 200,
      "/docs": 200,
      "/healthz": 200,
      "/openapi.json": 200,
      "/oauth/token": 405,
      [path]: 200,
    }))
      assert.equal((await at(api, custom_domain, url)).status, status, url);
    await api.patch(`/apps/${app}`, { public: false });
    const redirected = await at(api, custom_domain);
    assert.equal(
      new URL(redirected.header("location")).pathname,
      path,
      "a private app redirects to where users can sign in",
    );
    await api.delete(`/apps/${app}`);
    assert.equal((await at(api, custom_domain)).header("location"), "/dashboard");
  },
);

choice(
  "3.custom-domain.private-app: a click under a custom domain is accepted from that domain only",
  async ({ api }) => {
    const custom_domain = freshHost();
    const { app, give } = await deployed(api, {}, { custom_domain });
    const chart = await give("Revenue", SALES);
    const visitor = new Browser(api);
    const csrf = csrfOf(await visitor.request("GET", "/", { host: custom_domain }));
    const clickFrom = async (origin: string) => {
      const fields = { csrf, chart, point: "0" };
      const host = custom_domain;
      return (await visitor.post("/interactions", fields, origin, { host })).status;
    };
    assert.equal(await clickFrom("https://evil.example"), 403);
    assert.equal(await clickFrom(`http://${custom_domain}`), 303);
    assert.equal((await interactions(api)).at(-1)?.app_id, app);
  },
);
