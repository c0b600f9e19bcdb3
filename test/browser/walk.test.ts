// User journeys in a real browser against a real server: with the script and without it.
import assert from "node:assert/strict";
import { exec } from "node:child_process";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { follow, inBrowser, press, type Stage, sees } from "../support/chromium.ts";
import {
  begins,
  deployed,
  eventually,
  FIXED,
  hooked,
  httpReceiver,
  interactions,
  members,
  PKCE,
} from "../support/index.ts";

const MANUAL = { service: { clock: "manual" } } as const;
const SALES =
  "month,region,revenue\n2026-01,North,10\n2026-01,South,20\n2026-02,North,30\n2026-02,South,40\n";

inBrowser(
  "a user can go from signing in to a redelivery",
  MANUAL,
  async ({ api, context, page, go }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await follow(page, "Settings", "Generate new key");
    await page.getByLabel("Name").fill("Build server");
    await press(page, "Generate new key");
    await press(page.locator(".code:has(#secret)"), "Copy");
    await sees(page, "Copied");
    const key = String(await page.evaluate("navigator.clipboard.readText()"));
    (await api.as(key).get("/apps")).is(200, "the copied key works");

    const receiver = await httpReceiver((count) => (count === 1 ? 500 : 204));
    await follow(page, "Webhooks", "Register webhook");
    await page.getByLabel("URL").fill(receiver.url);
    await page.getByLabel("user.interaction").check();
    await press(page, "Register webhook");
    await sees(page, "Copy it now");
    await follow(page, "Continue");
    await sees(page, "No deliveries yet. Send a test event to see one.");
    await sees(page, "Updates live");

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
    await sees(site, "Ready");
    await site.locator("dd a").click();
    await site.getByText("Deploy", { exact: true }).first().click();
    await site.getByLabel("Name").fill("Release 1");
    await press(site, "Deploy");
    await follow(site, "Open");
    await press(site, "2026-02, 30 revenue, North");
    await site.locator("output", { hasText: "Sent: 2026-02, 30 revenue, North" }).waitFor();
    await follow(site, "Open the event");
    await sees(site, "chart_click");

    await sees(page, "Pending");
    const { data } = members(JSON.parse(receiver.got[0]?.body ?? ""));
    const { data_point, interaction_type } = members(members(data).object);
    assert.deepEqual(
      [interaction_type, data_point],
      ["chart_click", { x: "2026-02", y: 30, category: "North" }],
    );
    await follow(page, "user.interaction");
    await page.getByText("Headers").click();
    await sees(page, "X-Service-Signature");
    await press(page, "Copy as curl");
    await sees(page, "Copied");
    await promisify(exec)(String(await page.evaluate("navigator.clipboard.readText()")));
    const [sent, copy] = receiver.got;
    assert.equal(copy?.body, sent?.body);
    const signature = copy?.headers["x-service-signature"];
    assert.ok(signature && signature === sent?.headers["x-service-signature"]);
    await press(page, "Redeliver");
    await sees(page, "Succeeded");
    await sees(page, "manual");
    assert.equal(receiver.got.length, 3);
    assert.equal((await interactions(api)).length, 1);
  },
);

inBrowser(
  "a live page follows changes every two seconds, and only while it is visible",
  async ({ api, page, go }) => {
    const { id } = await api.create("/apps", { title: "Before" });
    await page.clock.install();
    await go(`/dashboard/apps/${id}?done=new`);
    await sees(page, "Updates live");
    await api.create(`/apps/${id}/deploy`, { name: "Main" });
    await api.patch(`/apps/${id}`, { title: "After" });
    await page.clock.runFor(2_000);
    await page.getByRole("heading", { name: "After" }).waitFor();
    assert.equal(await page.locator("[data-follow] .list a").innerText(), "Main");
    const setHidden = (hidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, "hidden", { value: ${hidden}, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));`);
    await setHidden(true);
    const urls: string[] = [];
    page.on("request", (request) => void urls.push(request.url()));
    await page.clock.runFor(60_000);
    assert.deepEqual(urls, []);
    const response = page.waitForResponse((each) => each.url().endsWith(id));
    await setHidden(false);
    assert.ok((await response).ok());
  },
);

inBrowser(
  "a failed delivery is found and sent again by keyboard alone",
  MANUAL,
  async ({ api, page, go, service }) => {
    const { received } = await hooked(api, ["app.created"], {}, [500, 200]);
    await api.create("/apps", { title: "Harbour sales" });
    await service.settled();
    await go("/dashboard");
    for (const name of ["Settings", "Webhooks", "http", "app.created", "Redeliver"]) {
      const target = page.locator("a, button").filter({ hasText: name }).first();
      await target.waitFor();
      const isFocused = async () => (await target.and(page.locator(":focus")).count()) > 0;
      for (let tabs = 0; tabs < 40 && !(await isFocused()); tabs += 1)
        await page.keyboard.press("Tab");
      assert.ok(await isFocused(), name);
      await page.keyboard.press("Enter");
      await page.waitForLoadState();
    }
    await sees(page, "Delivered on attempt 2: 200");
    assert.equal(received[0]?.attempts.length, 2);
  },
);

/** The README's picture of the page; TEST_PICTURES=1 creates it anew. */
const PICTURE = "test/browser/delivery-log.png";

inBrowser(
  "the delivery log shows the request, the response and the next attempt",
  MANUAL,
  async ({ api, page, go, service }) => {
    const { webhook } = await hooked(api, ["app.created", "app.deployed"], {}, [500, 200]);
    const app = await api.create("/apps", { title: "Harbour sales" });
    await service.settled();
    await api.create(`/apps/${app.id}/deploy`, { name: "Release 1" });
    await service.settled();
    await page.setViewportSize({ width: 960, height: 660 });
    await page.clock.setFixedTime(service.clock.now());
    await go(`/dashboard/settings/webhooks/${webhook.id}`);
    const rows = (await page.locator(".list tbody tr").allInnerTexts()).map((text) =>
      text.replace(/\s+/g, " "),
    );
    begins(rows[0], "app.deployed Harbour sales Succeeded 200 1 None ");
    assert.match(rows[1] ?? "", /^app\.created Harbour sales Retrying 500 1 in \d seconds/);
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
  async ({ service, api, page, go }) => {
    const { id } = await api.create("/apps", { title: "Old" });
    const shown = page.locator(`#${id} time`);
    await go("/dashboard/apps");
    assert.equal(await shown.textContent(), "1 Jan 2026, 09:00:00");
    assert.equal(await shown.getAttribute("title"), "2026-01-01 00:00:00 UTC");
    await page.clock.setFixedTime(service.clock.now() + 90_000);
    await page.reload();
    assert.match(String(await shown.textContent()), /^[12] minutes? ago$/);
  },
);

