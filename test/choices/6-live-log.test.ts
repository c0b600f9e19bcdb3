// The delivery log in the dashboard (spec part 6: status, response codes and retry attempts under Settings, Webhooks), and how
// it comes up to date by itself.
import assert from "node:assert/strict";
import { Browser } from "../support/browser.ts";
import { choice, MANUAL } from "../support/clauses.ts";
import { str } from "../support/client.ts";
import { assertPage, idIn, owner, secretIn, textOf } from "../support/dashboard.ts";
import { httpReceiver } from "../support/http-receiver.ts";
import { person } from "../support/oauth.ts";
import { eventually } from "../support/wait.ts";

const HOOKS = "/dashboard/settings/webhooks";
const HOOK = { url: "http://127.0.0.1:9/", events: ["app.created"] };

/** Is down at first, and says so. */
const recovering = () =>
  httpReceiver(
    (count, response) => void response.writeHead(count === 1 ? 503 : 200).end(count === 1 ? "<down>" : "thanks"),
  );

/** The page as soon as it says this. */
const until = (browser: Browser, path: string, says: RegExp) =>
  eventually(async () => {
    const page = await browser.open(path);
    return says.test(textOf(page)) ? page : undefined;
  });

const SIGNED = ["X-Service-Signature", "X-Service-Attempt", "webhook-signature", "webhook-timestamp"];

choice(
  "1.dashboard.live-log",
  "shows requests, responses and what comes next, and sends again",
  MANUAL,
  async (own) => {
    const { api, service } = own;
    const receiver = await recovering();
    const browser = await owner(api);
    const filled = { url: receiver.url, "events.app.created": "on", active: "on" };
    const made = await browser.fillIn(`${HOOKS}/new`, filled);
    assertPage(made, 201);
    assert.match(secretIn(made), /^[\w-]{43}$/);
    const id = idIn(made, "wh");
    const path = `${HOOKS}/${id}`;
    const shows = async (says: RegExp, query = "") => assert.match(textOf(await browser.open(path + query)), says);
    await shows(/No deliveries yet/);
    const app = await api.create("/apps", { title: "Told of" });
    const event = (await api.get("/events?type=app.created&limit=100")).items.at(-1);
    const next = "Next attempt: 2026-01-01 00:00:0[456] UTC";
    const told = new RegExp(`app\\.created · Told of 2026-01-01 00:00:00 UTC · 1 attempt 503 · ${next} pending`);
    const one = `${path}/deliveries/${idIn(await until(browser, path, told), "dlv")}`;
    const failed = await browser.open(one);
    assertPage(failed);
    assert.match(textOf(failed), new RegExp(`app\\.created · Told of Send again .* ${next} pending`));
    assert.match(textOf(failed), /Attempt 1 2026-01-01 00:00:00 UTC · 0 ms .* 503 <down>/);
    assert.ok(failed.text.includes(`/dashboard/events/${str(event?.id)}`), "the event");
    await service.clock.advance("10s");
    const page = await browser.open(one);
    const shown = textOf(page);
    assert.match(shown, /Attempt 2 .* 200 thanks .*Attempt 1 .* 503 <down>/);
    for (const { body, headers } of receiver.got)
      for (const part of [body, ...SIGNED.map((name) => `${name}: ${headers[name.toLowerCase()]}`)])
        assert.ok(shown.includes(part), `${part} of ${shown}`);
    assert.ok(shown.includes(`"id":"${app.id}"`), "the body");
    const again = await browser.submit(page, `${one}/redeliver`, {});
    assert.match(again.text, /role="status">Asked for/);
    assert.ok(again.text.includes(`action="${one}/redeliver"`), "it is said where it was done");
    await until(browser, path, /3 attempts 503, 200, 200 succeeded/);
    assert.match(textOf(await browser.open(one)), /Attempt 3 by hand .* 200 thanks/);
    await shows(/No failed deliveries yet/, "?status=failed");
    await shows(/app\.created/, "?status=succeeded");
    const tested = await browser.fillIn(`${path}/test`, { type: "app.deleted" });
    assert.match(textOf(tested), /Queued\. .* app\.deleted · Sales overview · test/, "it leads to what was queued");
    await until(browser, path, /app\.deleted · Sales overview · test .* 1 attempt 200 succeeded/);
    await api.patch(`/webhooks/${id}`, { secret: "another" });
    assert.match(textOf(await browser.open(one)), /shown is what it would send now/);
  },
);

choice("1.dashboard.live-log", "a webhook is changed and deleted by forms", MANUAL, async ({ api }) => {
  const { id } = await api.create("/webhooks", HOOK);
  const browser = await owner(api);
  const path = `${HOOKS}/${id}`;
  const edit = await browser.open(`${path}/edit`);
  await browser.submit(edit, `${path}/edit`, { url: HOOK.url, "events.app.deleted": "on" });
  assert.match(textOf(await browser.open(path)), /events app\.deleted active false/);
  assertPage(await browser.submit(edit, `${path}/edit`, { url: "http://10.0.0.1/" }), 422);
  await browser.fillIn(`${path}/delete`);
  assert.equal((await browser.open(path)).status, 404);
});

choice("1.dashboard.live-log", "is sent when it has changed, to those who may see it", MANUAL, async ({ api }) => {
  const receiver = await httpReceiver();
  const hook = await api.create("/webhooks", { ...HOOK, url: receiver.url });
  const browser = await owner(api);
  const path = `${HOOKS}/${hook.id}`;
  const known = (etag: string, who = browser) => who.request("GET", path, { "if-none-match": etag });
  const etag = (await browser.open(path)).header("etag");
  const same = await known(etag);
  assert.deepEqual([same.status, same.text, same.header("etag")], [304, "", etag]);
  assert.equal(same.header("cache-control"), "no-store");
  for (const [who, status] of [
    [new Browser(api), 303],
    [(await person(api, ["read:apps"])).browser, 403],
    [await owner(api), 200], // another's page has another's forms
  ] as const)
    assert.equal((await known(etag, who)).status, status);
  assert.equal((await known('"another"')).status, 200);
  await api.create("/apps", { title: "Told of" });
  const sent = (await until(browser, path, /app\.created · Told of .* 1 attempt 200 succeeded/)).header("etag");
  assert.notEqual(sent, etag);
  assert.deepEqual([(await known(etag)).status, (await known(sent)).status], [200, 304]);
});
