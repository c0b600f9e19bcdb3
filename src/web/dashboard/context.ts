// What one page of the dashboard works with: who is signed in, what the address says, and the operations of the REST API:
// the route table's own rows. Scope, existence, fields and states are judged there; so a page can never be allowed more, and
// says no in the same words. A form has no If-Match. And the frame around it: navigation, the state of the account, what can
// be done and what just was. The names are the specification's (Settings, API Keys; Settings, Webhooks).
import { checkAccountState, hasScope } from "../../domain/credentials.ts";
import { type AppError, fail } from "../../domain/errors.ts";
import { API, invoke, serializeResponse } from "../../http/api.ts";
import type { HttpResponse } from "../../http/message.ts";
import type { Operation } from "../../http/route.ts";
import type { Result, RouteKey } from "../../http/router.ts";
import { PATHS } from "../../http/urls.ts";
import { unsafeCast } from "../../lib/schema.ts";
import { alertBox, html, type Renderable, tabs } from "../html.ts";
import { type Page, page } from "../layout.ts";
import type { SubmittedFields, WebContext } from "../session.ts";
import { userMenu } from "../sign-in.ts";

/** One address of the dashboard. */
export interface DashboardRoute extends RouteKey {
  /** The operation of the REST API that it stands for; without one any user may. */
  readonly operation?: Operation;
  readonly run: (view: PageContext, sent: SubmittedFields) => Promise<Result>;
}

type Values = { readonly [name: string]: string };
export type PageContext = ReturnType<typeof createPageContext>;

/** The row of the REST API with this method and path. */
export function findOperation(at: string): Operation {
  const found = API.routes.find(({ method, path }) => at === `${method} ${path}`);
  if (found === undefined) throw new Error(`The route table has no ${at}`);
  return found;
}

/** `params` are the values of the path. */
export function createPageContext(web: WebContext, params: Values) {
  const { call: request, unit, services, responseCache, signedIn } = web;
  if (signedIn === undefined) throw new Error("Nobody is signed in");
  const { user, account } = signedIn;
  // One of the settings comes before their section.
  const [section = ""] =
    [...SETTINGS, ...SECTIONS].find(([, path]) => request.path.startsWith(path)) ?? [];

  /** What keeps this user from it; the form of what changes something may be looked at. */
  const permissionError = ({
    scope = null,
    method,
  }: {
    method: string;
    scope?: Operation["scope"] | undefined;
  }) =>
    checkAccountState(account, method) ??
    (scope === null || hasScope(user.permissions, scope)
      ? undefined
      : fail({
          code: "insufficient_scope",
          scope,
          detail: `This takes the permission ${scope}. ${GIVEN}`,
        }));

  return {
    ...{ ...web, user, account, params, permissionError: permissionError, section: section },

    /** What the operation answers this user, of the page's own path. */
    async callApi<T>(
      row: Operation,
      { query, body }: { query?: object; body?: unknown } = {},
    ): Promise<T | AppError> {
      // The first page of a list, where nothing else is asked for.
      const from = { params, query: { offset: 0, limit: 20, ...query }, request };
      const context = {
        unitOfWork: unit,
        account,
        user,
        services,
        ...from,
        precondition: () => undefined,
        body: undefined,
      };
      return permissionError(row) ?? unsafeCast<T | AppError>(await invoke(row, context, body));
    },

    /** What the operation answered, as the API shows it. */
    shown: (row: Operation, value: unknown) =>
      unsafeCast<Values>(JSON.parse(serializeResponse(row, value, responseCache, request).body)),
  };
}

/** Where the dashboard has what the API has at the path, of these `values`: at the same one, or below the settings. */
export const dashboardUrl = (path: string, values: object = {}): string =>
  PATHS.dashboard +
  path
    .replace("oauth-clients", "oauth-apps")
    .replace(/^\/(api-keys|webhooks|oauth-apps)/, "/settings$&")
    .replace(/\{(\w+)\}/g, (parameter, name) => Reflect.get(values, name) ?? parameter);

const tab = (name: string) =>
  [name, dashboardUrl(`/${name.toLowerCase().replace(" ", "-")}`)] as const;
const SECTIONS = ["Apps", "Data sources", "Users", "Events", "Settings"].map(tab);
const SETTINGS = ["API Keys", "Webhooks", "OAuth apps"].map(tab);

export const GIVEN = "Somebody with the permission admin can give it to you, under Users.";
const BECOMES = "What becomes of it stands here.";

/** What can be done, by operation or method, in this order: the words on its button, and what is said when it is done. */
export const ACTIONS: readonly (readonly [name: string, button: string, done?: string])[] = [
  ["createApp", "Create app"],
  ["deployApp", "Deploy", "Deployed. It is live now."],
  ["createDataSource", "Upload"],
  ["createUser", "Add user"],
  ["createApiKey", "Generate new key"],
  ["createWebhook", "Register webhook"],
  ["testWebhook", "Send test", `Queued. ${BECOMES}`],
  [
    "redeliverDelivery",
    "Send again",
    `Asked for. ${BECOMES} Nothing goes to a webhook that is off.`,
  ],
  ["createOAuthClient", "Register OAuth app"],
  ["PATCH", "Change", "Saved."],
  ["DELETE", "Delete", "Deleted."],
];

/** `actions`: what can be done with what the page shows. */
export function dashboardPage(
  view: PageContext,
  { actions, body, ...shown }: Page & { readonly actions?: Renderable },
): HttpResponse {
  const { section: place, account } = view;
  // A word of the list, and nothing that somebody else could put into an address.
  const [action, , done = "Created."] =
    ACTIONS.find(([name]) => name === view.query.get("done")) ?? [];
  const isSetting = SETTINGS.some(([name]) => name === place);
  const sections = tabs(
    "Dashboard",
    [...SECTIONS, ["Docs", PATHS.docs]],
    isSetting ? "Settings" : place,
  );
  return page({
    ...shown,
    header: [userMenu(view), sections, isSetting && tabs("Settings", SETTINGS, place)],
    body: html`${account.state === "limited" && alertBox("status", LIMITED)}${action && alertBox("status", done)}
<header><h1>${shown.title}</h1><div class="row">${actions}</div></header>
${body}`,
  });
}

const LIMITED = "This account is limited. Everything can be looked at, nothing can be changed.";
