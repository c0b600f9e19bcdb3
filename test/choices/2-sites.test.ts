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
import { rawAnswer } from "../support/raw.ts";
import { deployed, interactions, page } from "../support/sites.ts";
import { B_KEY, TWO } from "../support/world.ts";

const SALES =
  "month,region,revenue\n2026-01,North,10\n2026-01,South,20.5\n2026-02,North,-4\n2026-02,South,\n";
const BROKEN = "a,b\n1\n";

/** Headers of a response that only the browser may cache, after revalidation. */
const assertSite = (site: Answer): string => assertPage(site, 200, "'self'", "private, no-cache");

const many = <T>(count: number, each: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => each(at));

choice(
  "2.data-reading.chart-columns",
  "a site shows the title, the description and a chart of each data source",
  async ({ api }) => {
    const { path, give, page: site } = await deployed(api, { description: "Net of <returns>" });
    assert.match(assertSite(await site()), /Sales Net of <returns> There is nothing to see yet/);
    await give("Revenue", SALES);
    await give("Names", [{ name: "Ada" }, { name: "<b>Bob</b>" }]);
    await give("<i>Marks</i>", [{ 'n"><i>': `'"><i>`, "<i>": 7 }]);
    await give("Broken", BROKEN);
    const visitor = new Browser(api);
    const tag = (await visitor.request("GET", path)).header("etag");
    const knowing = async (known: string) =>
      (await visitor.request("GET", path, { "if-none-match": known })).status;
    for (const known of [tag, `W/${tag}`, `"a", ${tag}`, "*"])
      assert.equal(await knowing(known), 304, known);
    assert.equal(await knowing('"a"'), 200);
    const shown = await site();
    assert.equal([...shown.text.matchAll(/<button class="point"/g)].length, 4);
    const said = assertSite(shown);
    assert.match(said, /revenue by month, by region\. Drawn: 3 of 4 rows North South/);
    assert.match(
      said,
      /The same as a table month region revenue 2026-01 North 10 2026-01 South 20\.5 /,
    );
    assert.match(said, /Names name Ada <b>Bob<\/b>/, "a table where no chart fits");
    assert.match(shown.text, /aria-label="&#39;&quot;&gt;&lt;i&gt;, 7 &lt;i&gt;"/);
    assert.doesNotMatch(
      shown.text,
      /<i>|Broken/,
      "what is typed in is text, in charts and tables too",
    );
  },
);

choice(
  "2.data-reading.chart-points",
  "a chart draws every row and every value that can be drawn",
  async ({ api }) => {
    const [sheet, other] = [await deployed(api), await deployed(api)];
    const rows = (count: number) => many(count, (at) => ({ at, value: at % 7 }));
    const empty = await sheet.give("Empty", []);
    for (const shown of [
      await (await owner(api)).open(`/dashboard/data-sources/${empty}`),
      await sheet.page(),
    ]) {
      assert.match(textOf(shown), /It has no rows\./);
      assert.doesNotMatch(shown.text, /<table/);
    }
    await sheet.give("Whole", rows(200));
    await sheet.give("More", rows(201));
    const drawn = await sheet.page();
    assert.equal([...drawn.text.matchAll(/<button class="point"/g)].length, 400);
    assert.deepEqual(drawn.text.match(/The first 200 of \d+ rows/g), ["The first 200 of 201 rows"]);
    const series = [...drawn.text.matchAll(/<path class="s0" d="([^"]*)"/g)];
    const points = series.map(([, d = ""]) => d.split("M").length - 1);
    assert.deepEqual(points, [200, 201], "every row is drawn, 200 are to be pressed");
    const times = [
      "2020-01-01T00:00:00Z,0",
      "2020-01-01T00:00:01Z,9",
      "2020-01-01T00:00:02Z,0",
      "2030-01-01,0",
    ];
    await other.give("Line", `t,v\n${times.join("\n")}\n`);
    const [, d = ""] = /<path class="s0" d="([^"]*)"/.exec((await other.page()).text) ?? [];
    assert.match(
      d,
      /^(M\d+,\d+)L\d+,\d+L\d+,\d+L\d+,\d+$/,
      "a line that comes back to a pixel goes there",
    );
    await other.give("Long", `at,value\n${many(20_001, (at) => `${at},${at % 7}\n`).join("")}`);
    await other.give(
      "Wide",
      `${many(100, (at) => `c${at}`)}\n${`${many(100, String)}\n`.repeat(401)}`,
    );
    const whole = textOf(await other.page());
    assert.match(
      whole,
      /value by at\. Drawn: 20000 of 20001 rows.*Drawn: 400 of 401 rows/,
      "40,000 cells at most",
    );
  },
);

