// The first page after signing in: the account, what is in it, and the next step for somebody who has just arrived.

import { listApps } from "../../domain/apps.ts";
import { listApiKeys } from "../../domain/credentials.ts";
import { listDataSources } from "../../domain/data-sources.ts";
import { listEvents } from "../../domain/events.ts";
import { listUsers } from "../../domain/users.ts";
import { listWebhooks } from "../../domain/webhooks.ts";
import type { Reply } from "../../http/call.ts";
import { DASHBOARD } from "../addresses.ts";
import { type Html, html, type Shown } from "../html.ts";
import { redirect } from "../page.ts";
import { badge, copyButton, facts, head, list, nothingYet } from "../parts.ts";
import { eventRow } from "./events.ts";
import { framed } from "./frame.ts";
import type { DashboardRow, View } from "./view.ts";

const ONE = { offset: 0, limit: 1 };
const RECENT = 5;

type Counted = (view: View) => Promise<{ readonly total: number }>;

/** What an account holds, and what to do where it holds none. */
const PARTS: readonly (readonly [name: string, path: string, operation: string, count: Counted, advice: string])[] = [
  [
    "API keys",
    `${DASHBOARD}/settings/api-keys`,
    "listApiKeys",
    ({ unit, caller }) => listApiKeys(unit.store, caller, ONE),
    "Generate a key for the API",
  ],
  [
    "Apps",
    `${DASHBOARD}/apps`,
    "listApps",
    ({ unit, caller }) => listApps(unit.store, caller, undefined, ONE),
    "Make the first app",
  ],
  [
    "Data sources",
    `${DASHBOARD}/data-sources`,
    "listDataSources",
    ({ unit, caller }) => listDataSources(unit.store, caller, ONE),
    "Upload data",
  ],
  [
    "Webhooks",
    `${DASHBOARD}/settings/webhooks`,
    "listWebhooks",
    ({ unit, caller }) => listWebhooks(unit.store, caller, ONE),
    "Be told of events",
  ],
  [
    "Users",
    `${DASHBOARD}/users`,
    "listUsers",
    ({ unit, caller }) => listUsers(unit.store, caller, ONE),
    "Add somebody",
  ],
];

async function homePage(view: View): Promise<Reply> {
  const { account, user, services } = view;
  const tiles = await Promise.all(
    PARTS.filter(([, , operation]) => view.may(operation)).map((part) => tile(view, part)),
  );
  return framed(view, {
    title: account.name,
    body: html`${head(account.name, badge(account.state, account.state === "active" ? "good" : "bad"))}
${tiles.length === 0 ? nothingYet("Nothing here is yours to see yet", html`<strong>${user.email}</strong> has no permissions. Somebody with the permission <code>admin</code> can give you some, under Users.`) : html`<div class="tiles">${tiles}</div>`}
<h2>Your API</h2>
${facts([
  ["Base URL", html`<code id="base">${services.links.baseUrl}</code> ${copyButton("base")}`],
  ["Account", html`<code>${account.id}</code>`],
  ["You may", user.permissions.length === 0 ? "nothing" : user.permissions.join(", ")],
])}
${view.may("listEvents") && html`<h2>Latest events</h2>${await latest(view)}`}`,
  });
}

async function tile(view: View, [name, path, , count, advice]: (typeof PARTS)[number]): Promise<Html> {
  const { total } = await count(view);
  return html`<a class="tile card" href="${path}"><span class="soft">${name}</span><strong>${total}</strong>${total === 0 && html`<span class="next">${advice}</span>`}</a>`;
}

async function latest({ unit, caller }: View): Promise<Shown> {
  const { total } = await listEvents(unit.store, caller, undefined, ONE);
  if (total === 0) return nothingYet("Nothing has happened yet", "Make an app, and the first event stands here.");
  const offset = Math.max(total - RECENT, 0);
  const { items } = await listEvents(unit.store, caller, undefined, { offset, limit: RECENT });
  return list(items.toReversed().map(eventRow));
}

export const homeRows: readonly DashboardRow[] = [
  { method: "GET", path: DASHBOARD, operation: null, run: homePage },
  { method: "GET", path: `${DASHBOARD}/`, operation: null, run: async () => redirect(DASHBOARD) },
  {
    method: "GET",
    path: `${DASHBOARD}/settings`,
    operation: null,
    run: async () => redirect(`${DASHBOARD}/settings/api-keys`),
  },
];
