// The delivery log in the dashboard (spec part 6: status, response codes and retry attempts under Settings, Webhooks), and how
// it comes up to date by itself.
import assert from "node:assert/strict";
import { Browser } from "../support/browser.ts";
import { choice } from "../support/clauses.ts";
import { str } from "../support/client.ts";
import { assertPage, owner, textOf } from "../support/dashboard.ts";
import { httpReceiver } from "../support/http-receiver.ts";
import { person } from "../support/oauth.ts";
import { eventually } from "../support/wait.ts";

const OWN = { clock: "manual" } as const;
const HOOKS = "/dashboard/settings/webhooks";

choice(
  "1.dashboard.live-log",
  "shows every attempt with its answer, what comes next, and sends again",
  OWN,
  async ({ api }) => {
    const receiver = await httpReceiver((count, response) => {
      response.writeHead(count === 1 ? 503 : 200).end(count === 1 ? "<down>" : "thanks");
      return undefined;
    });
    const browser = await owner(api);
    const filled = { url: receiver.url, "events.app.created": "on", active: "on" };
    const made = await browser.submit(await browser.open(`${HOOKS}/new`), HOOKS, filled);
    assertPage(made, 201);
    assert.match(made.text, /id="secret">[\w-]{43}</);
    const path = `${HOOKS}/${/wh_[0-9A-Za-z]{23}/.exec(made.text)?.[0]}`;
    assert.match(textOf(await browser.open(path)), /No deliveries yet/);
    await api.create("/apps", { title: "Told of" });
    const failed = await until(
      browser,
      path,
      /app\.created · Told of 2026-01-01 00:00:00 UTC · 1 attempt 503 · Next attempt: 2026-01-01 00:00:0[456] UTC pending/,
    );
    const one = `${path}/deliveries/${/dlv_[0-9A-Za-z]{23}/.exec(failed.text)?.[0]}`;
    const first = await browser.open(one);
    assert.match(textOf(first), /Attempt 1 2026-01-01 00:00:00 UTC · 0 ms .* 503 <down>/);
    assert.match(textOf(await browser.submit(first, `${one}/redeliver`, {})), /Queued\./);
    const sent = await until(browser, path, /2 attempts 503, 200 succeeded/);
    assert.match(textOf(await browser.open(one)), /Attempt 2 by hand .* 200 thanks/);
    assert.match(textOf(await browser.open(`${path}?status=failed`)), /Nothing is failed/);
    assert.match(textOf(await browser.open(`${path}?status=succeeded`)), /app\.created/);
    const tested = await browser.submit(sent, `${path}/test`, { type: "app.deleted" });
    assert.match(textOf(tested), /Queued\. .* app\.deleted · Sales overview · test/, "it leads to what was queued");
    await until(browser, path, /app\.deleted · Sales overview · test .* 1 attempt 200 succeeded/);
    const edit = await browser.open(`${path}/edit`);
    await browser.submit(edit, `${path}/edit`, { url: receiver.url, "events.app.deleted": "on" });
    assert.match(textOf(await browser.open(path)), / off Edit .* events app\.deleted/);
    assertPage(await browser.submit(edit, `${path}/edit`, { url: "http://10.0.0.1/" }), 422);
    await browser.submit(await browser.open(path), `${path}/delete`, {});
    assert.equal((await browser.open(path)).status, 404);
  },
);

/** The page as soon as it says this. */
const until = (browser: Browser, path: string, says: RegExp) =>
  eventually(async () => {
    const page = await browser.open(path);
    return says.test(textOf(page)) ? page : undefined;
  });

const HOOK = { url: "http://127.0.0.1:9/", events: ["app.created"] };

choice("1.dashboard.live-log", "is sent again only when it has changed", OWN, async ({ api }) => {
  const receiver = await httpReceiver();
  const hook = await api.create("/webhooks", { ...HOOK, url: receiver.url });
  const browser = await owner(api);
  const path = `${HOOKS}/${hook.id}`;
  const known = async (etag: string) => browser.request("GET", path, { "if-none-match": etag });
  const etag = (await browser.open(path)).header("etag");
  const same = await known(etag);
  assert.deepEqual([same.status, same.text, same.header("etag")], [304, "", etag]);
  assert.equal(same.header("cache-control"), "no-store");
  assert.equal((await known('"another"')).status, 200);
  await api.create("/apps", { title: "Told of" });
  const sent = await until(browser, path, /app\.created · Told of .* 1 attempt 200 succeeded/);
  assert.notEqual(sent.header("etag"), etag);
  assert.equal((await known(etag)).status, 200);
  assert.equal((await known(sent.header("etag"))).status, 304);
});

choice("1.dashboard.live-log", "is for those who may see the log, whatever they know of it", OWN, async ({ api }) => {
  const hook = await api.create("/webhooks", HOOK);
  const path = `${HOOKS}/${hook.id}`;
  const etag = (await (await owner(api)).open(path)).header("etag");
  const ask = (browser: Browser) => browser.request("GET", path, { "if-none-match": etag });
  assert.equal((await ask(new Browser(api))).status, 303);
  assert.equal((await ask((await person(api, ["read:apps"])).browser)).status, 403);
  assert.equal((await ask(await owner(api))).status, 200, "another's page has another's forms");
});

choice("1.dashboard.live-log", "each delivery has a page with every request beside its response", OWN, async (it) => {
  const { api, service } = it;
  const receiver = await httpReceiver((count, response) => {
    response.writeHead(count === 1 ? 500 : 200).end(count === 1 ? "<down>" : "thanks");
    return undefined;
  });
  const hook = await api.create("/webhooks", { ...HOOK, url: receiver.url });
  const browser = await owner(api);
  const app = await api.create("/apps", { title: "Told of" });
  const event = (await api.get("/events?type=app.created&limit=100")).items.at(-1);
  await until(browser, `${HOOKS}/${hook.id}`, /1 attempt 500 · Next attempt: .* pending/);
  const [delivery] = (await api.get(`/webhooks/${hook.id}/deliveries`)).items;
  const path = `${HOOKS}/${hook.id}/deliveries/${str(delivery?.id)}`;
  const failed = await browser.open(path);
  assertPage(failed);
  assert.match(textOf(failed), /app\.created · Told of pending .* Next attempt: 2026-01-01 00:00:0[456] UTC/);
  assert.ok(failed.text.includes(`/dashboard/events/${str(event?.id)}`), "the event");
  await service.clock.advance("10s");
  const page = await browser.open(path);
  const shown = textOf(page);
  assert.match(shown, /Attempt 2 .* 200 thanks .*Attempt 1 .* 500 <down>/);
  for (const { body, headers } of receiver.got)
    for (const name of ["X-Service-Signature", "X-Service-Attempt", "webhook-signature", "webhook-timestamp"])
      assert.ok(
        shown.includes(`${name}: ${headers[name.toLowerCase()]}`) && shown.includes(body),
        `${name} of ${shown}`,
      );
  assert.ok(shown.includes(`"id":"${app.id}"`), "the body");
  const again = await browser.submit(page, `${path}/redeliver`, {});
  assert.match(again.text, /role="status">Queued/);
  assert.ok(again.text.includes(`action="${path}/redeliver"`), "it is said where it was done");
  await api.patch(`/webhooks/${hook.id}`, { secret: "another" });
  assert.match(textOf(await browser.open(path)), /shown is what it would send now/);
});
