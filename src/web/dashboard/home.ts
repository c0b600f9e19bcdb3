// The first page after signing in: the account, what is in it, and the next step for somebody who has just arrived.
import type { Page } from "../../domain/lists.ts";
import type { EventRecord } from "../../domain/model.ts";
import { Refusal } from "../../domain/refusal.ts";
import type { Reply } from "../../http/call.ts";
import { html, type Shown } from "../html.ts";
import { DASHBOARD, redirect } from "../page.ts";
import { badge, copyButton, facts, head, nothingYet } from "../parts.ts";
import { apps } from "./apps.ts";
import { dataSources } from "./data-sources.ts";
import { events } from "./events.ts";
import { framed, PATHS } from "./frame.ts";
import { apiKeys, users } from "./people.ts";
import { operation, type Resource, rowsOf } from "./resource.ts";
import { type DashboardRow, newest, type View } from "./view.ts";
import { webhooks } from "./webhooks.ts";

const RECENT = 5;

const TILES = [apiKeys, apps, dataSources, webhooks, users];

async function homePage(view: View): Promise<Reply> {
  const { user, account } = view;
  const tiles = await Promise.all(TILES.map((of) => tile(view, of)));
  const recent = await newest<EventRecord>(view, operation(events, "list"), {}, RECENT);
  return framed(view, {
    title: account.name,
    body: html`${head(account.name, badge(account.state, account.state === "active" ? "good" : "bad"))}
${tiles.some(Boolean) ? html`<div class="tiles">${tiles}</div>` : nothingYet("Nothing here is yours to see yet", `${user.email} has no permissions. Somebody with the permission admin can give you some, under Users.`)}
<h2>Your API</h2>
${facts([
  ["Base URL", html`<code>${view.links.baseUrl}</code> ${copyButton}`],
  ["Account", html`<code>${account.id}</code>`],
  ["You may", user.permissions.join(", ") || "nothing"],
])}
${!(recent instanceof Refusal) && html`<h2>Latest events</h2>${recent.total === 0 ? nothingYet(...events.empty) : await rowsOf(events, view, recent.items)}`}`,
  });
}

/** How many of it the account holds, and what to do where it holds none. */
async function tile(view: View, of: Pick<Resource<never>, "noun" | "place" | "make">): Promise<Shown> {
  const found = await view.ask<Page<unknown>>(operation(of, "list"), { query: { limit: "1" } });
  if (found instanceof Refusal) return null;
  return html`<a class="tile card" href="${PATHS[of.place]}"><span class="soft">${of.place}</span><strong>${found.total}</strong>${found.total === 0 && html`<span class="next">${of.make}</span>`}</a>`;
}

export const homeRows: readonly DashboardRow[] = [
  { method: "GET", path: DASHBOARD, operation: null, run: homePage },
  { method: "GET", path: `${DASHBOARD}/`, operation: null, run: async () => redirect(DASHBOARD) },
  { method: "GET", path: `${DASHBOARD}/settings`, operation: null, run: async () => redirect(PATHS["API Keys"]) },
];
