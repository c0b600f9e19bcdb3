// The account dashboard (contract, part 1; specification parts 5 and 6): its pages and its router. The router runs the
// steps of the REST API in the order that suits a browser: session, account state, permission, form. Results of create
// forms are kept in memory for the browser that sent them.

import { exampleApp } from "../../domain/apps.ts";
import { sha256 } from "../../domain/credentials.ts";
import type { Page } from "../../domain/crud.ts";
import { AppError } from "../../domain/errors.ts";
import { DEFAULT_DECIDE } from "../../domain/variants.ts";
import { type HttpResponse, isSafeMethod, search } from "../../http/message.ts";
import type { Result, Router } from "../../http/router.ts";
import { curl } from "../docs/reference.ts";
import { badge, code, html, link } from "../html.ts";
import { describeError, errorPage, redirect } from "../layout.ts";
import { createPageRouter, type WebDeps } from "../session.ts";
import { requireSignIn } from "../sign-in.ts";
import {
  createPageContext,
  type DashboardRoute,
  dashboardPage,
  dashboardUrl,
  findOperation,
  GIVEN,
  type PageContext,
} from "./context.ts";
import { crudPages, listView } from "./crud-pages.ts";
import { events, resources } from "./resources.ts";

/** The first page after signing in: the account, and the next step for new users. */
async function homePage(page: PageContext): Promise<HttpResponse> {
  const { user, account, urls } = page;
  const found = await page.callApi<Page<unknown>>(findOperation("GET /apps"));
  const isNew =
    !(found instanceof AppError) &&
    found.total === 0 &&
    !page.permissionError(findOperation("POST /apps"));
  const first = curl(`POST ${urls.baseUrl}/apps`, { body: exampleApp(DEFAULT_DECIDE) });
  return dashboardPage(page, {
    title: account.name,
    actions: badge(account.state),
    body: html`${user.permissions.length === 0 && html`<p>${user.email} has no permissions. ${GIVEN}</p>`}
${isNew && html`<h2>Your first app</h2><p>${link(dashboardUrl("/apps/new"), "Create app")} makes it here, and so does this:</p>${code(first)}`}
<h2>Your API</h2>${code(urls.baseUrl)}
${!page.permissionError(findOperation("GET /events")) && html`<h2>Latest events</h2>${await listView(events, page)}`}`,
  });
}

/** The dashboard's route table. */
export const dashboardRoutes: readonly DashboardRoute[] = [
  { method: "GET", path: dashboardUrl(""), run: homePage },
  { method: "GET", path: dashboardUrl("/"), run: async () => redirect(dashboardUrl("")) },
  {
    method: "GET",
    path: dashboardUrl("/settings"),
    run: async () => redirect(dashboardUrl("/api-keys")),
  },
  ...resources.flatMap(crudPages),
];

/** The API's own limit on a body. */
const BODY_BYTES = 1_048_576;

/** The maximum number of form results kept. */
const ANSWERS_MAX = 100;

export function createDashboardRouter(deps: WebDeps): Router<DashboardRoute> {
  const { answers } = deps;

  /** Deduplicates double submits: a repeated POST gets the first result, including one-time secrets. */
  function once(key: string, make: () => Promise<Result>): Promise<Result> {
    const answer = answers.get(key) ?? make();
    answers.set(key, answer);
    for (const oldest of answers.keys()) if (answers.size > ANSWERS_MAX) answers.delete(oldest);
    const prune = () => answers.delete(key);
    answer.then((made) => (made instanceof AppError || made.status >= 400) && prune(), prune);
    return answer;
  }

  return createPageRouter(
    deps,
    dashboardUrl(""),
    dashboardRoutes,
    async ({ operation, run }, { request, caller: who, params }) => {
      const page = createPageContext(who, params);
      const invalid = page.permissionError({ method: request.method, scope: operation?.scope });
      if (invalid) return invalid;
      return who.withForm((sent) => {
        const make = () => run(page, sent);
        const key = sha256(JSON.stringify([who.secret, request.path, ...sent]));
        return sent.has("once") && !isSafeMethod(request) ? once(key, make) : make();
      }, operation?.bodyLimit ?? BODY_BYTES);
    },
    {
      guard: (web, request) =>
        web.signedIn ? undefined : requireSignIn(web, request.path + search(request)),
      onError: (error, request, web) =>
        web.signedIn
          ? dashboardPage(createPageContext(web, {}), describeError(error, request))
          : errorPage(error, request),
    },
  );
}
