// The first page after signing in: the account, what is in it, and the next step for somebody who has just arrived.
import type { Page } from "../../domain/lists.ts";
import { Refusal } from "../../domain/refusal.ts";
import type { Reply } from "../../http/call.ts";
import { curl } from "../docs/endpoints.ts";
import { code } from "../docs/frame.ts";
import { html, type Shown } from "../html.ts";
import { DASHBOARD, redirect } from "../page.ts";
import { badge, copyButton, facts, head, nothingYet } from "../parts.ts";
import { apps, dataSources } from "./apps.ts";
import { events, webhooks } from "./events.ts";
import { framed, PATHS } from "./frame.ts";
import { apiKeys, users } from "./people.ts";
import { listing, operation, type Resource } from "./resource.ts";
import type { DashboardRow, View } from "./view.ts";

const RECENT = 5;

const TILES = [apiKeys, apps, dataSources, webhooks, users];

async function homePage(view: View): Promise<Reply> {
  const { user, account, links } = view;
  const counts = await Promise.all(TILES.map((of) => count(view, of)));
  const tiles = TILES.map((of, at) => tile(of, counts[at]));
  const isNew = counts[TILES.indexOf(apps)] === 0 && view.may("createApp");
  const recent = await listing({ ...events, filter: "" }, view, PATHS.Events, RECENT);
  return framed(view, {
    title: account.name,
    body: html`${head(account.name, badge(account.state, account.state === "active" ? "good" : "bad"))}
${tiles.some(Boolean) ? html`<div class="tiles">${tiles}</div>` : nothingYet("Nothing here is yours to see yet", `${user.email} has no permissions. Somebody with the permission admin can give you some, under Users.`)}
${isNew && html`<h2>Your first app</h2>${code(curl("POST", `${links.baseUrl}/apps`, { body: { title: "My first app" } }))}`}
<h2>Your API</h2>
${facts([
  ["Base URL", html`<code>${links.baseUrl}</code> ${copyButton}`],
  ["Account", html`<code>${account.id}</code>`],
  ["You may", user.permissions.join(", ") || "nothing"],
])}
${recent && html`<h2>Latest events</h2>${recent}`}`,
  });
}

/** How many of it the account holds, as far as the user may see that. */
async function count(view: View, of: { readonly noun: string }): Promise<number | undefined> {
  const found = await view.ask<Page<unknown>>(operation(of, "list"), { query: { limit: "1" } });
  return found instanceof Refusal ? undefined : found.total;
}

/** What to do where it holds none stands there, too. */
const tile = ({ place, make }: Pick<Resource<never>, "place" | "make">, total: number | undefined): Shown =>
  total !== undefined &&
  html`<a class="tile card" href="${PATHS[place]}"><span class="soft">${place}</span><strong>${total}</strong>${total === 0 && html`<span class="next">${make}</span>`}</a>`;

export const homeRows: readonly DashboardRow[] = [
  { method: "GET", path: DASHBOARD, operation: null, run: homePage },
  { method: "GET", path: `${DASHBOARD}/`, operation: null, run: async () => redirect(DASHBOARD) },
  { method: "GET", path: `${DASHBOARD}/settings`, operation: null, run: async () => redirect(PATHS["API Keys"]) },
];