/** Clicks the point with these words in the first chart, as a browser without a script does. */
async function click(browser: Browser, address: string, title: string): Promise<Answer> {
  const shown = await browser.open(address);
  const [{ action, fields } = { action: "", fields: {} }] = formsOf(shown);
  const point = new RegExp(`value="(\\d+)" aria-label="${title}"`).exec(shown.text)?.[1] ?? "none";
  return browser.post(address.replace(/\?.*/, "") + action, { ...fields, point });
}

choice(
  "2.data-reading.chart-columns",
  "a visitor can choose among the numeric columns of a chart",
  async ({ api }) => {
    const { path, give } = await deployed(api);
    const days = [5, 3, 8].map((n, at) => ({
      id: at + 1,
      day: `2026-10-1${at}`,
      visitors: n,
      price: n * 1.5,
    }));
    const [chart, other] = [await give("Days", days), await give("Others", days)];
    const browser = new Browser(api);
    const shown = await browser.open(path);
    assert.match(textOf(shown), /Days id visitors price visitors by day/);
    assert.equal(
      /href="([^"]*)">price<\/a><\/nav>/.exec(shown.text)?.[1],
      `?${chart}=price#${chart}`,
    );
    const chosen = await browser.open(`${path}?${chart}=price`);
    assert.match(textOf(chosen), /price by day .*visitors by day/, "of one chart");
    assert.ok(
      chosen.text.includes(`?${chart}=price&amp;${other}=id#${other}`),
      "and it stays when another is chosen",
    );
    assert.ok(
      chosen.text.includes(`"?${chart}=visitors#${chart}"`),
      "a new choice takes the place of the old one",
    );
    const answer = await click(browser, `${path}?${chart}=price`, "12 Oct 2026, 12 price");
    assert.equal(answer.header("location"), `./?chart=${chart}&point=2&${chart}=price#${chart}`);
    assert.match(
      textOf(await browser.open(path + answer.header("location").slice(2))),
      /Sent: 12 Oct 2026, 12 price/,
    );
    assert.deepEqual((await interactions(api)).at(-1)?.data_point, {
      x: "2026-10-12",
      y: 12,
      category: null,
    });
    assert.match(
      textOf(await browser.open(`${path}?${chart}=day&${chart}x=1`)),
      /visitors by day/,
      "of numbers only",
    );
  },
);

choice(
  "8.bounds.page",
  "a page shows 30 columns of a table and 200 characters of a cell",
  async ({ api }) => {
    const { path, give } = await deployed(api);
    const id = await give("Wide", [
      Object.fromEntries(many(31, (at) => [`c${at}.`, "x".repeat(201)])),
    ]);
    await give(
      "Long",
      many(3, (n) => ({ at: `2026-01-0${n + 1}`, ["y".repeat(5_000)]: n * n, z: n })),
    );
    const { browser } = await person(api);
    for (const wide of [
      await browser.open(path),
      await browser.open(`/dashboard/data-sources/${id}`),
    ]) {
      assert.match(textOf(wide), /c29\..*The first 30 of 31 columns/);
      assert.match(textOf(wide), /x{199}…/);
      assert.doesNotMatch(wide.text, /c30\.|x{200}|y{200}/, "nor a longer name of a column");
    }
  },
);

