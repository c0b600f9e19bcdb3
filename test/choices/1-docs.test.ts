// /docs: whatever an answer of the server points to is explained there.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { DECISIONS, GAPS } from "../../src/decisions.ts";
import { EVENT_TYPES } from "../../src/domain/model.ts";
import { API } from "../../src/http/api.ts";
import { PROBLEMS } from "../../src/http/problem.ts";
import { CLAUSES } from "../../src/web/docs/specification.ts";
import { decoded } from "../support/browser.ts";
import { choice } from "../support/clauses.ts";
import { Answer, type Client, str } from "../support/client.ts";
import { closeLater } from "../support/closing.ts";
import { assertPage, textOf } from "../support/dashboard.ts";
import { person } from "../support/oauth.ts";
import { shows } from "../support/shows.ts";
import { attempted, attemptsOf } from "../support/wait.ts";

const PARTS_OF_TOUR = [1, 2, 3, 4, 5, 6, 7, 8, 9];
const TOUR = ["/tour", ...PARTS_OF_TOUR.map((part) => `/tour/${part}`)];
const PAGES = ["", ...TOUR, "/endpoints", "/events", "/errors", "/register"].map((page) => `/docs${page}`);

const docs = (api: Client, page = "") => api.root.as(null).get(`/docs${page}`);
const inside = (text: string, pattern: string): string => new RegExp(pattern).exec(text)?.[1] ?? "";

/** What stands in the boxes of code. */
const codeIn = (text: string): string[] =>
  [...text.matchAll(/<pre>([\s\S]*?)<\/pre>/g)].map(([, code = ""]) => decoded(code));
const endpointIn = (text: string, operation: string): string =>
  inside(text, `<div (id="${operation}">[\\s\\S]*?)</dd></div>`);

