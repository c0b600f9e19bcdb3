// The dashboard's frame: navigation, the state of the account, what can be done and what just was. The names are the
// specification's (Settings, API Keys; Settings, Webhooks).
import type { Refusal } from "../../domain/refusal.ts";
import type { Reply } from "../../http/call.ts";
import { ADDRESSES } from "../../http/links.ts";
import { explain } from "../../http/problem.ts";
import type { Operation } from "../../http/route.ts";
import { html } from "../html.ts";
import { allowed, DASHBOARD, type Page, page } from "../page.ts";
import { notice, tabs } from "../parts.ts";
import { whoIsIn } from "../sign-in.ts";
import type { View } from "./view.ts";

const SECTIONS = {
  Apps: `${DASHBOARD}/apps`,
  "Data sources": `${DASHBOARD}/data-sources`,
  Users: `${DASHBOARD}/users`,
  Events: `${DASHBOARD}/events`,
  Settings: `${DASHBOARD}/settings`,
} as const;
const SETTINGS = {
  "API Keys": `${DASHBOARD}/settings/api-keys`,
  Webhooks: `${DASHBOARD}/settings/webhooks`,
  "OAuth apps": `${DASHBOARD}/settings/oauth-apps`,
} as const;

/** Where in the navigation a page is: a section, or one of the settings. */
export const PATHS = { ...SECTIONS, ...SETTINGS };
export type Place = keyof typeof PATHS;

const MADE = "Created.";
const QUEUED = "Queued. What becomes of it stands here.";

type Deed = readonly [name: string, button: string, done: string];

/** What can be done, by operation or method: the words on its button, and what is said when it is done. */
const DEEDS: readonly Deed[] = [
  ["createApp", "Create app", MADE],
  ["deployApp", "Deploy", "Deployed. It is live now."],
  ["createDataSource", "Upload", MADE],
  ["createUser", "Add user", MADE],
  ["createApiKey", "Generate new key", MADE],
  ["createWebhook", "Register webhook", MADE],
  ["testWebhook", "Send test", QUEUED],
  ["redeliver", "Send again", QUEUED],
  ["createOAuthClient", "Register OAuth app", MADE],
  ["PATCH", "Change", "Saved."],
  ["DELETE", "Delete", "Deleted."],
];
/** Without a word where it cannot be done here. */
export const deedOf = ({ operation, method }: Operation): Deed =>
  DEEDS.find(([name]) => name === operation || name === method) ?? ["", "", ""];

export function framed(view: View, { place, body, ...shown }: Page & { readonly place?: Place | undefined }): Reply {
  // A word of the list, and nothing that somebody else could put into an address.
  const [, , done] = DEEDS.find(([name]) => name === view.query.get("done")) ?? [];
  const setting = place !== undefined && place in SETTINGS;
  const sections = [...Object.entries(SECTIONS), ["Docs", ADDRESSES.docs]] as const;
  return page({
    ...shown,
    header: html`${whoIsIn(view.visit)}${tabs("Dashboard", sections, setting ? "Settings" : place)}`,
    body: html`${view.account.state === "limited" && LIMITED}${done && notice("good", done)}${setting && tabs("Settings", Object.entries(SETTINGS), place)}${body}`,
  });
}

const LIMITED = notice(
  "bad",
  html`<strong>This account is limited.</strong> Everything can be looked at, nothing can be changed.`,
);

/** Why something cannot be done or seen, within the dashboard. */
export function refusedPage(view: View, refusal: Refusal, place?: Place): Reply {
  const { status, title, detail } = explain(refusal);
  const body = html`<h1>${title}</h1><p>${detail}</p><p><a href="${DASHBOARD}">To the dashboard</a></p>`;
  return framed(view, { title, status, headers: allowed(refusal), place, body });
}
