// /docs: whatever an answer of the server points to is explained there.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { DECISIONS, GAPS } from "../../src/decisions.ts";
import { EVENT_TYPES } from "../../src/domain/model.ts";
import { PROBLEMS } from "../../src/http/problem.ts";
import { routes } from "../../src/http/routes.ts";
import { choice } from "../support/clauses.ts";
import { type Client, members, str } from "../support/client.ts";
import { closeLater } from "../support/closing.ts";
import { assertPage, decoded, textOf } from "../support/dashboard.ts";
import { eventually } from "../support/wait.ts";

const docs = (api: Client) => api.root.as(null).get("/docs");
const inside = (text: string, pattern: RegExp): string => pattern.exec(text)?.[1] ?? "";

choice("1.dashboard.docs", "needs no sign-in, keeps to itself and can only be read", "ours", async ({ api }) => {
  assertPage(await docs(api));
  assert.equal((await api.root.as(null).head("/docs")).text, "");
  const wrong = await api.root.as(null).post("/docs", {});
  assert.deepEqual([wrong.status, wrong.header("allow")], [405, "GET, HEAD, OPTIONS"]);
});

choice("1.dashboard.docs", "the type of every problem leads to its entry", "ours", async ({ api, authUrl }) => {
  const { text } = await docs(api);
  for (const [code, { status, title }] of Object.entries(PROBLEMS)) {
    const entry = inside(text, new RegExp(`<div id="${code}">(.*?)</div>`));
    assert.ok(entry.includes(String(status)) && entry.includes(title.replaceAll("'", "&#39;")), code);
  }
  assert.equal((await api.get("/nothing")).json.type, `${authUrl}/docs#not_found`);
});

choice("1.dashboard.docs", "shows every endpoint with its scope, its rules and a curl line", "ours", async (own) => {
  const { text } = await docs(own.api);
  const entryOf = (name: string) =>
    inside(text, new RegExp(`<details class="card entry" (id="${name}">[\\s\\S]*?)</details>`));
  for (const { operation, path, scope, answer, gap } of routes) {
    const origin = gap === null ? "specification" : `#decision-${gap}`;
    for (const part of [path, scope ?? "Any credential", String(answer.status), `${own.baseUrl}${path}`, origin])
      assert.ok(entryOf(operation).includes(part), `${operation}: ${part}`);
  }
  assert.match(entryOf("createApp"), /title<\/code><\/td><td>string, 1 to 200 characters <strong>required/);
  assert.match(entryOf("createDataSource"), /app_id/);
});

choice("1.dashboard.docs", "shows a sample of every event, and every decision, gaps first", "ours", async ({ api }) => {
  const page = await docs(api);
  for (const type of EVENT_TYPES) {
    const sample = inside(page.text, new RegExp(`<h3 id="${type}">[\\s\\S]*?<pre>([\\s\\S]*?)</pre>`));
    assert.ok(sample.includes(type) && sample.includes("evt_"), type);
  }
  const text = textOf(page);
  for (const [id, { open, choice, field, why }] of Object.entries(DECISIONS)) {
    assert.ok(page.text.includes(`id="decision-${id}"`), id);
    for (const said of [open, choice.other, field, why]) assert.ok(text.includes(said), said);
  }
  const gaps = inside(page.text, /does not show<\/h3>([\s\S]*?)<\/dl>/).matchAll(/id="decision-([^"]+)"/g);
  const shown = [...gaps].map(([, id]) => id);
  assert.deepEqual(shown, Object.keys(GAPS));
});

choice("1.dashboard.docs", "what it links to is there", "ours", async ({ api }) => {
  const { text } = await docs(api);
  const links = [...text.matchAll(/href="([^"]*)"/g)].map(([, href]) => str(href));
  for (const href of new Set(links))
    if (href.startsWith("#")) assert.ok(text.includes(`id="${href.slice(1)}"`), href);
    else assert.ok((await api.root.as(null).get(href)).status < 400, href);
});

/** Runs the receiver that the page shows; answers its URL. */
async function shownReceiver(api: Client, secret: string): Promise<string> {
  const code = decoded(inside((await docs(api)).text, /<pre>(const [\s\S]*?)<\/pre>/));
  const open = code.replace("listen(4700)", "listen(0, function () { console.log(this.address().port); })");
  assert.notEqual(open, code);
  const child = spawn(process.execPath, ["-e", open], { env: { WEBHOOK_SECRET: secret } });
  closeLater(() => child.kill());
  const [port] = await child.stdout.setEncoding("utf8").take(1).toArray();
  return `http://127.0.0.1:${Number(port)}/`;
}

choice("1.dashboard.docs", "the receiver that it shows takes what this server sends", "ours", async ({ api }) => {
  const url = await shownReceiver(api, "shown");
  for (const [secret, status] of [
    ["shown", 204],
    ["other", 401],
  ] as const) {
    const { id } = await api.create("/webhooks", { url, events: ["app.created"], secret });
    await api.post(`/webhooks/${id}/test`, { type: "app.created" });
    const attempt = await eventually(async () => {
      const { attempts } = (await api.get(`/webhooks/${id}/deliveries`)).items[0] ?? {};
      return Array.isArray(attempts) && attempts.length > 0 ? members(attempts[0]) : undefined;
    });
    assert.equal(attempt.response_status, status);
  }
});

choice("1.dashboard.docs", "tells the waits that are in force", { retrySchedule: "90s,2h,5ms" }, async ({ api }) => {
  assert.match(textOf(await docs(api)), /tried again, after 90 s, 2 h, 5 ms, each 20 %/);
});
