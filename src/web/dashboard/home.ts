// The first page after signing in: the account, what is in it, and the next step for somebody who has just arrived.
import type { Page } from "../../domain/lists.ts";
import type { EventRecord } from "../../domain/model.ts";
import { Refusal } from "../../domain/refusal.ts";
import type { Reply } from "../../http/call.ts";
import { type Html, html, type Shown } from "../html.ts";
import { DASHBOARD, redirect } from "../page.ts";
import { badge, copyButton, facts, head, nothingYet } from "../parts.ts";
import { apps } from "./apps.ts";
import { dataSources } from "./data-sources.ts";
import { events } from "./events.ts";
import { framed } from "./frame.ts";
import { apiKeys, users } from "./people.ts";
import { rowsOf } from "./resource.ts";
import { type DashboardRow, newest, type View } from "./view.ts";
import { webhooks } from "./webhooks.ts";

const RECENT = 5;

/** What an account holds, and what to do where it holds none. */
const TILES = [
  [apiKeys, "Generate a key for the API"],
  [apps, "Make the first app"],
  [dataSources, "Upload data"],
  [webhooks, "Be told of events"],
  [users, "Add somebody"],
] as const;

async function homePage(view: View): Promise<Reply> {
  const { account, user, links } = view;
  const tiles = await Promise.all(TILES.map(([of, advice]) => view.may(of.list) && tile(view, of, advice)));
  return framed(view, {
    title: account.name,
    body: html`${head(account.name, badge(account.state, account.state === "active" ? "good" : "bad"))}
${tiles.some(Boolean) ? html`<div class="tiles">${tiles}</div>` : nothingYet("Nothing here is yours to see yet", html`<strong>${user.email}</strong> has no permissions. Somebody with the permission <code>admin</code> can give you some, under Users.`)}
<h2>Your API</h2>
${facts([
  ["Base URL", html`<code id="base">${links.baseUrl}</code> ${copyButton("base")}`],
  ["Account", html`<code>${account.id}</code>`],
  ["You may", user.permissions.length === 0 ? "nothing" : user.permissions.join(", ")],
])}
${view.may(events.list) && html`<h2>Latest events</h2>${await latest(view)}`}`,
  });
}

async function tile(
  view: View,
  { title, path, list }: { readonly title: string; readonly path: string; readonly list: string },
  advice: string,
): Promise<Html> {
  const found = await view.ask<Page<unknown>>(list, { query: { limit: "1" } });
  const total = found instanceof Refusal ? "–" : found.total;
  return html`<a class="tile card" href="${path}"><span class="soft">${title}</span><strong>${total}</strong>${total === 0 && html`<span class="next">${advice}</span>`}</a>`;
}

async function latest(view: View): Promise<Shown> {
  const found = await newest<EventRecord>(view, events.list, {}, RECENT);
  if (found instanceof Refusal || found.total === 0)
    return nothingYet("Nothing has happened yet", "Make an app, and the first event stands here.");
  return rowsOf(events, view, found.items);
}

export const homeRows: readonly DashboardRow[] = [
  { method: "GET", path: DASHBOARD, operation: null, run: homePage },
  { method: "GET", path: `${DASHBOARD}/`, operation: null, run: async () => redirect(DASHBOARD) },
  { method: "GET", path: `${DASHBOARD}/settings`, operation: null, run: async () => redirect(apiKeys.path) },
];
