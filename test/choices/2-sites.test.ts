// Deployed apps (spec part 2: url and custom_domain of a deployment; part 6: user.interaction): what their address
// shows to which visitor, and the effect of a click on a point.
import assert from "node:assert/strict";
import { memoryStore, type Store } from "../../src/index.ts";
import { Browser, formsOf } from "../support/browser.ts";
import { choice, withService } from "../support/clauses.ts";
import { type Answer, type Client, freshHost, str } from "../support/client.ts";
import { assertPage, csrfOf, owner, textOf } from "../support/dashboard.ts";
import { person } from "../support/oauth.ts";
import { overridden } from "../support/other-stores.ts";
import { deployed, interactions, page } from "../support/sites.ts";
import { B_KEY, TWO } from "../support/world.ts";

const SALES =
  "month,region,revenue\n2026-01,North,10\n2026-01,South,20.5\n2026-02,North,-4\n2026-02,South,\n";

/** A page of a site may only be cached by the browser, after revalidation. */
const assertSite = (site: Answer): string => assertPage(site, 200, "'self'", "private, no-cache");

const many = <T>(count: number, create: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => create(index));
const buttonsIn = ({ text }: Answer) => [...text.matchAll(/<button class="point"/g)].length;

/** Clicks the point with this label in the first chart, as a browser without a script does. */
async function click(browser: Browser, url: string, label: string): Promise<Answer> {
  const site = await browser.open(url);
  const [{ action, fields } = { action: "", fields: {} }] = formsOf(site);
  const point = new RegExp(`value="(\\d+)" aria-label="${label}"`).exec(site.text)?.[1] ?? "none";
  return browser.post(url.replace(/\?.*/, "") + action, { ...fields, point });
}

choice(
  "2.data-reading.chart-columns",
  "a site shows the title, the description and a chart or table of each ready data source, all escaped",
  async ({ api }) => {
    const { path, give, page: site } = await deployed(api, { description: "Net of <returns>" });
    assert.match(assertSite(await site()), /Sales Net of <returns> No data yet/);
    await give("Revenue", SALES);
    await give("Names", [{ name: "Ada" }, { name: "<b>Bob</b>" }]);
    await give("<i>Marks</i>", [{ 'n"><i>': `'"><i>`, "<i>": 7 }]);
    await give("Broken", "a,b\n1\n");
    const shown = await site();
    const text = assertSite(shown);
    assert.equal(buttonsIn(shown), 4);
    for (const part of [
      /revenue by month, by region ?\. Drawn: 3 of 4 rows North South/,
      /The same as a table month region revenue 2026-01 North 10 2026-01 South 20\.5 /,
      /Names name Ada <b>Bob<\/b>/,
    ])
      assert.match(text, part);
    assert.match(shown.text, /aria-label="&#39;&quot;&gt;&lt;i&gt;, 7 &lt;i&gt;"/);
    assert.doesNotMatch(shown.text, /<i>|Broken/);
    const visitor = new Browser(api);
    const tag = (await visitor.request("GET", path)).header("etag");
    for (const [known, status] of [
      [tag, 304],
      [`W/${tag}`, 304],
      ["*", 304],
      ['"a"', 200],
    ] as const) {
      const answer = await visitor.request("GET", path, { "if-none-match": known });
      assert.equal(answer.status, status, known);
    }
  },
);

choice(
  "2.data-reading.chart-points",
  "a chart draws every row up to 40,000 cells, and 200 points can be pressed",
  async ({ api }) => {
    const [first, second] = [await deployed(api), await deployed(api)];
    const rows = (count: number) =>
      many(count, (index) => ({ at: new Date(index * 60_000).toISOString(), value: index % 7 }));
    const empty = await first.give("Empty", []);
    for (const shown of [
      await (await owner(api)).open(`/dashboard/data-sources/${empty}`),
      await first.page(),
    ])
      assert.doesNotMatch(shown.text, /<table/);
    await first.give("Whole", rows(200));
    await first.give("More", rows(201));
    const drawn = await first.page();
    assert.equal(buttonsIn(drawn), 400);
    assert.deepEqual(drawn.text.match(/The first 200 of \d+ rows/g), ["The first 200 of 201 rows"]);
    const paths = [...drawn.text.matchAll(/<path class="s0" d="([^"]*)"/g)];
    assert.deepEqual(
      paths.map(([, path = ""]) => path.split("L").length),
      [200, 201],
    );
    const peak = ["2020-01-01T00:00:00Z,0", "2020-01-01T00:00:01Z,9", "2020-01-01T00:00:02Z,0"];
    await second.give("Line", `t,v\n${peak.join("\n")}\n2030-01-01,0`);
    const [, path = ""] = /<path class="s0" d="([^"]*)"/.exec((await second.page()).text) ?? [];
    assert.match(path, /^M\d+,\d+(L\d+,\d+){3}$/, "a line that returns to a pixel is drawn");
    const columns = many(99, (index) => `c${index}`);
    const cells = many(99, String);
    await second.give(
      "Wide",
      `t,${columns}\n${many(401, (at) => `${1600 + at}-01-01,${cells}\n`).join("")}`,
    );
    assert.match(textOf(await second.page()), /Drawn: 400 of 401 rows/);
  },
);

