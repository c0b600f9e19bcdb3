// User journeys in a real browser against a real server: with the script, without it, and by keyboard alone.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { follow, inBrowser, press, type Stage, sees } from "../support/chromium.ts";
import { type Client, members, str } from "../support/client.ts";
import { FIXED } from "../support/embedded.ts";
import { PKCE } from "../support/oauth.ts";
import { hooked, httpReceiver } from "../support/receivers.ts";
import { deployed, interactions } from "../support/sites.ts";
import { eventually } from "../support/wait.ts";

const MANUAL = { service: { clock: "manual" } } as const;
const SALES =
  "month,region,revenue\n2026-01,North,10\n2026-01,South,20\n2026-02,North,30\n2026-02,South,40\n";

/** A public app with data, deployed; returns its URL. */
async function sales(api: Client): Promise<string> {
  const { path, give } = await deployed(api, { title: "Sales overview" });
  await give("Revenue", SALES);
  return path;
}

inBrowser("a user can go from the printed sign-in link to a redelivery", MANUAL, async (stage) => {
  const { api, context, page, go } = stage;
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await follow(page, "Settings", "Generate new key");
  await page.getByLabel("Name").fill("Build server");
  await press(page, "Generate new key", "Copy");
  await sees(page, "Copied");
  const key = String(await page.evaluate("navigator.clipboard.readText()"));
  assert.equal((await api.as(key).get("/apps")).status, 200, "the copied key works");

  const receiver = await httpReceiver((count) => (count === 1 ? 500 : 204));
  await follow(page, "Webhooks", "Register webhook");
  await page.getByLabel("URL").fill(receiver.url);
  await page.getByLabel("user.interaction").check();
  await press(page, "Register webhook");
  await sees(page, "Its secret");
  await sees(page, "No deliveries yet");
  await sees(page, "Live");

  const site = await context.newPage();
  await go("/dashboard/apps/new", site);
  await site.getByLabel("Title").fill("Sales overview");
  await site.getByLabel("Public").check();
  await press(site, "Create app");
  await follow(site, "Add data");
  await site.getByLabel("Name").fill("Revenue");
  await site
    .getByLabel("Data")
    .setInputFiles({ name: "sales.csv", mimeType: "text/csv", buffer: Buffer.from(SALES) });
  await press(site, "Upload");
  await sees(site, "ready");
  await follow(site, "Sales overview");
  await site.getByText("Deploy", { exact: true }).first().click();
  await site.getByLabel("Name").fill("Release 1");
  await press(site, "Deploy");
  await follow(site, "Open");
  await press(site, "February 2026, 30 revenue, North");
  await site.locator("output", { hasText: "Sent: February 2026, 30 revenue, North" }).waitFor();

  await sees(page, "1 attempt");
  const { data } = members(JSON.parse(receiver.got[0]?.body ?? ""));
  const { data_point, interaction_type } = members(members(data).object);
  assert.deepEqual(
    [interaction_type, data_point],
    ["chart_click", { x: "2026-02", y: 30, category: "North" }],
  );
  assert.equal(new URL(site.url()).search, "", "the page was not loaded again");
  await follow(page, "user.interaction · Sales overview");
  await sees(page, "X-Service-Signature");
  await press(page, "Send again");
  await sees(page, "succeeded");
  await sees(page, "by hand");
  assert.equal(receiver.got.length, 2);
  assert.equal((await interactions(api)).length, 1);
});

