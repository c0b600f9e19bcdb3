// Deployed apps (contract, part 1), at /sites/{dep_id}/ and at / of their custom domain (Host header). A page shows
// title, description and each ready data source. A click on a point becomes user.interaction (spec part 6). Deployments
// that are retired, private or unavailable get a page of their own.

import { recordInteraction } from "../../domain/apps.ts";
import { checkAccountState, sha256 } from "../../domain/credentials.ts";
import { LIMIT_MAX } from "../../domain/crud.ts";
import { listDataSourcesOfApp, dataSourceService as sources } from "../../domain/data-sources.ts";
import { checkViewAccess, findSiteById, type Site } from "../../domain/deployments.ts";
import { AppError, fail } from "../../domain/errors.ts";
import type { AccountRecord } from "../../domain/model.ts";
import { type HttpResponse, isSafeMethod, search } from "../../http/message.ts";
import type { Result, RouteKey } from "../../http/router.ts";
import { PATHS } from "../../http/urls.ts";
import { alertBox, html, link } from "../html.ts";
import { messagePage, page, redirect } from "../layout.ts";
import {
  countField,
  createPageRouter,
  type SubmittedFields,
  type WebContext,
  type WebDeps,
} from "../session.ts";
import { requireSignIn, userMenu } from "../sign-in.ts";
import { loadChartPanel, renderFigure } from "./chart-panel.ts";

interface SiteRoute extends RouteKey {
  run(web: WebContext, site: Site, sent: SubmittedFields): Promise<Result>;
}

/** The rest is on the next page, because a slow reader keeps the whole page in memory. */
const PAGE_CHARS = 1_048_576;

const UNDER = PATHS.sites;
const pathOf = ({ deployment }: Site): string => `${UNDER}/${deployment.id}/`;

const rows: readonly SiteRoute[] = [
  {
    method: "GET",
    path: `${UNDER}/{id}`,
    run: async ({ request }, site) => redirect(pathOf(site) + search(request)),
  },
  { method: "GET", path: `${UNDER}/{id}/`, run: renderSite },
  { method: "POST", path: `${UNDER}/{id}/interactions`, run: recordClick },
];

export const createSiteRouter = (deps: WebDeps) =>
  createPageRouter(deps, UNDER, rows, async ({ run }, { request, caller: who, params }) => {
    const site = await findSiteById(who.store, params.id ?? "");
    if (site === undefined)
      return messagePage(404, "There is no app here", "Is the address complete?");
    if ("gone" in site) return gonePage(site.successor, who);
    if (checkAccountState(site.account, request.method))
      return messagePage(
        403,
        "This app is not available",
        "Its account is suspended or limited at the moment.",
      );
    // Users cannot sign in under a custom domain.
    if (!request.path.startsWith(UNDER) && !site.app.public && isSafeMethod(request))
      return redirect(who.urls.site(site.deployment.id) + search(request));
    // A separate limit of the same size, so that visitors cannot use up the account's requests (contract, part 8).
    const rate = await who.limiter.count(`deployment ${site.deployment.id}`);
    if (rate?.exceeded) return fail({ code: "rate_limit_exceeded", retry_after_s: rate.reset_s });
    return (await checkAccess(site, who)) ?? who.withForm((sent) => run(who, site, sent));
  });

/** The page of a retired or deleted deployment; it links to its successor if the visitor may see that. */
function gonePage(
  successor: Site | undefined,
  { urls: links, signedIn }: WebContext,
): HttpResponse {
  const isSeen = successor && checkViewAccess(successor, signedIn) === "yes";
  const next =
    isSeen && link(links.site(successor.deployment.id), "To the one that took its place");
  return messagePage(410, "This deployment is over", [
    "A newer one replaced it, or its app was deleted. ",
    next,
  ]);
}

async function checkAccess(site: Site, web: WebContext): Promise<HttpResponse | undefined> {
  const next = pathOf(site) + (isSafeMethod(web.request) ? search(web.request) : "");
  const out = userMenu(web, next);
  const may = checkViewAccess(site, web.signedIn);
  if (may === "yes") return undefined;
  if (may === "not yours")
    return messagePage(404, "There is no app here", ["It may belong to another account.", out]);
  if (may === "no")
    return messagePage(403, "This app is private", [
      "Seeing it takes the permission read:apps.",
      out,
    ]);
  // A script cannot distinguish redirects, and would take this one as success.
  return isSafeMethod(web.request)
    ? requireSignIn(web, next)
    : messagePage(403, "You are signed out", ["Nothing was sent. ", link(next, "Sign in")]);
}

async function renderSite(web: WebContext, { app, account }: Site): Promise<Result> {
  const { query, store } = web;
  const offset = countField(query, "from") ?? 0;
  const { items, total } = await listDataSourcesOfApp(store, app.id, { offset, limit: LIMIT_MAX });
  let figures = html``;
  let next = offset;
  for (const source of items) {
    if (figures.text.length > PAGE_CHARS) break;
    next += 1;
    if (source.status === "ready")
      figures = html`${figures}${await renderFigure(web, account, source)}`;
  }
  const { title, description, theme } = app;
  return page({
    title,
    theme: /^(light|dark)$/.test(theme) ? theme : "light dark",
    headers: { ...web.setCookie, "cache-control": "private, no-cache" },
    body: html`<h1>${title}</h1>
<p class="lead">${description}</p>
${figures.text === "" && offset === 0 && next === total ? NOTHING : figures}
${offset > 0 && link("./", `Back to the first of ${total} data sources`)}
${next < total && link(`?from=${next}`, `Go on to the other ${total - next} of ${total} data sources`)}`,
  });
}

const NO_DATA =
  "There is nothing to see yet. As soon as this app is given a data source, its chart stands here.";
const NOTHING = alertBox("status", NO_DATA);

/** Reads the point from the data by chart and row, so that a client cannot report a point that does not exist. */
async function recordClick(
  web: WebContext,
  { app, account }: Site,
  sent: SubmittedFields,
): Promise<HttpResponse> {
  const { unit, store, query } = web;
  const chart_id = sent.get("chart") ?? "";
  const source = await sources.get(store, account, chart_id);
  const isShown = !(source instanceof AppError) && source.app_id === app.id;
  const { chart } = isShown ? await loadChartPanel(web, account, source) : {};
  const point = chart?.points.find(({ row: route }) => String(route) === sent.get("point"));
  if (point === undefined)
    return messagePage(
      404,
      "There is no such point",
      "The app has changed meanwhile. Load its page again.",
    );
  const { row, place: _, ...data_point } = point;
  const user_id = visitorId(web, account);
  await recordInteraction(unit, account, app.id, {
    user_id,
    interaction_type: "chart_click",
    chart_id,
    data_point,
  });
  const shown = new URLSearchParams({
    chart: chart_id,
    point: String(row),
    ...Object.fromEntries(query),
  });
  return redirect(`./?${shown}#${chart_id}`);
}

/** Returns the user's id if signed in to the app's account; otherwise an anonymous one-way hash of the cookie. */
const visitorId = ({ signedIn, secret }: WebContext, account: AccountRecord): string =>
  signedIn?.account.id === account.id
    ? signedIn.user.id
    : `visitor_${sha256(`visitor ${secret}`).slice(0, 20)}`;
