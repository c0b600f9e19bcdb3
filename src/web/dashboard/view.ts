// What one page of the dashboard works with: who is signed in, what the address says, and the operations of the REST API:
// the route table's own rows. Scope, existence, fields and states are judged there; so a page can never be allowed more, and
// says no in the same words. A form has no If-Match. And the frame around it: navigation, the state of the account, what can
// be done and what just was. The names are the specification's (Settings, API Keys; Settings, Webhooks).
import { allows, standing } from "../../domain/access.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import { API, answered, ask } from "../../http/api.ts";
import type { Reply } from "../../http/call.ts";
import { ADDRESSES } from "../../http/links.ts";
import type { Operation } from "../../http/route.ts";
import type { Answer, Row } from "../../http/way.ts";
import { trusted } from "../../kit/schema.ts";
import { html, notice, type Shown, tabs } from "../html.ts";
import { type Page, page } from "../page.ts";
import { whoIsIn } from "../sign-in.ts";
import type { Sent, Visit } from "../visit.ts";

/** One address of the dashboard. */
export interface DashboardRow extends Row {
  /** The operation of the REST API that it stands for; without one any user may. */
  readonly operation?: Operation;
  readonly run: (view: View, sent: Sent) => Promise<Answer>;
}

type Values = { readonly [name: string]: string };
export type View = ReturnType<typeof viewOf>;

/** The row of the REST API with this method and path. */
export function operationAt(at: string): Operation {
  const found = API.rows.find(({ method, path }) => at === `${method} ${path}`);
  if (found === undefined) throw new Error(`The route table has no ${at}`);
  return found;
}

/** `params` are the values of the path. */
export function viewOf(visit: Visit, params: Values) {
  const { call, unit, services, presenter, signedIn } = visit;
  if (signedIn === undefined) throw new Error("Nobody is signed in");
  const { user, account } = signedIn;
  // One of the settings comes before their section.
  const [place = ""] = [...SETTINGS, ...SECTIONS].find(([, path]) => call.path.startsWith(path)) ?? [];

  /** What keeps this user from it; the form of what changes something may be looked at. */
  const unfit = ({ scope = null, method }: { method: string; scope?: Operation["scope"] | undefined }) =>
    standing(account, method) ??
    (scope === null || allows(user.permissions, scope)
      ? undefined
      : refuse({ code: "insufficient_scope", scope, detail: `This takes the permission ${scope}. ${GIVEN}` }));

  return {
    ...{ ...visit, user, account, params, unfit, place },

    /** What the operation answers this user, of the page's own path. */
    async ask<T>(row: Operation, { query, body }: { query?: object; body?: unknown } = {}): Promise<T | Refusal> {
      // The first page of a list, where nothing else is asked for.
      const from = { params, query: { offset: 0, limit: 20, ...query }, call };
      const asked = { unit, account, user, services, ...from, expect: () => undefined, body: undefined };
      return unfit(row) ?? trusted<T | Refusal>(await ask(row, asked, body));
    },

    /** What the operation answered, as the API shows it. */
    shown: (row: Operation, value: unknown) => trusted<Values>(JSON.parse(answered(row, value, presenter, call).body)),
  };
}

/** Where the dashboard has what the API has at the path, of these `values`: at the same one, or below the settings. */
export const pageAt = (path: string, values: object = {}): string =>
  ADDRESSES.dashboard +
  path
    .replace("oauth-clients", "oauth-apps")
    .replace(/^\/(api-keys|webhooks|oauth-apps)/, "/settings$&")
    .replace(/\{(\w+)\}/g, (parameter, name) => Reflect.get(values, name) ?? parameter);

const tab = (name: string) => [name, pageAt(`/${name.toLowerCase().replace(" ", "-")}`)] as const;
const SECTIONS = ["Apps", "Data sources", "Users", "Events", "Settings"].map(tab);
const SETTINGS = ["API Keys", "Webhooks", "OAuth apps"].map(tab);

export const GIVEN = "Somebody with the permission admin can give it to you, under Users.";
const BECOMES = "What becomes of it stands here.";

/** What can be done, by operation or method, in this order: the words on its button, and what is said when it is done. */
export const DEEDS: readonly (readonly [name: string, button: string, done?: string])[] = [
  ["createApp", "Create app"],
  ["deployApp", "Deploy", "Deployed. It is live now."],
  ["createDataSource", "Upload"],
  ["createUser", "Add user"],
  ["createApiKey", "Generate new key"],
  ["createWebhook", "Register webhook"],
  ["testWebhook", "Send test", `Queued. ${BECOMES}`],
  ["redeliverDelivery", "Send again", `Asked for. ${BECOMES} Nothing goes to a webhook that is off.`],
  ["createOAuthClient", "Register OAuth app"],
  ["PATCH", "Change", "Saved."],
  ["DELETE", "Delete", "Deleted."],
];

/** `actions`: what can be done with what the page shows. */
export function framed(view: View, { actions, body, ...shown }: Page & { readonly actions?: Shown }): Reply {
  const { place, account } = view;
  // A word of the list, and nothing that somebody else could put into an address.
  const [deed, , done = "Created."] = DEEDS.find(([name]) => name === view.query.get("done")) ?? [];
  const isSetting = SETTINGS.some(([name]) => name === place);
  const sections = tabs("Dashboard", [...SECTIONS, ["Docs", ADDRESSES.docs]], isSetting ? "Settings" : place);
  return page({
    ...shown,
    header: [whoIsIn(view), sections, isSetting && tabs("Settings", SETTINGS, place)],
    body: html`${account.state === "limited" && notice("status", LIMITED)}${deed && notice("status", done)}
<header><h1>${shown.title}</h1><div class="row">${actions}</div></header>
${body}`,
  });
}

const LIMITED = "This account is limited. Everything can be looked at, nothing can be changed.";