inBrowser(
  "the page polls the log every two seconds, and only while it is visible",
  async (stage) => {
    const { api, page, go, service } = stage;
    const { id } = (await hooked(api, ["app.created"])).webhook;
    await page.clock.install({ time: service.clock.now() });
    await go(`/dashboard/settings/webhooks/${id}`);
    await sees(page, "Live");
    await page.clock.pauseAt(service.clock.now() + 60_000);
    const statuses: number[] = [];
    page.on("response", (response) => void statuses.push(response.status()));
    /** Earlier requests may still be open, so this waits for a response with this status. */
    const answered = async (status: number) => {
      statuses.length = 0;
      while (!statuses.includes(status)) await page.clock.runFor(2_000);
    };
    await answered(304);
    await api.create("/apps", { title: "Told of" });
    await answered(200);
    await sees(page, "app.created · Told of");
    const look = (hidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, "hidden", { value: ${hidden}, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));`);
    await look(true);
    const asked: string[] = [];
    page.on("request", (request) => void asked.push(request.url()));
    await page.clock.runFor(60_000);
    assert.deepEqual(asked, [], "nobody looks");
    const answer = page.waitForResponse((response) => response.url().includes(str(id)));
    await look(false);
    assert.ok((await answer).status() < 400, "at once when somebody looks again");
  },
);

/** The README's picture of the page, stored beside this file; TEST_PICTURES=1 creates it anew. */
const PICTURE = fileURLToPath(new URL("delivery-log.png", import.meta.url));

inBrowser(
  "the delivery log shows the request, the response and the next attempt",
  MANUAL,
  async (stage) => {
    const { api, page, go, service } = stage;
    const { webhook } = await hooked(api, ["app.created", "app.deployed"], {}, [500, 200]);
    const app = await api.create("/apps", { title: "Harbour sales" });
    await service.settled();
    await api.create(`/apps/${app.id}/deploy`, { name: "Release 1" });
    await service.settled();
    await page.setViewportSize({ width: 960, height: 660 });
    await page.clock.setFixedTime(service.clock.now());
    await go(`/dashboard/settings/webhooks/${webhook.id}`);
    const rows = (await page.locator(".list li").allInnerTexts()).map((text) =>
      text.replace(/\s+/g, " "),
    );
    assert.match(rows[0] ?? "", /^app\.deployed · Harbour sales .* · 1 attempt 200 succeeded$/);
    assert.match(
      rows[1] ?? "",
      /^app\.created · Harbour sales .* · 1 attempt 500 · Next attempt: .* pending$/,
    );
    if (process.env.TEST_PICTURES === "1") await page.screenshot({ path: PICTURE });
  },
);

const IN_TOKYO = {
  service: FIXED,
  browser: { timezoneId: "Asia/Tokyo", locale: "en-GB" },
} as const;

inBrowser(
  "times are in the reader's time zone, relative if recent, and exact in UTC on hover",
  IN_TOKYO,
  async (stage) => {
    const { service, api, page, go } = stage;
    const { id } = await api.create("/apps", { title: "Old" });
    const shown = page.locator(`li:has(#${id}) time`);
    await go("/dashboard/apps");
    assert.equal(await shown.textContent(), "1 Jan 2026, 09:00:00");
    assert.equal(await shown.getAttribute("title"), "2026-01-01 00:00:00 UTC");
    await page.clock.setFixedTime(service.clock.now() + 90_000);
    await page.reload();
    assert.match(String(await shown.textContent()), /^[12] min\.? ago$/);
  },
);

inBrowser("a point is reported as sent only after it was sent successfully", async (stage) => {
  const { page, go } = stage;
  await go(await sales(stage.api));
  const meanwhile: unknown[] = [];
  const look = async () => [
    await page.locator("output").innerText(),
    await page.locator("[aria-current]").count(),
  ];
  await page.route("**/interactions*", async (route) => {
    meanwhile.push(...(await look()));
    await route.fulfill({ status: 200 });
  });
  await press(page, "February 2026, 30 revenue, North");
  await sees(page, "This could not be sent");
  assert.deepEqual([...meanwhile, (await look())[1]], ["Choose a point to send it.", 0, 0]);
});

inBrowser("a point can be found and sent by keyboard alone", async (stage) => {
  const { page, go } = stage;
  await go(await sales(stage.api));
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate("document.activeElement.className"), "skip");
  const current = () => page.evaluate("document.activeElement.ariaLabel");
  await page.keyboard.press("Tab");
  assert.equal(await current(), "January 2026, 10 revenue, North", "a chart is one stop");
  for (const [key, title] of [
    ["ArrowRight", "January 2026, 20 revenue, South"],
    ["Alt+ArrowRight", "January 2026, 20 revenue, South"],
    ["End", "February 2026, 40 revenue, South"],
    ["ArrowRight", "February 2026, 40 revenue, South"],
    ["ArrowLeft", "February 2026, 30 revenue, North"],
    ["Home", "January 2026, 10 revenue, North"],
    ["ArrowLeft", "January 2026, 10 revenue, North"],
    ["ArrowDown", "January 2026, 20 revenue, South"],
  ] as const) {
    await page.keyboard.press(key);
    assert.equal(await current(), title, key);
  }
  const sent = page.waitForResponse((response) => response.request().method() === "POST");
  await page.keyboard.press("Enter");
  await sent;
  const [{ data_point } = {}, ...more] = await interactions(stage.api);
  assert.deepEqual([data_point, more], [{ x: "2026-01", y: 20, category: "South" }, []]);
  await page.keyboard.press("Tab");
  assert.equal(
    await page.evaluate("document.activeElement.localName"),
    "summary",
    "and one stop only",
  );
});

