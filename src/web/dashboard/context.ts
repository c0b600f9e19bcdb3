// The context of one dashboard page: the signed-in user, the URL, and the operations of the REST API, taken from its
// route table. Those check scope, existence, fields and states, so a page can never do more than the API and shows the
// same errors. A form has no If-Match. This file also draws the frame: navigation, account state, actions and the last
// result. Names are the specification's (Settings, API Keys; Settings, Webhooks).
import { checkAccountState, hasScope } from "../../domain/credentials.ts";
import { type AppError, fail } from "../../domain/errors.ts";
import { API, callOperation, serializeResponse } from "../../http/api.ts";
import type { HttpResponse } from "../../http/message.ts";
import type { Operation } from "../../http/route.ts";
import type { Result, RouteKey } from "../../http/router.ts";
import { PATHS } from "../../http/urls.ts";
import { unsafeCast } from "../../lib/schema.ts";
import { alertBox, html, type Renderable, tabs } from "../html.ts";
import { type Page, page } from "../layout.ts";
import type { SubmittedFields, WebContext } from "../session.ts";
import { userMenu } from "../sign-in.ts";

/** A route of the dashboard. */
export interface DashboardRoute extends RouteKey {
  /** The REST API operation behind the page; a page without one is open to every user. */
  readonly operation?: Operation;
  readonly run: (view: PageContext, sent: SubmittedFields) => Promise<Result>;
}

type Values = { readonly [name: string]: string };
export type PageContext = ReturnType<typeof createPageContext>;

/** Returns the API route with this method and path. */
export function findOperation(at: string): Operation {
  const found = API.routes.find(({ method, path }) => at === `${method} ${path}`);
  if (found === undefined) throw new Error(`The route table has no ${at}`);
  return found;
}

/** `params` are the values of the path parameters. */
export function createPageContext(web: WebContext, params: Values) {
  const { call: request, unit, services, textCache, signedIn } = web;
  if (signedIn === undefined) throw new Error("Nobody is signed in");
  const { user, account } = signedIn;
  // The settings are searched first, because their paths are more specific.
  const [section = ""] =
    [...SETTINGS, ...SECTIONS].find(([, path]) => request.path.startsWith(path)) ?? [];

  /** Returns why this user may not use the operation; the form of a write may still be viewed. */
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
    ...{ ...web, user, account, params, permissionError, section },

    /** Calls an operation with the page's path parameters, as this user. */
    async callApi<T>(
      row: Operation,
      { query, body }: { query?: object; body?: unknown } = {},
    ): Promise<T | AppError> {
      // Defaults to the first page of a list.
      const from = { params, query: { offset: 0, limit: 20, ...query }, request };
      const context = {
        unitOfWork: unit,
        account,
        user,
        services,
        ...from,
        precondition: () => undefined,
        body,
      };
      return permissionError(row) ?? unsafeCast<T | AppError>(await callOperation(row, context));
    },

    /** Returns the operation's result as the API serializes it. */
    shown: (row: Operation, value: unknown) =>
      unsafeCast<Values>(JSON.parse(serializeResponse(row, value, textCache, request).body)),
  };
}

/** Converts an API path to its dashboard URL; API keys, webhooks and OAuth apps are below the settings. */
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

/** Actions in display order, by operation id or method: the button's label and the message when it is done. */
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

/** `actions` are the actions for the resource on the page. */
export function dashboardPage(
  view: PageContext,
  { actions, body, ...shown }: Page & { readonly actions?: Renderable },
): HttpResponse {
  const { section: place, account } = view;
  // Only a known action name is taken from the URL, never free text.
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
