// Deployed apps, at /sites/{dep_id}/ and at / of their custom domain. A page shows the title, the description and each
// ready data source: its chart, if one fits, and its rows, sorted by links. The page's query holds the sort of one table
// and the point that was just sent. A click on a point becomes user.interaction (spec part 6).
import { checkViewAccess, findSiteById, recordInteraction, type Site } from "../../domain/apps.ts";
import { checkAccountState, hasScope } from "../../domain/credentials.ts";
import { LIMIT_MAX } from "../../domain/crud.ts";
import { dataSourceService, listDataSourcesOfApp, listRows } from "../../domain/data-sources.ts";
import { AppError } from "../../domain/errors.ts";
import type { AccountRecord, Cell, Column, DataSourceRecord, Row } from "../../domain/model.ts";
import type { Result, RouteKey } from "../../http/router.ts";
import { isDateTime, parseIso } from "../../lib/clock.ts";
import { sha256 } from "../../lib/ids.ts";
import * as ui from "../html.ts";
import { html } from "../html.ts";
import { messagePage, page, redirect } from "../layout.ts";
import {
  createPageRouter,
  type SubmittedFields,
  type WebContext,
  type WebDeps,
} from "../session.ts";
import { requireSignIn, userMenu } from "../sign-in.ts";
import { createChart, describePoint, formatCell, renderChart, toTitle } from "./chart.ts";

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
  const eventLink =
    canReadEvents && event && ui.link(`/dashboard/events/${event}`, "Open the event");
  const panels = items
    .filter(({ status }) => status === "ready")
    .map((source) => renderPanel(web, account, source, eventLink));
  return page({
    title: app.title,
    theme: /^(light|dark)$/.test(app.theme) ? app.theme : "light dark",
    headers: web.setCookie,
    body: html`<h1>${app.title}</h1>
<p class="lead">${app.description}</p>
${panels.length === 0 && ui.alertBox("status", "No data yet. Charts will appear here as soon as this app has data.")}${await Promise.all(panels)}
${ui.firstOfMany(items.length, total, "data sources")}`,
  });
}

/** A page draws and sorts no more rows of a data source. */
const ROWS_MAX = 2_000;

/** Loads the first rows of a data source, and their chart if one fits. */
async function loadChart({ store }: WebContext, account: AccountRecord, source: DataSourceRecord) {
  const page = await listRows(store, account, source.id, { offset: 0, limit: ROWS_MAX });
  const { items: rows, total } = page instanceof AppError ? { items: [], total: 0 } : page;
  const columns = source.columns ?? [];
  return { columns, rows, total, chart: createChart(columns, rows) };
}

/** `eventLink` leads to the event of the point that was just sent. */
async function renderPanel(
  web: WebContext,
  account: AccountRecord,
  source: DataSourceRecord,
  eventLink: ui.Renderable,
): Promise<ui.Html> {
  const { id, name } = source;
  const { query, request } = web;
  const { columns, rows, total, chart } = await loadChart(web, account, source);
  const isSorted = query.get("table") === id;
  const sent = chart?.points.find(
    ({ row }) => query.get("chart") === id && query.get("point") === String(row),
  );
  const rowsWithPoints = new Set(chart?.points.map(({ row }) => row));
  const table = renderRows(id, columns, rows, rowsWithPoints, isSorted ? query : new Map());
  const content = chart && [
    ui.hidden("chart", id),
    renderChart(chart, sent),
    html`<output class="${!sent && "soft"}">${sent ? ["Sent: ", describePoint(chart.y, sent), ". ", eventLink] : "Press a point, a bar or a row of the table to send it to the owner of this app. The table has all columns."}</output>
<details${isSorted && html` open`}><summary>Show as table</summary>${table}</details>`,
  ];
  return html`<section class="card" id="${id}" aria-label="${name}"><h2>${name}</h2>
${content ? web.form(`interactions?${request.query}`, content) : table}
${ui.firstOfMany(rows.length, total, "rows")}</section>`;
}

/** The first cell of a row with a point is a button that sends it, as in the chart. */
function renderRows(
  table: string,
  columns: readonly Column[],
  rows: readonly Row[],
  rowsWithPoints: ReadonlySet<number>,
  query: ReadonlyMap<string, string>,
): ui.Html {
  const sort = query.get("sort");
  const order = query.get("order") === "descending" ? "descending" : "ascending";
  const direction = order === "ascending" ? 1 : -1;
  const entries = [...rows.entries()];
  if (sort) entries.sort(([, a], [, b]) => compareCells(a[sort], b[sort], direction));
  const body = entries.slice(0, ui.ROWS_MAX).map(([row, values]) => {
    const cells = columns.map(({ name }, index) => {
      const text = ui.truncate(formatCell(values[name]));
      const isButton = index === 0 && rowsWithPoints.has(row);
      return [name, isButton ? html`<button name="point" value="${row}">${text}</button>` : text];
    });
    return Object.fromEntries(cells);
  });
  return ui.table("Rows", columns, body, rows.length, ({ name, type }) => {
    const isSorted = name === sort;
    const next = isSorted && direction === 1 ? "descending" : "ascending";
    const url = `?${new URLSearchParams({ table, sort: name, order: next })}#${table}`;
    return html`<th class="${type}"${isSorted && html` aria-sort="${order}"`}>${ui.link(url, toTitle(name))}${isSorted && (direction === 1 ? " ↑" : " ↓")}</th>`;
  });
}

const COLLATOR = new Intl.Collator("en", { numeric: true });
const toKey = (cell: Cell) =>
  typeof cell === "string" && isDateTime(cell) ? parseIso(cell) : cell;

/** Empty cells are last in both orders. */
function compareCells(a: Cell = null, b: Cell = null, direction: number): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const difference = Number(toKey(a)) - Number(toKey(b));
  return direction * (difference || COLLATOR.compare(String(a), String(b)));
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