/** A client that requests this scope: its authorization URL, and the parameters of its redirect. */
async function client({ api, page, hosts }: Stage, scope: string) {
  const { url: back } = await httpReceiver();
  hosts.add(new URL(back).host);
  const { id } = await api.create("/oauth-clients", {
    name: "Mailer",
    redirect_uris: [back],
    scopes: [scope],
  });
  const query = { client_id: id, redirect_uri: back, response_type: "code", scope, state: "s" };
  const brought = async () => {
    await page.waitForURL(`${back}*`);
    const { searchParams: found } = new URL(page.url());
    return [found.get("error"), found.get("state"), found.has("code")];
  };
  return { asks: `/oauth/authorize?${new URLSearchParams(query)}`, brought };
}

inBrowser("a user can allow and deny an OAuth app", async (stage) => {
  const { asks, brought } = await client(stage, "read:apps");
  for (const [button, found] of [
    ["Deny", ["access_denied", "s", false]],
    ["Allow", [null, "s", true]],
  ] as const) {
    await stage.go(asks);
    await press(stage.page, button);
    assert.deepEqual(await brought(), found);
  }
});

inBrowser(
  "a client that lacks permission gets access_denied, even if the user signs in on the way",
  async (stage) => {
    const { api, page } = stage;
    const { asks, brought } = await client(stage, "write:apps");
    const user = await api.create("/users", {
      email: "reader@example.com",
      permissions: ["read:apps"],
    });
    await page.context().clearCookies();
    await page.goto(`${user.sign_in_url}&${new URLSearchParams({ next: asks })}`);
    await press(page, "Sign in");
    assert.deepEqual(await brought(), ["access_denied", "s", false]);
  },
);

inBrowser(
  "a native app gets the response at its private-use scheme, even if the user signs in on the way",
  async (stage) => {
    const { api, context, hosts, go } = stage;
    const [redirect_uri, scope] = ["com.example.app:/callback", "write:apps"];
    const draft = { name: "Phone", redirect_uris: [redirect_uri], scopes: [scope], public: true };
    const { id } = await api.create("/oauth-clients", draft);
    const sent = { client_id: id, redirect_uri, response_type: "code", scope, state: "s", ...PKCE };
    const asks = `/oauth/authorize?${new URLSearchParams(sent)}`;
    // No program here has the scheme, so the browser's request for it fails. Its URL has no host.
    hosts.add("");
    const answered = async (press: (page: Page) => Promise<void>) => {
      const page = await context.newPage();
      const request = page.waitForRequest((each) => each.url().startsWith(redirect_uri));
      await press(page);
      const { searchParams: found } = new URL((await request).url());
      return [found.get("error"), found.get("state"), found.has("code")];
    };
    for (const [button, found] of [
      ["Deny", ["access_denied", "s", false]],
      ["Allow", [null, "s", true]],
    ] as const)
      assert.deepEqual(
        await answered((page) => go(asks, page).then(() => press(page, button))),
        found,
      );
    const user = await api.create("/users", {
      email: "reader@example.com",
      permissions: ["read:apps"],
    });
    await context.clearCookies();
    const signIn = async (page: Page) => {
      await page.goto(`${user.sign_in_url}&${new URLSearchParams({ next: asks })}`);
      await press(page, "Sign in");
    };
    assert.deepEqual(await answered(signIn), ["access_denied", "s", false]);
  },
);

inBrowser(
  "a user with an internationalized e-mail address can request a sign-in link",
  async ({ api, context, page, go }) => {
    await api.create("/users", { email: "jürgen@exämple.com" });
    await context.clearCookies();
    await go("/dashboard/sign-in");
    await page.getByLabel("E-mail address").fill("jürgen@exämple.com");
    await press(page, "Ask for a link");
    await sees(page, "Look at the console");
  },
);

