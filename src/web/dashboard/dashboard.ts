// The account dashboard (1.dashboard; spec parts 5 and 6): its home page and its router. The router checks session,
// account state, permission and form, in this order.
import { type HttpResponse, PATHS, queryString } from "../../http/message.ts";
import type { Router } from "../../http/router.ts";
import { badge, code, html, inlineCode, inlineMarkdown, link, type Renderable } from "../html.ts";
import { describeError, redirect } from "../layout.ts";
import { createPageRouter, type WebContext, type WebDeps } from "../session.ts";
import { requireSignIn } from "../sign-in.ts";
import {
  ASK_ADMIN,
  createPageContext,
  type DashboardRoute,
  dashboardPage,
  getOperation,
  type PageContext,
  pageRoute,
} from "./context.ts";
import { appPages, dataSourcePages, eventPages, resourcePages, webhookPages } from "./resources.ts";

/** Records of each list on the first page. */
const NEWEST = 3;
const KEY_HINT =
  "Put an [API key](/dashboard/settings/api-keys) into `API_KEY`. The [docs](/docs/endpoints) show every request.";

/** The first page after signing in. */
async function homePage(page: PageContext): Promise<HttpResponse> {
  const { user, account, urls } = page;
  const lists: Renderable[] = [];
  for (const { title, list, listPath, renderList } of [
    appPages,
    dataSourcePages,
    webhookPages,
    eventPages,
  ])
    if (page.can(list))
      lists.push(html`<h2>${link(listPath, title)}</h2>`, await renderList(page, NEWEST));
  return dashboardPage(page, {
    title: account.name,
    actions: badge(account.state),
    body: [
      user.permissions.length === 0 && `${user.email} has no permissions. ${ASK_ADMIN}`,
      lists,
      html`<h2>Call the API</h2>
<p>Base URL: ${inlineCode(urls.baseUrl)}. ${inlineMarkdown(KEY_HINT)}</p>
${code(`curl "${urls.baseUrl}/apps" -H "Authorization: Bearer $API_KEY"`)}`,
    ],
  });
}

/** Every user of the account may open the pages of this operation. */
const anyUser = getOperation("GET /account");

export const dashboardRoutes: readonly DashboardRoute[] = [
  pageRoute("/dashboard", anyUser, homePage),
  pageRoute("/dashboard/", anyUser, async () => redirect("/dashboard")),
  pageRoute("/dashboard/settings", anyUser, async () => redirect("/dashboard/settings/api-keys")),
  ...resourcePages.flatMap(({ routes }) => routes),
];

export const createDashboardRouter = (deps: WebDeps): Router<DashboardRoute> =>
  createPageRouter<DashboardRoute>(
    deps,
    PATHS.dashboard,
    dashboardRoutes,
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