choice(
  "2.data-reading.chart-columns",
  "a visitor can choose among the numeric columns of each chart",
  async ({ api }) => {
    const { path, give } = await deployed(api);
    const days = [5, 3, 8].map((visitors, index) => ({
      id: index + 1,
      day: `2026-10-1${index}`,
      visitors,
      price: visitors * 1.5,
    }));
    const [chart, other] = [await give("Days", days), await give("Others", days)];
    const browser = new Browser(api);
    const shown = await browser.open(path);
    assert.match(textOf(shown), /Days id visitors price visitors by day/);
    assert.ok(shown.text.includes(`href="?${chart}=price#${chart}">price</a></nav>`));
    const selected = await browser.open(`${path}?${chart}=price`);
    assert.match(textOf(selected), /price by day .*visitors by day/);
    for (const query of [`?${chart}=price&amp;${other}=id#${other}`, `?${chart}=visitors#${chart}`])
      assert.ok(selected.text.includes(`"${query}"`), query);
    const { headers } = await click(browser, `${path}?${chart}=price`, "12 Oct 2026, 12 price");
    assert.equal(headers.location, `./?chart=${chart}&point=2&${chart}=price#${chart}`);
    const sent = await browser.open(path + str(headers.location).slice(2));
    assert.match(textOf(sent), /Sent: 12 Oct 2026, 12 price/);
    const data_point = { x: "2026-10-12", y: 12, category: null };
    assert.deepEqual((await interactions(api)).at(-1)?.data_point, data_point);
    const text = await browser.open(`${path}?${chart}=day&${chart}x=1`);
    assert.match(textOf(text), /visitors by day/, "a column of text cannot be chosen");
  },
);

choice(
  "8.bounds.page",
  "a page shows 30 columns of a table and 200 characters of a cell or name",
  async ({ api }) => {
    const { path, give } = await deployed(api);
    const wide = Object.fromEntries(many(31, (index) => [`c${index}.`, "x".repeat(201)]));
    const id = await give("Wide", [wide]);
    const long = "y".repeat(1_000);
    await give(
      "Long",
      many(3, (n) => ({ at: `2026-01-0${n + 1}`, [long]: n * n, z: n })),
    );
    const { browser } = await person(api);
    for (const url of [path, `/dashboard/data-sources/${id}`]) {
      const shown = await browser.open(url);
      assert.match(textOf(shown), /c29\..*The first 30 of 31 columns/);
      assert.match(textOf(shown), /x{199}…/);
      assert.doesNotMatch(shown.text, /c30\.|x{200}|y{200}/);
    }
  },
);

choice("8.bounds.page", "more than 20 data sources continue on the next page", async ({ api }) => {
  const { path, give } = await deployed(api);
  for (let n = 1; n <= 20; n += 1) await give(`Table ${n}`, [{ n }]);
  const chart = await give("Revenue", SALES);
  const browser = new Browser(api);
  const first = await browser.open(path);
  assert.match(textOf(first), /Table 20 .*Next: the other 1 of 21 data sources/);
  assert.doesNotMatch(textOf(first), /Revenue/);
  const last = await browser.open(`${path}?from=20`);
  assert.match(textOf(last), /Revenue/);
  assert.doesNotMatch(textOf(last), /Table|Next:/);
  assert.match(last.text, /<a href="\.\/">Back to the first of 21/);
  const sent = await click(browser, `${path}?from=20`, "January 2026, 20\\.5 revenue, South");
  assert.equal(sent.header("location"), `./?chart=${chart}&point=1&from=20#${chart}`);
});

choice(
  "2.themes.drawn",
  "the themes light and dark are drawn, and any other name follows the visitor's system",
  async ({ api }) => {
    for (const [theme, drawn] of [
      ["light", "light"],
      ["dark", "dark"],
      ["<sea>", "light dark"],
    ] as const) {
      const { text } = await (await deployed(api, { theme })).page();
      assert.ok(text.includes(`name="color-scheme" content="${drawn}"`), theme);
    }
  },
);