choice(
  "8.bounds.page",
  "data sources beyond one megabyte of page move to the next page",
  async ({ api }) => {
    const { path, give } = await deployed(api);
    const row = Object.fromEntries(many(30, (at) => [`c${at}`, "x".repeat(200)]));
    await give("Broken", BROKEN);
    await give("Large", Array(200).fill(row));
    const chart = await give("Revenue", SALES);
    const browser = new Browser(api);
    const first = await browser.open(path);
    assert.match(textOf(first), /Large .*Go on to the other 1 of 3 data sources/);
    assert.doesNotMatch(textOf(first), /Revenue/);
    const next = path + /href="(\?from=\d+)"/.exec(first.text)?.[1];
    const last = await browser.open(next);
    assert.match(textOf(last), /Revenue/);
    assert.doesNotMatch(textOf(last), /Large|Go on/);
    assert.match(last.text, /<a href="\.\/">Back to the first of 3/);
    assert.doesNotMatch(textOf(await browser.open(`${path}?from=3`)), /has no data/);
    const sent = await click(browser, next, "January 2026, 20\\.5 revenue, South");
    assert.equal(
      sent.header("location"),
      `./?chart=${chart}&point=1&from=2#${chart}`,
      "back to the same page",
    );
  },
);

choice(
  "2.themes.drawn",
  "the themes light and dark are fixed, and any other name follows the visitor's system",
  async ({ api }) => {
    for (const [theme, drawn] of Object.entries({
      light: "light",
      dark: "dark",
      "<sea>": "light dark",
    })) {
      const { text } = await (await deployed(api, { theme })).page();
      assert.ok(text.includes(`name="color-scheme" content="${drawn}"`), theme);
    }
  },
);

choice(
  "4.app-endpoints.interaction-user",
  "a click reports the point as the data contain it, and the user",
  TWO,
  async (own) => {
    const { api } = own;
    const { app, path, give } = await deployed(api);
    const chart = await give("Revenue", SALES);
    const browser = new Browser(api);
    const actions = formsOf(await browser.open(path)).map(({ action }) => action);
    assert.deepEqual(actions, ["interactions?"]);
    const answer = await click(browser, path, "January 2026, 20\\.5 revenue, South");
    assert.deepEqual(
      [answer.status, answer.header("location")],
      [303, `./?chart=${chart}&point=1#${chart}`],
    );
    const back = await browser.open(`${path}?chart=${chart}&point=1`);
    assert.match(textOf(back), /Sent: January 2026, 20\.5 revenue, South/);
    await click(browser, path, "February 2026, -4 revenue, North");
    const [member, stranger] = [await person(api, []), await person(api.as(B_KEY), ["admin"])];
    for (const who of [member, stranger])
      await click(who.browser, path, "January 2026, 10 revenue, North");
    const [first, second, third, fourth] = await interactions(api);
    const user_id = str(first?.user_id);
    assert.match(user_id, /^visitor_[0-9a-f]{20}$/);
    const common = { app_id: app, user_id, interaction_type: "chart_click", chart_id: chart };
    assert.deepEqual(first, {
      ...common,
      data_point: { x: "2026-01", y: 20.5, category: "South" },
    });
    assert.deepEqual(
      second,
      { ...common, data_point: { x: "2026-02", y: -4, category: "North" } },
      "the same visitor",
    );
    assert.equal(third?.user_id, member.id, "a user of the account is named");
    assert.match(str(fourth?.user_id), /^visitor_/, "a user of another account is a visitor");
    assertPage(await stranger.browser.open((await deployed(api, { public: false })).path), 404);
  },
);

choice(
  "2.data-reading.exact",
  "a text column is never a numeric axis, and a click reports the full text",
  async (own) => {
    const { api } = own;
    const { path, give } = await deployed(api);
    await give("Orders", "order,total\n9007199254740993,1.50\n9007199254740995,2.25\n");
    const browser = new Browser(api);
    assert.match(textOf(await browser.open(path)), /total by order/);
    await click(browser, path, "9007199254740993, 1\\.5 total");
    const point = { x: "9007199254740993", y: 1.5, category: null };
    assert.deepEqual((await interactions(api)).at(-1)?.data_point, point);
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
    const whole = { csrf, chart, point: "0" };
    assertPage(await browser.post(action, whole, "https://evil.example"), 403);
    assertPage(await browser.post(action, { chart, point: "0" }), 403);
    assertPage(await new Browser(api).post(action, whole), 403);
    const points = ["3", "4", "-1", ""].map((point) => ({ point }));
    for (const wrong of [...points, { chart: foreign }, { chart: "ds_0" }])
      assertPage(await browser.post(action, { ...whole, ...wrong }), 404);
    assert.equal((await interactions(api)).length, before);
    const wrong = await browser.request("GET", action);
    assertPage(wrong, 405);
    assert.equal(wrong.header("allow"), "POST, OPTIONS");
  },
);

