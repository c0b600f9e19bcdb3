// The delivery log in the dashboard (spec part 6: status, response codes and retry attempts under Settings, Webhooks), and how
// it comes up to date by itself.
import assert from "node:assert/strict";
import { type ClientRequest, get, type IncomingMessage } from "node:http";
import { Browser } from "./support/browser.ts";
import { choice } from "./support/clauses.ts";
import { str } from "./support/client.ts";
import { assertPage, owner, textOf } from "./support/dashboard.ts";
import { httpReceiver } from "./support/http-receiver.ts";
import { person } from "./support/oauth.ts";
import { eventually } from "./support/wait.ts";

const OWN = { needs: "embedded", options: { clock: "manual" } } as const;
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
      /app\.created .* 1 attempt 503 pending Next attempt: 2026-01-01 00:00:0[456] UTC/,
    );
    assert.match(textOf(failed), /1 2026-01-01 00:00:00 UTC 0 ms 503 <down>/);
    const again = /action="([^"]*\/redeliver)"/.exec(failed.text)?.[1] ?? "";
    assert.match(textOf(await browser.submit(failed, again, {})), /Queued\./);
    const sent = await until(browser, path, /2 attempts 200 succeeded/);
    assert.match(textOf(sent), /2 by hand .* 200 thanks/);
    assert.match(textOf(await browser.open(`${path}?status=failed`)), /No failed deliveries/);
    assert.match(textOf(await browser.open(`${path}?status=succeeded`)), /app\.created/);
    await browser.submit(sent, `${path}/test`, { type: "app.deleted" });
    await until(browser, path, /app\.deleted test .* 1 attempt 200 succeeded/);
    const edit = await browser.open(`${path}/edit`);
    await browser.submit(edit, `${path}/edit`, { url: receiver.url, "events.app.deleted": "on" });
    assert.match(textOf(await browser.open(path)), /State off Events app\.deleted/);
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

/** An open stream, and what it has said so far. */
interface Stream {
  readonly request: ClientRequest;
  readonly response: IncomingMessage;
  /** The next text that is not there yet. */
  next(): Promise<string>;
  readonly ended: Promise<void>;
}

function open(browser: Browser, path: string): Promise<Stream> {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  return new Promise((resolve, reject) => {
    const request = get(browser.origin + path, { headers: { cookie } }, (response) => {
      response.setEncoding("utf8");
      const chunks = response[Symbol.asyncIterator]();
      const ended = new Promise<void>((done) => response.once("close", done));
      resolve({ request, response, ended, next: async () => str((await chunks.next()).value) });
    });
    request.on("error", reject);
  });
}

const HOOK = { url: "http://127.0.0.1:9/", events: ["app.created"] };

choice("1.dashboard.live-log", "tells when something is queued and when it was attempted", OWN, async ({ api }) => {
  const hook = await api.create("/webhooks", HOOK);
  const other = await api.create("/webhooks", { ...HOOK, events: ["app.deleted"] });
  const browser = await owner(api);
  const stream = await open(browser, `${HOOKS}/${hook.id}/live`);
  const quiet = await open(browser, `${HOOKS}/${other.id}/live`);
  assert.equal(stream.response.headers["content-type"], "text/event-stream");
  assert.equal(stream.response.headers["cache-control"], "no-store");
  assert.match(await stream.next(), /^: /);
  assert.match(await quiet.next(), /^: /);
  await api.create("/apps", { title: "Told of" });
  let said = "";
  while ((said.match(/event: changed\ndata:\n\n/g) ?? []).length < 2) said += await stream.next();
  await api.post(`/webhooks/${other.id}/test`, { type: "app.deleted" });
  assert.match(await quiet.next(), /^event: changed\ndata:\n\n$|^(event: changed\ndata:\n\n)+$/);
  for (const { request } of [stream, quiet]) request.destroy();
});

choice(
  "1.dashboard.live-log",
  "is for those who may see the log, and ends when the server stops",
  { ...OWN, options: {} },
  async ({ api, service }) => {
    const hook = await api.create("/webhooks", HOOK);
    const path = `${HOOKS}/${hook.id}/live`;
    assert.equal((await new Browser(api).request("GET", path)).status, 303);
    assert.equal((await (await person(api, ["read:apps"])).browser.open(path)).status, 403);
    const browser = await owner(api);
    assert.equal((await browser.open(`${HOOKS}/wh_0/live`)).status, 404);
    assert.equal((await browser.request("HEAD", path)).text, "", "a HEAD does not go on");
    const stream = await open(browser, path);
    stream.response.resume();
    const began = performance.now();
    await Promise.all([service.close(), stream.ended]);
    assert.ok(performance.now() - began < 5_000, "it does not wait for the reader");
  },
);