/** A public client: its authorization URL, and the parameters of the redirect that a page's `act` ends with. */
async function client({ api, context, hosts }: Stage, redirect_uri: string) {
  const scope = "write:apps";
  const draft = { name: "Mailer", redirect_uris: [redirect_uri], scopes: [scope], public: true };
  const { id } = await api.create("/oauth-clients", draft);
  const query = { client_id: id, redirect_uri, response_type: "code", scope, state: "s", ...PKCE };
  hosts.add(new URL(redirect_uri).host);
  const returned = async (act: (page: Page) => Promise<void>) => {
    const page = await context.newPage();
    // No program here has the private-use scheme, so the browser's request for it fails.
    const request = page.waitForRequest((each) => each.url().startsWith(redirect_uri));
    await act(page);
    const { searchParams } = new URL((await request).url());
    return [searchParams.get("error"), searchParams.get("state"), searchParams.has("code")];
  };
  return { url: `/oauth/authorize?${new URLSearchParams(query)}`, returned };
}

inBrowser(
  "a web or native app gets the user's decision, even if the user signs in on the way",
  async (stage) => {
    const { api, context, go } = stage;
    const clients = [
      await client(stage, (await httpReceiver()).url),
      await client(stage, "com.example.app:/callback"),
    ];
    await api.create("/users", { email: "reader@example.com", permissions: ["read:apps"] });
    for (const [button, found] of [
      ["Deny", ["access_denied", "s", false]],
      ["Allow", [null, "s", true]],
      // This user may not grant the scope.
      ["Continue as reader@example.com", ["access_denied", "s", false]],
    ] as const)
      for (const { url, returned } of clients) {
        if (button.startsWith("Continue")) await context.clearCookies();
        const act = (page: Page) => go(url, page).then(() => press(page, button));
        assert.deepEqual(await returned(act), found, button);
      }
  },
);

inBrowser(
  "everything works without the script",
  { browser: { javaScriptEnabled: false } },
  async ({ api, page, go }) => {
    const { next, received, webhook } = await hooked(api, ["user.interaction"]);
    await go("/dashboard/settings/api-keys/new");
    await page.getByLabel("Name").fill("Plain");
    await press(page, "Generate new key");
    assert.equal(await page.getByRole("button", { name: "Copy" }).count(), 0);
    begins(await page.locator("#secret").textContent(), "ahs_");
    const { path, give } = await deployed(api);
    await give("Revenue", SALES);
    await go(path);
    await press(page, "2026-02, 40 revenue, South");
    await page.locator("output", { hasText: "Sent: 2026-02, 40 revenue, South" }).waitFor();
    await page.getByText("Show as table").first().click();
    await page.getByRole("cell", { name: "South" }).first().waitFor();
    const [{ data_point } = {}, ...more] = await interactions(api);
    assert.deepEqual([data_point, more], [{ x: "2026-02", y: 40, category: "South" }, []]);
    await next("user.interaction");
    await go(`/dashboard/settings/webhooks/${webhook.id}`);
    await follow(page, "user.interaction");
    await press(page, "Redeliver");
    await sees(page, "Queued. The result appears below.");
    await eventually(async () => received[0]?.attempts[1]);
    await page.getByRole("link", { name: "Back" }).click();
    await sees(page, "Delivery log");
  },
);
