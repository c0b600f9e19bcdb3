// /docs: whatever an answer of the server points to is explained there.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { DECISIONS, GAPS } from "../../src/decisions.ts";
import { EVENT_TYPES } from "../../src/domain/model.ts";
import { PROBLEMS } from "../../src/http/problem.ts";
import { routes } from "../../src/http/routes.ts";
import { choice } from "../support/clauses.ts";
import { Answer, type Client, members, str } from "../support/client.ts";
import { closeLater } from "../support/closing.ts";
import { assertPage, decoded, textOf } from "../support/dashboard.ts";
import { person } from "../support/oauth.ts";
import { eventually } from "../support/wait.ts";

const OWN = { needs: "embedded" } as const;

const PAGES = ["/docs", "/docs/endpoints", "/docs/events", "/docs/errors", "/docs/register"];

choice("1.dashboard.docs", "need no sign-in, keep to themselves and can only be read", OWN, async ({ api }) => {
  const root = api.root.as(null);
  for (const path of PAGES) {
    assertPage(await root.get(path));
    assert.equal((await root.head(path)).text, "");
    const wrong = await root.post(path, {});
    assert.equal(wrong.status, 405);
    assert.equal(wrong.header("allow"), "GET, HEAD, OPTIONS");
  }
});

choice("1.dashboard.docs", "the type of every problem leads to its entry", OWN, async ({ api, authUrl }) => {
  const { text } = await api.root.get("/docs/errors");
  for (const [code, { status, title }] of Object.entries(PROBLEMS)) {
    const [, own = ""] = new RegExp(`<h2 id="status-${status}">([\\s\\S]*?)</dl>`).exec(text) ?? [];
    const entry = new RegExp(`<div id="${code}">.*?</div>`).exec(own)?.[0] ?? "";
    assert.ok(entry.includes(title.replaceAll("'", "&#39;")), code);
  }
  const { type } = (await api.get("/nothing")).json;
  assert.equal(type, `${authUrl}/docs/errors#not_found`);
});

/** What stands in the boxes of code. */
const codeIn = (text: string): string[] =>
  [...text.matchAll(/<pre>([\s\S]*?)<\/pre>/g)].map(([, code = ""]) => decoded(code));

const endpointIn = (text: string, operation: string): string =>
  new RegExp(`<article class="card" id="${operation}">[\\s\\S]*?</article>`).exec(text)?.[0] ?? "";

choice(
  "1.dashboard.docs",
  "shows every endpoint with its scope, its rules and a curl line",
  OWN,
  async ({ api, baseUrl }) => {
    const { text } = await api.root.get("/docs/endpoints");
    for (const row of routes) {
      const entry = endpointIn(text, row.operation);
      const url = baseUrl + row.path.replace(/\{(\w+)\}/g, (_, name) => `$${name.toUpperCase()}`);
      for (const part of [row.path, row.scope ?? "Any credential", String(row.answer.status), url])
        assert.ok(entry.includes(part), `${row.operation}: ${part}`);
      const origin = row.gap === null ? "specification" : `/docs/register#decision-${row.gap}`;
      assert.ok(entry.includes(origin), row.operation);
      assert.ok(entry.includes(`class="method ${row.method}"`), "a colour of its own");
    }
    assert.match(endpointIn(text, "createApp"), /title<\/code><\/td><td>string, 1 to 200 characters <strong>required/);
    assert.match(endpointIn(text, "createDataSource"), /app_id/);
  },
);

choice("1.dashboard.docs", "shows an answer of every endpoint as it could be", OWN, async ({ api, document }) => {
  const { text } = await api.root.get("/docs/endpoints");
  for (const { operation, method, path, answer } of routes) {
    const [, shown] = codeIn(endpointIn(text, operation));
    assert.equal(shown === undefined, answer.shape.kind === "nothing", operation);
    const headers = { "content-type": "application/json" };
    const answered = new Answer(answer.status, shown === undefined ? {} : headers, [], Buffer.from(shown ?? ""));
    document.check(method, `/v1${path.replace(/\{\w+\}/g, "x")}`, answered);
  }
  const made = JSON.parse(codeIn(endpointIn(text, "createWebhook"))[1] ?? "");
  assert.deepEqual(made.events, ["app.created", "app.deployed"], "what was sent");
  assert.equal(made.secret, "…", "and what is shown once");
});

choice("1.dashboard.docs", "shows a sample of every event, and every decision", OWN, async ({ api }) => {
  const page = await api.root.get("/docs/events");
  for (const type of EVENT_TYPES) {
    const sample = new RegExp(`<h3 id="${type}">[\\s\\S]*?<pre>([\\s\\S]*?)</pre>`).exec(page.text)?.[1] ?? "";
    assert.ok(sample.includes(type) && sample.includes("evt_"), type);
  }
  const register = await api.root.get("/docs/register");
  const text = textOf(register);
  for (const [id, { open, choice, field, why }] of Object.entries(DECISIONS)) {
    assert.ok(register.text.includes(`id="decision-${id}"`), id);
    for (const said of [open, choice.other, field, why]) assert.ok(text.includes(said), said);
  }
});