choice("1.dashboard.docs", "need no sign-in, can only be read, list their headings and lead on", async ({ api }) => {
  const root = api.root.as(null);
  const texts = new Map<string, string>();
  for (const path of PAGES) {
    const page = await root.get(path);
    assertPage(page);
    texts.set(path, page.text);
    assert.equal((await root.head(path)).text, "");
    const wrong = await root.post(path, {});
    assert.deepEqual([wrong.status, wrong.header("allow")], [405, "GET, HEAD, OPTIONS"]);
  }
  for (const [path, text] of texts) {
    const side = inside(text, '(<nav class="side"[\\s\\S]*?</nav>)');
    for (const [, id] of text.matchAll(/<(?:h2|div)[^>]* id="([^"]*)"/g)) assert.ok(side.includes(`"#${id}"`), id);
    for (const href of new Set([...text.matchAll(/href="([^"]*)"/g)].map(([, href]) => str(href)))) {
      const [address = "", anchor] = href.split("#");
      if (anchor !== undefined) assert.ok(texts.get(address || path)?.includes(`id="${anchor}"`), href);
      else assert.ok((await root.get(href)).status < 400, href);
    }
  }
});

choice("1.dashboard.docs", "the type of every problem leads to its entry", async ({ api, authUrl }) => {
  const { text } = await docs(api, "/errors");
  for (const [code, [status, title]] of Object.entries(PROBLEMS)) {
    const own = inside(text, `<div id="${code}">(.*?)</div>`);
    for (const part of [String(status), title.replaceAll("'", "&#39;")]) assert.ok(own.includes(part), code);
  }
  assert.equal((await api.get("/nothing")).json.type, `${authUrl}/docs/errors#not_found`);
});

choice("1.dashboard.docs", "shows every endpoint with scope, rules, a curl line and an answer", async (own) => {
  const { text } = await docs(own.api, "/endpoints");
  for (const { operation, method, path, scope, view, gap } of API.rows) {
    const entry = endpointIn(text, operation);
    const url = own.baseUrl + path.replace(/\{(\w+)\}/g, (_, name) => `$${name.toUpperCase()}`);
    const origin = gap === undefined ? "specification" : `/docs/register#decision-${gap}`;
    const told = [path, scope ?? "Any credential", url, origin, `class="method ${method}"`];
    for (const part of told) assert.ok(entry.includes(part), `${operation}: ${part}`);
    const [, shown] = codeIn(entry);
    assert.equal(shown === undefined, view === undefined, operation);
    const headers = { ...(shown !== undefined && { "content-type": "application/json" }) };
    const answered = new Answer(
      Number(inside(entry, "Answers <code>(\\d+)</code>")),
      headers,
      Buffer.from(shown ?? ""),
    );
    own.document.check(method, `/v1${path.replace(/\{\w+\}/g, "x")}`, answered);
  }
  assert.match(
    endpointIn(text, "createApp"),
    /title<\/code> <strong>required<\/strong> <code class="soft">{&quot;type&quot;:&quot;string&quot;,/,
  );
  assert.match(endpointIn(text, "createDataSource"), /app_id/);
  assert.doesNotMatch(text, /<\/pre>(?!<button [^>]*data-copy hidden>)/, "a button behind each box copies it");
  const { events, secret } = JSON.parse(codeIn(endpointIn(text, "createWebhook"))[1] ?? "");
  assert.deepEqual([events, secret], [["app.created", "app.deployed"], "…"], "what was sent, and what is shown once");
});

choice("1.dashboard.docs", "shows a sample of every event, and every decision, gaps first", async ({ api }) => {
  const events = await docs(api, "/events");
  for (const type of EVENT_TYPES) {
    const sample = inside(events.text, `<div id="${type}">[\\s\\S]*?<pre>([\\s\\S]*?)</pre>`);
    assert.ok(sample.includes(type) && sample.includes("evt_"), type);
  }
  const register = await docs(api, "/register");
  for (const [id, { open, choice, field, why }] of Object.entries(DECISIONS)) {
    assert.ok(register.text.includes(`id="decision-${id}"`), id);
    for (const said of [open, choice.other, field, why]) assert.ok(textOf(register).includes(said), said);
  }
  const gaps = inside(register.text, "does not show</h2>([\\s\\S]*?)</dl>").matchAll(/id="decision-([^"]+)"/g);
  const shown = [...gaps].map(([, id]) => id);
  assert.deepEqual(shown, Object.keys(GAPS));
});

/** Runs what the page shows in a shell; answers what it printed. */
async function pasted(script: string, env: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn("sh", ["-c", script], { env: { ...process.env, ...env } });
  return (await child.stdout.setEncoding("utf8").toArray()).join("");
}

choice("1.dashboard.docs", "the whole way of OAuth can be pasted into a shell", async ({ api, service }) => {
  const boxes = codeIn((await docs(api)).text).map((code) => code.replace(/^export .*…$/m, ""));
  const [first = "", register = "", open = "", exchange = "", use = "", refresh = "", ask = "", revoke = ""] = boxes;
  const env: Record<string, string> = { API_KEY: str(service.apiKey) };
  const json = async (script: string, more: Record<string, string> = {}) =>
    JSON.parse(await pasted(script, { ...env, ...more }));
  assert.equal((await json(first)).title, "My first app");
  const client = await json(register);
  Object.assign(env, { CLIENT_ID: client.id, CLIENT_SECRET: client.client_secret });
  const { browser } = await person(api, ["read:apps"]);
  const asked = await browser.open((await pasted(open, env)).trim());
  const back = new URL((await browser.submit(asked, "/oauth/consent", { decision: "allow" })).header("location"));
  assert.equal(back.searchParams.get("state"), "xyz");
  const tokens = await json(exchange, { CODE: str(back.searchParams.get("code")) });
  assert.equal((await json(use, { ACCESS_TOKEN: tokens.access_token })).data[0].title, "My first app");
  const again = await json(refresh, { REFRESH_TOKEN: tokens.refresh_token });
  assert.equal(again.token_type, "Bearer");
  Object.assign(env, { ACCESS_TOKEN: again.access_token, REFRESH_TOKEN: again.refresh_token });
  assert.equal((await json(ask)).active, true);
  assert.deepEqual(await json(revoke), {});
  assert.equal((await json(ask)).active, false);
});

/** Runs the receiver that the page shows; answers its URL. */
async function shownReceiver(api: Client, secret: string): Promise<string> {
  const code = codeIn((await docs(api, "/events")).text).find((each) => each.includes("createServer(")) ?? "";
  const open = code.replace("listen(4700)", "listen(0, function () { console.log(this.address().port); })");
  assert.notEqual(open, code);
  const child = spawn(process.execPath, ["-e", open], { env: { WEBHOOK_SECRET: secret } });
  closeLater(() => child.kill());
  const [port] = await child.stdout.setEncoding("utf8").take(1).toArray();
  return `http://127.0.0.1:${Number(port)}/`;
}

choice("1.dashboard.docs", "the receiver that it shows takes what this server sends", async ({ api }) => {
  const url = await shownReceiver(api, "shown");
  for (const [secret, status] of [
    ["shown", 204],
    ["other", 401],
  ] as const) {
    const webhook = await api.create("/webhooks", { url, events: ["app.created"], secret });
    await api.post(`/webhooks/${webhook.id}/test`, { type: "app.created" });
    assert.equal(attemptsOf(await attempted(api, webhook))[0]?.response_status, status);
  }
});

choice("1.dashboard.docs", "tells the waits that are in force", { retrySchedule: "90s,2h,5ms" }, async ({ api }) => {
  assert.match(textOf(await docs(api, "/events")), /tried again, after 90 s, 2 h, 5 ms, each 20 %/);
});

choice("1.dashboard.tour", "each request, pasted into a shell, is answered as it shows", async ({ api, service }) => {
  const env: Record<string, string> = { API_KEY: str(service.apiKey) };
  for (const part of PARTS_OF_TOUR) {
    const [, request = "", answer = ""] = codeIn((await docs(api, `/tour/${part}`)).text);
    const printed = (await pasted(request, env)).replaceAll("\r", "");
    shows(printed, answer);
    env.APP_ID = /app_\w+/.exec(printed)?.[0] ?? env.APP_ID ?? "";
  }
});

choice("1.dashboard.tour", "each part names all its clauses and all that it leaves open", async ({ api }) => {
  for (const part of PARTS_OF_TOUR) {
    const page = await docs(api, `/tour/${part}`);
    const own = (ids: Iterable<string>) => [...ids].filter((id) => id.startsWith(`${part}.`)).sort();
    const named = [...inside(page.text, 'id="says">([\\s\\S]*?)</dl>').matchAll(/<code>([^<]*)<\/code>/g)];
    assert.deepEqual(named.map(([, id]) => id).sort(), own(CLAUSES));
    const open = own(Object.keys(DECISIONS));
    assert.deepEqual([...page.text.matchAll(/ id="decision-([\w.-]+)"/g)].map(([, id]) => id).sort(), open);
    for (const [id, { choice, field }] of Object.entries(DECISIONS).filter(([id]) => open.includes(id)))
      for (const said of [choice.other, field]) assert.ok(textOf(page).includes(said), `${id}: ${said}`);
  }
});

choice("1.dashboard.tour", "the pictures stand there in words as well", async ({ api }) => {
  for (const [part, words] of [
    [5, ["Client → Authorization server: POST /oauth/token", "the client compares the state first"]],
    [6, ["Service → Receiver: the same bytes: attempt 2", "when and how often is our choice"]],
  ] as const) {
    const page = await docs(api, `/tour/${part}`);
    assert.match(page.text, /<svg class="sequence" role="img" aria-label="[^"]+"/);
    for (const said of words) assert.ok(textOf(page).includes(said), said);
  }
});