choice(
  "4.app-endpoints.interaction-user",
  "a click reports the point as the data contain it, and the user or an anonymous visitor",
  TWO,
  async ({ api }) => {
    const { app, path, give } = await deployed(api);
    const chart = await give("Revenue", SALES);
    const browser = new Browser(api);
    const answer = await click(browser, path, "January 2026, 20\\.5 revenue, South");
    assert.equal(answer.status, 303);
    assert.equal(answer.header("location"), `./?chart=${chart}&point=1#${chart}`);
    const back = await browser.open(`${path}?chart=${chart}&point=1`);
    assert.match(textOf(back), /Sent: January 2026, 20\.5 revenue, South/);
    await click(browser, path, "February 2026, -4 revenue, North");
    const [member, stranger] = [await person(api, []), await person(api.as(B_KEY), ["admin"])];
    for (const { browser } of [member, stranger])
      await click(browser, path, "January 2026, 10 revenue, North");
    const [first, second, third, fourth] = await interactions(api);
    const user_id = str(first?.user_id);
    assert.match(user_id, /^visitor_[0-9a-f]{20}$/);
    const common = { app_id: app, user_id, interaction_type: "chart_click", chart_id: chart };
    const points = [
      { x: "2026-01", y: 20.5, category: "South" },
      { x: "2026-02", y: -4, category: "North" },
    ];
    assert.deepEqual(
      [first, second],
      points.map((data_point) => ({ ...common, data_point })),
    );
    assert.equal(third?.user_id, member.id);
    assert.match(str(fourth?.user_id), /^visitor_/, "a user of another account is a visitor");
    assertPage(await stranger.browser.open((await deployed(api, { public: false })).path), 404);
  },
);

choice(
  "2.data-reading.exact",
  "a text column is never a numeric axis, and a click reports the full text",
  async ({ api }) => {
    const { path, give } = await deployed(api);
    await give("Orders", "order,total\n9007199254740993,1.50\n9007199254740995,2.25\n");
    const browser = new Browser(api);
    assert.match(textOf(await browser.open(path)), /total by order/);
    await click(browser, path, "9007199254740993, 1\\.5 total");
    const data_point = { x: "9007199254740993", y: 1.5, category: null };
    assert.deepEqual((await interactions(api)).at(-1)?.data_point, data_point);
  },
);

choice(
  "4.app-endpoints.interaction-user",
  "only the page's own form can report points, and only points that exist",
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
    const points = ["3", "4", "-1", ""].map((point) => ({ point }));
    for (const wrong of [...points, { chart: foreign }, { chart: "ds_0" }])
      assertPage(await browser.post(action, { ...form, ...wrong }), 404);
    assert.equal((await interactions(api)).length, before);
    const wrong = await browser.request("GET", action);
    assertPage(wrong, 405);
    assert.equal(wrong.header("allow"), "POST");
  },
);

choice(
  "5.scope-per-endpoint.viewers",
  "a private app requires a sign-in and read:apps",
  async ({ api }) => {
    const { path } = await deployed(api, { public: false });
    for (const [method, next] of [
      ["GET", path],
      ["HEAD", `${path}?from=1`],
    ] as const) {
      const answer = await api.root.as(null).send(method, next);
      const location = `/dashboard/sign-in?${new URLSearchParams({ next })}`;
      assert.deepEqual([answer.status, answer.header("location")], [303, location]);
    }
    // A script would take a redirect for the success of its request.
    const signedOut = await new Browser(api).post(`${path}interactions`, {});
    assert.match(assertPage(signedOut, 403), /You are signed out Nothing was sent\. Sign in/);
    assert.ok(signedOut.text.includes(`href="${path}"`));
    for (const permission of ["read:apps", "admin"])
      assertSite(await (await person(api, [permission])).browser.open(path));
    const { browser } = await person(api, ["read:data", "write:apps"]);
    assert.match(assertPage(await browser.open(path), 403), /requires the permission read:apps/);
  },
);

choice(
  "3.redeploy.site",
  "the address of a retired or deleted deployment responds with 410 and links to a visible successor",
  async ({ api }) => {
    const { app, path } = await deployed(api);
    const bare = path.slice(0, -1);
    for (const query of ["", "?from=1"])
      assert.equal((await page(api, bare + query)).header("location"), path + query);
    assert.equal((await api.root.as(null).head(path)).text, "");
    const next = await api.create(`/apps/${app}/deploy`, { name: "R2" });
    const retired = await page(api, path);
    assertPage(retired, 410);
    assert.ok(retired.text.includes(`href="${str(next.url)}"`));
    await api.patch(`/apps/${app}`, { public: false });
    assert.ok(!(await page(api, path)).text.includes(next.id));
    assert.ok((await (await owner(api)).open(path)).text.includes(next.id));
    await api.delete(`/apps/${app}`);
    for (const url of [new URL(str(next.url)).pathname, path, bare])
      assertPage(await page(api, url), 410);
    for (const url of ["/sites/", "/sites/dep_00000000000000000000000/", `${path}more`])
      assertPage(await page(api, url), 404);
  },
);