choice("1.dashboard.docs", "parts what the specification does not show from what was added", OWN, async ({ api }) => {
  const { text } = await api.root.get("/docs/register");
  const gaps = /does not show<\/h2>([\s\S]*?)<\/dl>/.exec(text)?.[1] ?? "";
  const shown = [...gaps.matchAll(/id="decision-([^"]+)"/g)].map(([, id]) => id);
  assert.deepEqual(shown, Object.keys(GAPS));
});

choice("1.dashboard.docs", "every heading is in the list at the side, and what is linked is there", OWN, async (it) => {
  const root = it.api.root.as(null);
  const texts = new Map<string, string>();
  const read = async (path: string) => {
    if (!texts.has(path)) texts.set(path, (await root.get(path)).text);
    return texts.get(path) ?? "";
  };
  for (const path of PAGES) {
    const text = await read(path);
    const side = /<nav class="side"[\s\S]*?<\/nav>/.exec(text)?.[0] ?? "";
    for (const [, id] of text.matchAll(/<(?:h2|article)[^>]* id="([^"]*)"/g)) assert.ok(side.includes(`"#${id}"`), id);
    const links = [...text.matchAll(/href="([^"]*)"/g)].map(([, href]) => str(href));
    for (const href of new Set(links)) {
      const [address = "", anchor] = href.split("#");
      if (anchor !== undefined) assert.ok((await read(address || path)).includes(`id="${anchor}"`), href);
      else assert.ok((await root.get(href)).status < 400, href);
    }
  }
});

/** Runs what the page shows in a shell; answers what it printed. */
async function pasted(script: string, env: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn("sh", ["-c", script], { env: { ...process.env, ...env } });
  return (await child.stdout.setEncoding("utf8").toArray()).join("");
}

choice(
  "1.dashboard.docs",
  "the whole way of OAuth can be pasted from it into a shell",
  OWN,
  async ({ api, service }) => {
    const boxes = codeIn((await api.root.get("/docs")).text).map((code) => code.replace(/^export .*…$/m, ""));
    const [first = "", register = "", open = "", exchange = "", use = "", refresh = ""] = boxes;
    const env: Record<string, string> = { API_KEY: str(service.apiKey) };
    assert.equal(JSON.parse(await pasted(first, env)).title, "My first app");
    const client = JSON.parse(await pasted(register, env));
    Object.assign(env, { CLIENT_ID: client.id, CLIENT_SECRET: client.client_secret });
    const { browser } = await person(api, ["read:apps"]);
    const asked = await browser.open((await pasted(open, env)).trim());
    const back = new URL((await browser.submit(asked, "/oauth/consent", { decision: "allow" })).header("location"));
    assert.equal(back.searchParams.get("state"), "xyz");
    const tokens = JSON.parse(await pasted(exchange, { ...env, CODE: str(back.searchParams.get("code")) }));
    assert.equal(JSON.parse(await pasted(use, { ACCESS_TOKEN: tokens.access_token })).data[0].title, "My first app");
    const later = JSON.parse(await pasted(refresh, { REFRESH_TOKEN: tokens.refresh_token }));
    assert.equal(later.token_type, "Bearer");
  },
);

/** Runs the receiver that the page shows; answers its port. */
async function shownReceiver(api: Client, secret: string): Promise<number> {
  const { text } = await api.root.get("/docs/events");
  const code = codeIn(text).find((each) => each.includes("createServer(")) ?? "";
  const open = code.replace("listen(4700)", "listen(0, function () { console.log(this.address().port); })");
  assert.notEqual(open, code);
  const child = spawn(process.execPath, ["-e", open], { env: { WEBHOOK_SECRET: secret } });
  closeLater(() => child.kill());
  const [first] = await child.stdout.setEncoding("utf8").take(1).toArray();
  return Number(first);
}

choice(
  "1.dashboard.docs",
  "the receiver that it shows takes what this server sends, and nothing else",
  OWN,
  async ({ api }) => {
    const port = await shownReceiver(api, "shown");
    const answered = async (secret: string) => {
      const url = `http://127.0.0.1:${port}/`;
      const { id } = await api.create("/webhooks", { url, events: ["app.created"], secret });
      await api.post(`/webhooks/${id}/test`, { type: "app.created" });
      return eventually(async () => {
        const { attempts } = (await api.get(`/webhooks/${id}/deliveries`)).items[0] ?? {};
        return Array.isArray(attempts) && attempts.length > 0 ? members(attempts[0]).response_status : undefined;
      });
    };
    assert.equal(await answered("shown"), 204);
    assert.equal(await answered("other"), 401);
  },
);

choice(
  "1.dashboard.docs",
  "tells the waits between attempts that are in force",
  { ...OWN, options: { retrySchedule: "90s,2h,5ms" } },
  async ({ api }) => {
    assert.match(textOf(await api.root.get("/docs/events")), /tried again, after 90 s, 2 h, 5 ms, each 20 %/);
  },
);