const TIGHT = { rateLimit: 12, clock: "manual" } as const;
choice(
  "8.rate-limit.visitors",
  "the pages and clicks of a deployment share a rate limit",
  TIGHT,
  async ({ api, service }) => {
    const { app, path } = await deployed(api);
    const { id: chart } = await api.create("/data-sources", {
      name: "R",
      type: "csv",
      app_id: app,
      data: SALES,
    });
    await service.settled();
    const browser = new Browser(api);
    const csrf = csrfOf(await browser.open(path));
    const clicked = () => browser.post(`${path}interactions`, { csrf, chart, point: "0" });
    for (let n = 2; n <= 11; n += 1)
      assert.equal((await browser.request("GET", path)).status, 200, String(n));
    assert.equal((await clicked()).status, 303, "the twelfth");
    assertPage(await clicked(), 403);
    const refused = await browser.open(path);
    assert.match(assertPage(refused, 403), /Too many requests; the next window starts in 60 s/);
    assert.equal(refused.header("retry-after"), "60");
    assert.equal(
      (await api.get("/apps")).status,
      200,
      "the account's own requests are not used up",
    );
    assertSite(await browser.open((await deployed(api)).path));
    await service.clock.advance("60000ms");
    assertSite(await browser.open(path));
    assert.equal((await clicked()).status, 303);
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
      const asked = await api.root.as(null).send(method, next);
      const location = `/dashboard/sign-in?${new URLSearchParams({ next })}`;
      assert.deepEqual([asked.status, asked.header("location")], [303, location]);
    }
    // A script would treat any redirect as the success of its request.
    const signedOut = await new Browser(api).post(`${path}interactions`, {});
    assert.match(assertPage(signedOut, 403), /You are signed out Nothing was sent\. Sign in/);
    assert.ok(signedOut.text.includes(`href="${path}"`));
    for (const may of ["read:apps", "admin"])
      assertSite(await (await person(api, [may])).browser.open(path));
    const { browser } = await person(api, ["read:data", "write:apps"]);
    assert.match(assertPage(await browser.open(path), 403), /takes the permission read:apps/);
  },
);

choice(
  "3.redeploy.site",
  "the address of a retired or deleted deployment says that it has ended",
  async ({ api }) => {
    const { app, path } = await deployed(api);
    for (const query of ["", "?from=1"]) {
      const bare = await page(api, path.slice(0, -1) + query);
      assert.deepEqual(
        [bare.status, bare.header("location")],
        [303, path + query],
        "to the one with its last slash",
      );
    }
    assertPage(await page(api, `${path}more`), 404);
    assert.equal((await api.root.as(null).head(path)).text, "");
    const next = await api.create(`/apps/${app}/deploy`, { name: "R2" });
    const retired = await page(api, path);
    assertPage(retired, 410);
    assert.ok(retired.text.includes(`href="${str(next.url)}"`), "and leads to what took its place");
    await api.patch(`/apps/${app}`, { public: false });
    assert.ok(!(await page(api, path)).text.includes(next.id), "but not where that is private");
    assert.ok(
      (await (await owner(api)).open(path)).text.includes(next.id),
      "unless one may see it",
    );
    await api.delete(`/apps/${app}`);
    for (const over of [new URL(str(next.url)).pathname, path])
      assertPage(await page(api, over), 410);
    assert.equal((await page(api, path.slice(0, -1))).status, 410);
    for (const nowhere of [
      "/sites",
      "/sites/",
      "/sites/dep_00000000000000000000000/",
      "/sites/../v1/",
      `${path}x`,
    ])
      assert.ok([404, 410].includes((await page(api, nowhere)).status), nowhere);
  },
);