choice(
  "5.scope-per-endpoint.viewers",
  "the sites of a suspended account are not shown, and those of a limited account are read-only",
  {},
  async ({ api, service }) => {
    const { path } = await deployed(api);
    await service.setAccountState("limited");
    const browser = new Browser(api);
    const csrf = csrfOf(await browser.open("/dashboard/sign-in"));
    assertSite(await browser.open(path));
    assertPage(await browser.post(`${path}interactions`, { csrf, chart: "x", point: "0" }), 403);
    await service.setAccountState("suspended");
    assertPage(await browser.open(path), 403);
  },
);

/** Returns the response to a request for another host. */
const at = (api: Client, host: string, path = "/") => api.root.as(null).get(path, { host });

choice(
  "3.custom-domain.private-app",
  "a custom domain serves its site at / and never hides the server's own addresses",
  async ({ api }) => {
    const custom_domain = freshHost();
    const { app, path } = await deployed(api, { title: "Harbour" }, { custom_domain });
    const spellings = [`${custom_domain.toUpperCase()}:8443`, `${custom_domain}.`];
    for (const host of [custom_domain, ...spellings]) {
      const shown = await at(api, host);
      assert.match(assertSite(shown), /Harbour/, host);
      const style = /href="(\/assets\/style[^"]*)"/.exec(shown.text)?.[1] ?? "";
      assert.equal((await at(api, host, style)).status, 200);
    }
    for (const [url, status] of [
      ["/apps", 404],
      ["/.well-known/unknown", 404],
      ["/v1/apps", 401],
      ["/dashboard", 403],
      ["/docs", 200],
      ["/healthz", 200],
      ["/openapi.json", 200],
      ["/oauth/token", 405],
      [path, 200],
    ] as const)
      assert.equal((await at(api, custom_domain, url)).status, status, url);
    assert.equal((await at(api, freshHost(), "/healthz")).status, 200);
    const staging = { name: "R2", environment: "staging", custom_domain };
    const { url } = await api.create(`/apps/${app}/deploy`, staging);
    assert.equal((await at(api, custom_domain)).status, 200);
    await api.patch(`/apps/${app}`, { public: false });
    const redirected = await at(api, custom_domain, "/?from=1");
    assert.deepEqual(
      [redirected.status, redirected.header("location")],
      [303, `${url}?from=1`],
      "a private app redirects to where users can sign in",
    );
    const signIn = await page(api, `${new URL(str(url)).pathname}?from=1`);
    assert.match(signIn.header("location"), /next=.*%3Ffrom%3D1$/);
    await api.delete(`/apps/${app}`);
    assert.equal((await at(api, custom_domain)).header("location"), "/dashboard");
  },
);

choice(
  "3.custom-domain.private-app",
  "a custom domain serves its site even if a deployment is retired during the request",
  async () => {
    const store = memoryStore();
    let retired = 0;
    const count: Store["count"] = async (...query) => {
      const result = (await store.count(...query)) + retired;
      retired = 0;
      return result;
    };
    await withService({ store: overridden(store, { count }) }, async ({ api }) => {
      const custom_domain = freshHost();
      await deployed(api, {}, { custom_domain });
      retired = 1;
      assertSite(await at(api, custom_domain));
    });
  },
);

choice(
  "3.custom-domain.private-app",
  "a click under a custom domain is accepted from that domain only",
  async ({ api }) => {
    const custom_domain = freshHost();
    const { app, give } = await deployed(api, {}, { custom_domain });
    const chart = await give("Revenue", SALES);
    const visitor = new Browser(api);
    const csrf = csrfOf(await visitor.request("GET", "/", { host: custom_domain }));
    const body = new URLSearchParams({ csrf, chart, point: "0" }).toString();
    const clickFrom = async (origin: string) => {
      const type = { "content-type": "application/x-www-form-urlencoded" };
      const headers = { host: custom_domain, origin, ...type };
      return (await visitor.request("POST", "/interactions", headers, body)).status;
    };
    assert.equal(await clickFrom("https://evil.example"), 403);
    assert.equal(await clickFrom(`http://${custom_domain}`), 303);
    assert.equal((await interactions(api)).at(-1)?.app_id, app);
    await api.patch(`/apps/${app}`, { public: false });
    assert.equal(await clickFrom(`http://${custom_domain}`), 403);
  },
);
