// The first page after signing in: the account, and the next step for somebody who has just arrived.
import type { Page } from "../../domain/lists.ts";
import { Refusal } from "../../domain/refusal.ts";
import type { Reply } from "../../http/call.ts";
import { curl } from "../docs/endpoints.ts";
import { code } from "../docs/frame.ts";
import { html } from "../html.ts";
import { DASHBOARD, redirect } from "../page.ts";
import { badge, head, nothingYet } from "../parts.ts";
import { events } from "./events.ts";
import { framed, PATHS } from "./frame.ts";
import { listing } from "./resource.ts";
import type { DashboardRow, View } from "./view.ts";

async function homePage(view: View): Promise<Reply> {
  const { user, account, links } = view;
  const found = await view.ask<Page<unknown>>("listApps", { query: { limit: "1" } });
  const isNew = !(found instanceof Refusal) && found.total === 0 && view.may("createApp");
  const recent = await listing(events, view);
  return framed(view, {
    title: account.name,
    body: html`${head(account.name, badge(account.state))}
${user.permissions.length === 0 && nothingYet("Nothing here is yours to see yet", `${user.email} has no permissions. Somebody with the permission admin can give you some, under Users.`)}
${isNew && html`<h2>Your first app</h2><p><a href="${PATHS.Apps}/new">Create app</a> makes it here, and so does this:</p>${code(curl("POST", `${links.baseUrl}/apps`, { body: { title: "My first app" } }))}`}
<h2>Your API</h2>${code(links.baseUrl)}
${recent && html`<h2>Latest events</h2>${recent}`}`,
  });
}

export const homeRows: readonly DashboardRow[] = [
  { method: "GET", path: DASHBOARD, operation: null, run: homePage },
  { method: "GET", path: `${DASHBOARD}/`, operation: null, run: async () => redirect(DASHBOARD) },
  { method: "GET", path: `${DASHBOARD}/settings`, operation: null, run: async () => redirect(PATHS["API Keys"]) },
];
