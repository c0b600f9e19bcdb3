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

const OWN = { needs: "embedded" } as const;

choice("1.dashboard.docs", "needs no sign-in, keeps to itself and can only be read", OWN, async ({ api }) => {
  const root = api.root.as(null);
  assertPage(await root.get("/docs"));
  assert.equal((await root.head("/docs")).text, "");
  const wrong = await root.post("/docs", {});
  assert.equal(wrong.status, 405);
  assert.equal(wrong.header("allow"), "GET, HEAD, OPTIONS");
});

choice("1.dashboard.docs", "the type of every problem leads to its entry", OWN, async ({ api, authUrl }) => {
  const { text } = await api.root.get("/docs");
  for (const [code, { status, title }] of Object.entries(PROBLEMS)) {
    const entry = new RegExp(`<div id="${code}">.*?</div>`).exec(text)?.[0] ?? "";
    assert.ok(entry.includes(String(status)) && entry.includes(title.replaceAll("'", "&#39;")), code);
  }
  const { type } = (await api.get("/nothing")).json;
  assert.equal(type, `${authUrl}/docs#not_found`);
});

choice(
  "1.dashboard.docs",
  "shows every endpoint with its scope, its rules and a curl line",
  OWN,
  async ({ api, baseUrl }) => {
    const { text } = await api.root.get("/docs");
    for (const row of routes) {
      const entry =
        new RegExp(`<details class="card entry" id="${row.operation}">[\\s\\S]*?</details>`).exec(text)?.[0] ?? "";
      for (const part of [row.path, row.scope ?? "Any credential", String(row.answer.status), `${baseUrl}${row.path}`])
        assert.ok(entry.includes(part), `${row.operation}: ${part}`);
      assert.ok(entry.includes(row.gap === null ? "specification" : `#decision-${row.gap}`), row.operation);
    }
    const createApp = /id="createApp">([\s\S]*?)<\/details>/.exec(text)?.[1] ?? "";
    assert.match(createApp, /title<\/code><\/td><td>string, 1 to 200 characters <strong>required/);
    const login = /id="createDataSource">([\s\S]*?)<\/details>/.exec(text)?.[1] ?? "";
    assert.match(login, /app_id/);
  },
);

choice("1.dashboard.docs", "shows a sample of every event, and every decision", OWN, async ({ api }) => {
  const page = await api.root.get("/docs");
  for (const type of EVENT_TYPES) {
    const sample = new RegExp(`<h3 id="${type}">[\\s\\S]*?<pre>([\\s\\S]*?)</pre>`).exec(page.text)?.[1] ?? "";
    assert.ok(sample.includes(type) && sample.includes("evt_"), type);
  }
  const text = textOf(page);
  for (const [id, { open, choice, field, why }] of Object.entries(DECISIONS)) {
    assert.ok(page.text.includes(`id="decision-${id}"`), id);
    for (const said of [open, choice.other, field, why]) assert.ok(text.includes(said), said);
  }
});

choice("1.dashboard.docs", "parts what the specification does not show from what was added", OWN, async ({ api }) => {
  const { text } = await api.root.get("/docs");
  const gaps = /does not show<\/h3>([\s\S]*?)<\/dl>/.exec(text)?.[1] ?? "";
  const shown = [...gaps.matchAll(/id="decision-([^"]+)"/g)].map(([, id]) => id);
  assert.deepEqual(shown, Object.keys(GAPS));
});

choice("1.dashboard.docs", "what it links to is there", OWN, async ({ api }) => {
  const { text } = await api.root.get("/docs");
  const links = [...text.matchAll(/href="([^"]*)"/g)].map(([, href]) => str(href));
  for (const href of new Set(links))
    if (href.startsWith("#")) assert.ok(text.includes(`id="${href.slice(1)}"`), href);
    else assert.ok((await api.root.as(null).get(href)).status < 400, href);
});

/** Runs the receiver that the page shows; answers its port. */
async function shownReceiver(api: Client, secret: string): Promise<number> {
  const { text } = await api.root.get("/docs");
  const code = decoded(/<pre>(const [\s\S]*?)<\/pre>/.exec(text)?.[1] ?? "");
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
    assert.match(textOf(await api.root.get("/docs")), /tried again, after 90 s, 2 h, 5 ms, each 20 %/);
  },
);
