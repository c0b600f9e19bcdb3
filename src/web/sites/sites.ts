// Deployed apps, at /sites/{dep_id}/ and at / of their custom domain. A page shows the title, the description and each
// ready data source. A click on a point becomes user.interaction (spec part 6).
import { checkViewAccess, findSiteById, recordInteraction, type Site } from "../../domain/apps.ts";
import { checkAccountState, hasScope } from "../../domain/credentials.ts";
import { LIMIT_MAX } from "../../domain/crud.ts";
import { dataSourceService, listDataSourcesOfApp } from "../../domain/data-sources.ts";
import { AppError } from "../../domain/errors.ts";
import type { AccountRecord } from "../../domain/model.ts";
import type { Result, RouteKey } from "../../http/router.ts";
import { sha256 } from "../../lib/ids.ts";
import { alertBox, firstOfMany, html, link } from "../html.ts";
import { messagePage, page, redirect } from "../layout.ts";
import {
  createPageRouter,
  type SubmittedFields,
  type WebContext,
  type WebDeps,
} from "../session.ts";
import { requireSignIn, userMenu } from "../sign-in.ts";
import { loadChart, renderPanel } from "./panel.ts";

interface SiteRoute extends RouteKey {
  handler(web: WebContext, site: Site, fields: SubmittedFields): Promise<Result>;
}

const sitePath = ({ deployment }: Site): string => `/sites/${deployment.id}/`;

const routes: readonly SiteRoute[] = [
  { method: "GET", path: "/sites/{id}", handler: async (_, site) => redirect(sitePath(site)) },
  { method: "GET", path: "/sites/{id}/", handler: renderSite },
  { method: "POST", path: "/sites/{id}/interactions", handler: recordClick },
];

export const createSiteRouter = (deps: WebDeps) =>
  createPageRouter(deps, "/sites", routes, async (route, web, params) => {
    const { path, method } = web.request;
    const site = await findSiteById(web.store, params.id ?? "");
    const access = site && checkViewAccess(site, web.signedIn);
    if (site === undefined || access === "not yours")
      return messagePage(404, "There is no app here", [
        "Check the address. A newer deployment may have replaced it, or it belongs to another account. ",
        userMenu(web),
      ]);
    if (checkAccountState(site.account, method))
      return messagePage(403, "This app is not available", "Its account is suspended or limited.");
    // Users cannot sign in under a custom domain.
    if (access === "sign in")
      return path.startsWith("/sites")
        ? requireSignIn(sitePath(site))
        : redirect(web.urls.site(site.deployment.id));
    if (access === "no")
      return messagePage(403, "This app is private", [
        "It requires the permission read:apps. ",
        userMenu(web, sitePath(site)),
      ]);
    return web.withForm((fields) => route.handler(web, site, fields));
  });

async function renderSite(web: WebContext, site: Site): Promise<Result> {
  const { app, account } = site;
  const range = { offset: 0, limit: LIMIT_MAX };
  const { items, total } = await listDataSourcesOfApp(web.store, app.id, range);
  const event = web.query.get("event");
  const canReadEvents = hasScope(findMember(web, account)?.permissions ?? [], "admin");
  const eventLink = canReadEvents && event && link(`/dashboard/events/${event}`, "Open the event");
  const panels = items
    .filter(({ status }) => status === "ready")
    .map((source) => renderPanel(web, account, source, eventLink));
  return page({
    title: app.title,
    theme: /^(light|dark)$/.test(app.theme) ? app.theme : "light dark",
    headers: web.setCookie,
    body: html`<h1>${app.title}</h1>
<p class="lead">${app.description}</p>
${panels.length === 0 && alertBox("status", "No data yet. Charts will appear here as soon as this app has data.")}${await Promise.all(panels)}
${firstOfMany(items.length, total, "data sources")}`,
  });
}

/** Reads the point from the data by chart and row, so that a client cannot report a point that does not exist. */
async function recordClick(web: WebContext, site: Site, fields: SubmittedFields): Promise<Result> {
  const { app, account } = site;
  const source = await dataSourceService.get(web.store, account, fields.get("chart") ?? "");
  if (source instanceof AppError) return source;
  const { chart } = await loadChart(web, account, source);
  const point = chart?.points.find(({ row }) => String(row) === fields.get("point"));
  if (point === undefined || source.app_id !== app.id)
    return messagePage(404, "There is no such point", "The app has changed. Load its page again.");
  const { x, y, category } = point;
  // Anybody but a user of the account is known by a one-way hash of the cookie.
  const visitor = `visitor_${sha256(`visitor ${web.secret}`).slice(0, 20)}`;
  const event = await recordInteraction(web.unitOfWork, account, app.id, {
    user_id: findMember(web, account)?.id ?? visitor,
    interaction_type: "chart_click",
    chart_id: source.id,
    data_point: { x, y, category },
  });
  if (event instanceof AppError) return event;
  const sent = { chart: source.id, point: String(point.row), event: event.id };
  return redirect(`./?${new URLSearchParams({ ...Object.fromEntries(web.query), ...sent })}`);
}

/** Returns the signed-in user of the app's account. */
const findMember = ({ signedIn }: WebContext, { id }: AccountRecord) =>
  signedIn?.account.id === id ? signedIn.user : undefined;
