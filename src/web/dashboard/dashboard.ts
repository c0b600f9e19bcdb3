// The context of a dashboard page: the signed-in user, and the REST API's operations called as that user. It checks scope
// and account state, and the operations check the rest, so a page can do no more than the API and shows the same errors.
// Only this file uses the API's routes. It also has the router (1.dashboard; spec parts 5 and 6) and draws the frame.
import { checkAccountState, hasScope } from "../../domain/credentials.ts";
import { type AppError, appError } from "../../domain/errors.ts";
import { API_ROUTES, callOperation, serializeResponse } from "../../http/api.ts";
import { type HttpResponse, queryString } from "../../http/message.ts";
import type { HandlerContext, Operation } from "../../http/operation.ts";
import type { PathParams, Result, RouteKey, Router } from "../../http/router.ts";
import type { FormValues } from "../form.ts";
import { alertBox, html, link, type Renderable, tabs } from "../html.ts";
import { describeError, type Page, page, SECTIONS } from "../layout.ts";
import {
  createPageRouter,
  type SubmittedFields,
  type WebContext,
  type WebDeps,
} from "../session.ts";
import { requireSignIn, userMenu } from "../sign-in.ts";

/** A route of the dashboard. */
export interface DashboardRoute extends RouteKey {
  /** The REST API operation behind the page. */
  readonly operation: Operation;
  readonly handler: (page: PageContext, fields: SubmittedFields) => Promise<Result>;
}

export type PageContext = ReturnType<typeof createPageContext>;

/** Returns the operation with this method and path: `GET /apps/{app_id}`. */
export function getOperation(methodAndPath: string): Operation {
  const operation = API_ROUTES.routes.find(
    ({ method, path }) => `${method} ${path}` === methodAndPath,
  );
  if (operation === undefined) throw new Error(`There is no operation ${methodAndPath}`);
  return operation;
}

/** A page for GET requests. */
export const pageRoute = (
  path: string,
  operation: Operation,
  handler: DashboardRoute["handler"],
): DashboardRoute => ({ method: "GET", path, operation, handler });

export function createPageContext(web: WebContext, params: PathParams) {
  const { request, textCache, signedIn } = web;
  if (signedIn === undefined) throw new Error("A dashboard page needs a signed-in user");
  const { user, account } = signedIn;
  const context = { ...web, user, account, params };

  /** Returns an error if this user may not use the operation; a limited account may still view its form. */
  function checkPermission({ scope }: Operation, method: string): AppError | undefined {
    const stateError = checkAccountState(account, method);
    if (stateError || scope === null || hasScope(user.permissions, scope)) return stateError;
    const detail = `This requires the permission ${scope}. ${ASK_ADMIN}`;
    return appError({ code: "insufficient_scope", scope, detail });
  }

  return {
    ...context,
    checkPermission,
    can: (operation: Operation): boolean => !checkPermission(operation, operation.method),

    /** Calls an operation as this user, with the page's path parameters. The caller names the type of its result. */
    async callApi<T>(
      operation: Operation,
      options: Partial<HandlerContext> = {},
    ): Promise<T | AppError> {
      const error = checkPermission(operation, operation.method);
      if (error) return error;
      const result = await callOperation(operation, {
        ...context,
        query: {},
        body: undefined,
        precondition: () => undefined, // a form has no If-Match
        ...options,
      });
      return result as T | AppError;
    },

    /** Returns the result as the API shows it; nothing for an operation without a response body. */
    toJson(operation: Operation, result: unknown): FormValues {
      const { body } = serializeResponse(operation, result, textCache, request);
      return JSON.parse(body || "{}");
    },
  };
}

/** Fills in the parameters of a path. */
export const fillPath = (path: string, values: FormValues): string =>
  path.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));

export const ASK_ADMIN = "A user with the permission admin can grant it under Users.";

const SETTINGS = [
  ["API keys", "/dashboard/settings/api-keys"],
  ["Webhooks", "/dashboard/settings/webhooks"],
  ["OAuth apps", "/dashboard/settings/oauth-apps"],
] as const;

/** Draws a page; `actions` are the links and buttons beside its title, and `back` links to the page above and keeps this one up to date. */
export function dashboardPage(
  context: PageContext,
  {
    actions,
    back,
    body,
    ...rest
  }: Page & { readonly actions?: Renderable; readonly back?: string },
): HttpResponse {
  const { request, query, account } = context;
  const done = query.get("done");
  const isCurrent = ([, path]: readonly [string, string]) => request.path.startsWith(path);
  const [section] = SECTIONS.find(isCurrent) ?? [];
  const [setting] = SETTINGS.find(isCurrent) ?? [];
  return page({
    ...rest,
    section,
    header: userMenu(context),
    body: [
      setting && tabs("Settings", SETTINGS, setting),
      account.state === "limited" &&
        alertBox("status", "This account is limited. You can view everything but change nothing."),
      // The effect of these actions follows the response.
      done &&
        alertBox(
          "status",
          /(deliveries|sources)./.test(request.path)
            ? "Queued. The result appears below."
            : "Done.",
        ),
      back && html`<p>${link(back, "← Back")} <small data-live></small></p>`,
      html`<header><h1>${rest.title}</h1><div class="row">${actions}</div></header>`,
      body,
    ],
  });
}

/** The router checks session, account state, permission and form, in this order. */
export const createDashboardRouter = (deps: WebDeps, routes: readonly DashboardRoute[]): Router =>
  createPageRouter(
    deps,
    "/dashboard",
    routes,
    async ({ operation, handler }, web, params) => {
      if (!web.signedIn) return signInFirst(web);
      const page = createPageContext(web, params);
      const error = page.checkPermission(operation, web.request.method);
      return error ?? web.withForm((fields) => handler(page, fields), operation.bodyLimit);
    },
    (error, web) =>
      web.signedIn
        ? dashboardPage(createPageContext(web, {}), describeError(error, web.request))
        : signInFirst(web),
  );

const signInFirst = ({ request }: WebContext): HttpResponse =>
  requireSignIn(request.path + queryString(request));