inBrowser(
  "a live page adds new entries, updates its heading and keeps the focus of a link",
  async ({ api, page, go }) => {
    const { id } = await api.create("/apps", { title: "Before" });
    const deploy = (environment: string) =>
      api.create(`/apps/${id}/deploy`, { name: "Main", environment });
    const { url } = await deploy("production");
    await go(`/dashboard/apps/${id}`);
    const open = page.locator("[data-follow] a:not([id])", { hasText: "Open" });
    await open.focus();
    await deploy("staging");
    await open.nth(1).waitFor();
    await api.patch(`/apps/${id}`, { title: "After" });
    await page.getByRole("heading", { name: "After" }).waitFor();
    assert.equal(await page.evaluate("document.activeElement.href"), url);
  },
);

inBrowser(
  "the contents of a code box can be copied, even on a live page",
  async ({ api, context, page, go }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await go("/docs/endpoints");
    const box = page.locator("#createApp .code").first();
    await press(box, "Copy");
    await sees(page, "Copied");
    const copied = String(await page.evaluate("navigator.clipboard.readText()"));
    assert.equal(copied, await box.locator("pre").textContent());
    assert.match(copied, /^curl -X POST /);
    const { webhook } = await hooked(api, ["app.created"]);
    await api.create("/apps", { title: "Told of" });
    await go(`/dashboard/events/${str((await api.get("/events")).items[0]?.id)}`);
    await sees(page, "Live");
    await press(page, "Copy");
    assert.match(
      String(await page.evaluate("navigator.clipboard.readText()")),
      /"title": "Told of"/,
    );
    const log = `/webhooks/${webhook.id}/deliveries`;
    await api.post(`${log}/${str((await api.get(log)).items[0]?.id)}/redeliver`);
    await sees(page, "attempt 2, manual");
    assert.equal(
      await page.evaluate("document.activeElement.textContent"),
      "Copy",
      "and keeps the focus",
    );
  },
);

inBrowser("an app can be created and deleted by keyboard alone", async ({ api, page, go }) => {
  await go("/dashboard/apps/new");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  const focused =
    "(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()";
  const next = async (label: string) => {
    for (let tabs = 0; tabs < 20; tabs += 1) {
      await page.keyboard.press("Tab");
      if ((await page.evaluate(focused)) === label) return;
    }
    assert.fail(`${label} is not reached`);
  };
  await next("Title");
  await page.keyboard.type("By hand");
  await page.keyboard.press("Enter");
  await sees(page, "Created.");
  assert.equal((await api.get("/apps")).items[0]?.title, "By hand");
  await next("Delete");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Delete By hand" }).waitFor();
  await next("Delete");
  await page.keyboard.press("Enter");
  await sees(page, "Deleted.");
  assert.equal((await api.get("/apps")).json.total, 0);
});

inBrowser(
  "everything works without the script",
  { browser: { javaScriptEnabled: false } },
  async (stage) => {
    const { api, page, go } = stage;
    const { next, received, webhook } = await hooked(api, ["user.interaction"]);
    await go("/dashboard/settings/api-keys/new");
    await page.getByLabel("Name").fill("Plain");
    await press(page, "Generate new key");
    assert.equal(await page.getByRole("button", { name: "Copy" }).count(), 0);
    assert.match(String(await page.locator("#secret").textContent()), /^ahs_/);
    await go(await sales(stage.api));
    await press(page, "February 2026, 40 revenue, South");
    await page.locator("output", { hasText: "Sent: February 2026, 40 revenue, South" }).waitFor();
    await page.getByText("The same as a table").click();
    await page.getByRole("cell", { name: "South" }).first().waitFor();
    const [{ data_point } = {}, ...more] = await interactions(stage.api);
    assert.deepEqual([data_point, more], [{ x: "2026-02", y: 40, category: "South" }, []]);
    await next("user.interaction");
    await go(`/dashboard/settings/webhooks/${webhook.id}`);
    await follow(page, "user.interaction · Sales overview");
    await press(page, "Send again");
    await sees(page, "Asked for.");
    await eventually(async () => received[0]?.attempts[1]);
    await page.getByRole("link", { name: "Webhook", exact: true }).click();
    await sees(page, "Delivery log");
  },
);