choice(
  "5.scope-per-endpoint.viewers",
  "the sites of a suspended account are not shown, and those of a limited account are",
  {},
  async (own) => {
    const { api, service } = own;
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
const at = (api: Client, host: string, path: string) => api.root.as(null).get(path, { host });

choice(
  "3.custom-domain.private-app",
  "a custom domain serves its site at / and never hides the server's own addresses",
  async ({ api, authUrl }) => {
    const custom_domain = freshHost();
    const { app, path } = await deployed(api, { title: "Under a name" }, { custom_domain });
    for (const host of [
      custom_domain,
      `${custom_domain.toUpperCase()}:8443`,
      `${custom_domain}.`,
    ]) {
      const shown = await at(api, host, "/");
      assert.match(assertSite(shown), /Under a name/, host);
      const style = /href="(\/assets\/style[^"]*)"/.exec(shown.text)?.[1] ?? "";
      assert.equal((await at(api, host, style)).status, 200);
    }
    const whole = `GET http://${custom_domain} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
    assert.match(
      textOf(await rawAnswer(authUrl, whole)),
      /Under a name/,
      "a whole URL decides, not the Host",
    );
    for (const other of ["/apps", "/index.html", "/.well-known/unknown"])
      assertPage(await at(api, custom_domain, other), 404);
    const named = [
      "/v1/apps",
      "/dashboard",
      "/docs",
      "/healthz",
      "/openapi.json",
      "/oauth/token",
      path,
    ];
    const statuses = await Promise.all(
      named.map(async (address) => (await at(api, custom_domain, address)).status),
    );
    assert.deepEqual(
      statuses,
      [401, 403, 200, 200, 200, 405, 200],
      "no domain takes the server's own addresses away",
    );
    assert.equal(
      (await at(api, freshHost(), "/healthz")).status,
      200,
      "any other name is the server itself",
    );
    const newer = await api.create(`/apps/${app}/deploy`, {
      name: "R2",
      environment: "staging",
      custom_domain,
    });
    assert.equal((await at(api, custom_domain, "/")).status, 200);
    await api.patch(`/apps/${app}`, { public: false });
    const led = await at(api, custom_domain, "/?from=1");
    assert.deepEqual(
      [led.status, led.header("location")],
      [303, `${newer.url}?from=1`],
      "where one can sign in",
    );
    const second = await page(api, `${new URL(str(newer.url)).pathname}?from=1`);
    assert.match(
      second.header("location"),
      /next=.*%3Ffrom%3D1$/,
      "and comes back to the page that one was at",
    );
    await api.delete(`/apps/${app}`);
    assert.equal(
      (await at(api, custom_domain, "/")).header("location"),
      "/dashboard",
      "the name is free again",
    );
  },
);

choice(
  "3.custom-domain.private-app",
  "a custom domain serves its site even if a deployment is retired during the request",
  async () => {
    const real = memoryStore();
    let retired = 0;
    const count: Store["count"] = async (...asked) => {
      const counted = (await real.count(...asked)) + retired;
      retired = 0;
      return counted;
    };
    await withService({ store: overridden(real, { count }) }, async ({ api }) => {
      const custom_domain = freshHost();
      await deployed(api, {}, { custom_domain });
      retired = 1;
      assertSite(await at(api, custom_domain, "/"));
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
    const clicked = async (origin: string) => {
      const headers = {
        host: custom_domain,
        origin,
        "content-type": "application/x-www-form-urlencoded",
      };
      return (await visitor.request("POST", "/interactions", headers, body)).status;
    };
    const own = `http://${custom_domain}`;
    assert.deepEqual([await clicked("https://evil.example"), await clicked(own)], [403, 303]);
    assert.equal((await interactions(api)).at(-1)?.app_id, app);
    await api.patch(`/apps/${app}`, { public: false });
    assert.equal(await clicked(own), 403, "and none that is not sent is led on");
  },
);
