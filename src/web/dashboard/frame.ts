// The dashboard's frame: navigation, the state of the account, what was just done. The names are the specification's
// (Settings, API Keys; Settings, Webhooks).
import type { Refusal } from "../../domain/refusal.ts";
import type { Reply } from "../../http/call.ts";
import { DASHBOARD } from "../addresses.ts";
import { type Html, html, type Shown } from "../html.ts";
import { page } from "../page.ts";
import { notice } from "../parts.ts";
import { whoIsIn } from "../sign-in.ts";
import type { View } from "./view.ts";

export type Section = "Apps" | "Data sources" | "Users" | "Events" | "Settings";

const SECTIONS: readonly (readonly [Section, string])[] = [
  ["Apps", `${DASHBOARD}/apps`],
  ["Data sources", `${DASHBOARD}/data-sources`],
  ["Users", `${DASHBOARD}/users`],
  ["Events", `${DASHBOARD}/events`],
  ["Settings", `${DASHBOARD}/settings`],
];

export type Setting = "API Keys" | "Webhooks" | "OAuth apps";

const SETTINGS: readonly (readonly [Setting, string])[] = [
  ["API Keys", `${DASHBOARD}/settings/api-keys`],
  ["Webhooks", `${DASHBOARD}/settings/webhooks`],
  ["OAuth apps", `${DASHBOARD}/settings/oauth-apps`],
];

export interface Framed {
  readonly title: string;
  readonly section?: Section;
  readonly setting?: Setting;
  readonly status?: number;
  readonly headers?: Reply["headers"];
  readonly body: Html;
}

export function framed(view: View, { title, section, setting, status = 200, headers, body }: Framed): Reply {
  return page({
    title,
    status,
    scripted: true,
    headers: { ...view.visit.setCookie, ...headers },
    header: html`${whoIsIn(view.visit)}<nav class="sections" aria-label="Dashboard">${SECTIONS.map((each) => link(each, section))}<a href="/docs">Docs</a></nav>`,
    body: html`${banner(view)}${done(view)}${setting && html`<nav class="tabs" aria-label="Settings">${SETTINGS.map((each) => link(each, setting))}</nav>`}${body}`,
  });
}

const link = ([name, path]: readonly [string, string], current: string | undefined): Html =>
  html`<a href="${path}"${name === current && html` aria-current="page"`}>${name}</a>`;

const banner = ({ account }: View): Shown =>
  account.state === "limited" &&
  notice("bad", html`<strong>This account is limited.</strong> Everything can be looked at, nothing can be changed.`);

/** What the address may say was done: a word of this list and nothing that somebody else could put there. */
const DONE: ReadonlyMap<string, string> = new Map([
  ["created", "Created."],
  ["saved", "Saved."],
  ["deleted", "Deleted."],
  ["revoked", "The key is revoked. Requests with it are refused from now on."],
  ["deployed", "Deployed. It is live now."],
  ["uploaded", "Uploaded. It is being processed."],
  ["queued", "Queued. What becomes of it stands in the delivery log below."],
]);

const done = (view: View): Shown => {
  const text = DONE.get(view.query("done") ?? "");
  return text !== undefined && notice("good", text);
};

/** Why something cannot be done or seen, within the dashboard. */
export function refusedPage(view: View, refusal: Refusal, section?: Section): Reply {
  const { status, title, detail } = view.explain(refusal);
  return framed(view, {
    title,
    status,
    ...(section && { section }),
    body: html`<div class="narrow"><h1>${title}</h1><p>${detail}</p><p><a href="${DASHBOARD}">To the dashboard</a></p></div>`,
  });
}
