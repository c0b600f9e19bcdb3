// Deployed apps (contract, part 1): at /sites/{dep_id}/, and at / under their custom domain, which the Host header names:
// title, description, and what each data source that is ready shows. A click on a point becomes user.interaction (spec part
// 6). What is not live any more, not public or not possible is said on a page of its own.
import { sha256, standing } from "../../domain/access.ts";
import { interact } from "../../domain/apps.ts";
import { listDataSourcesOf, own as sources } from "../../domain/data-sources.ts";
import { mayView, type Site, siteOf } from "../../domain/deployments.ts";
import { LIMIT_MAX } from "../../domain/lists.ts";
import type { AccountRecord } from "../../domain/model.ts";
import { Refusal, refuse } from "../../domain/refusal.ts";
import { isRead, queryOf, type Reply } from "../../http/call.ts";
import { ADDRESSES } from "../../http/links.ts";
import type { Answer, Row } from "../../http/way.ts";
import { html, link, notice } from "../html.ts";
import { messagePage, page, redirect } from "../page.ts";
import { signInFirst, whoIsIn } from "../sign-in.ts";
import { countIn, pageWay, type Sent, type Visit, type WebParts } from "../visit.ts";
import { figure, shelfOf } from "./shelf.ts";

interface SiteRow extends Row {
  run(visit: Visit, site: Site, sent: Sent): Promise<Answer>;
}

/** What is more stands on the next page: whoever reads slowly keeps all of it in memory. */
const PAGE_CHARS = 1_048_576;

const UNDER = ADDRESSES.sites;
const pathOf = ({ deployment }: Site): string => `${UNDER}/${deployment.id}/`;

const rows: readonly SiteRow[] = [
  { method: "GET", path: `${UNDER}/{id}`, run: async ({ call }, site) => redirect(pathOf(site) + queryOf(call)) },
  { method: "GET", path: `${UNDER}/{id}/`, run: show },
  { method: "POST", path: `${UNDER}/{id}/interactions`, run: click },
];

export const sites = (parts: WebParts) =>
  pageWay(parts, UNDER, rows, async ({ run }, { call, who, params }) => {
    const site = await siteOf(who.store, params.id ?? "");
    if (site === undefined) return messagePage(404, "There is no app here", "Is the address complete?");
    if ("gone" in site) return former(site.successor, who);
    if (standing(site.account, call.method))
      return messagePage(403, "This app is not available", "Its account is suspended or limited at the moment.");
    // Under its custom domain nobody can sign in.
    if (!call.path.startsWith(UNDER) && !site.app.public && isRead(call))
      return redirect(who.links.site(site.deployment.id) + queryOf(call));
    // A limit of the same size to itself: visitors cannot use up the account's requests (contract, part 8).
    const rate = await who.limiter.count(`deployment ${site.deployment.id}`);
    if (rate?.exceeded) return refuse({ code: "rate_limit_exceeded", retry_after_s: rate.reset_s });
    return withheld(site, who) ?? who.withSent((sent) => run(who, site, sent));
  });

/** A retired or deleted deployment; whoever may see what took its place is told where that is. */
function former(successor: Site | undefined, { links, signedIn }: Visit): Reply {
  const isSeen = successor && mayView(successor, signedIn) === "yes";
  const next = isSeen && link(links.site(successor.deployment.id), "To the one that took its place");
  return messagePage(410, "This deployment is over", ["A newer one replaced it, or its app was deleted. ", next]);
}

function withheld(site: Site, visit: Visit): Reply | undefined {
  const next = pathOf(site) + (isRead(visit.call) ? queryOf(visit.call) : "");
  const out = whoIsIn(visit, next);
  const may = mayView(site, visit.signedIn);
  if (may === "yes") return undefined;
  if (may === "not yours") return messagePage(404, "There is no app here", ["It may belong to another account.", out]);
  if (may === "no") return messagePage(403, "This app is private", ["Seeing it takes the permission read:apps.", out]);
  // To a script one redirect is like another: this one would pass for that of a point which was sent.
  return isRead(visit.call)
    ? signInFirst(visit, next)
    : messagePage(403, "You are signed out", ["Nothing was sent. ", link(next, "Sign in")]);
}

async function show(visit: Visit, { app, account }: Site): Promise<Answer> {
  const { query, store } = visit;
  const offset = countIn(query, "from") ?? 0;
  const { items, total } = await listDataSourcesOf(store, app.id, { offset, limit: LIMIT_MAX });
  let figures = html``;
  let next = offset;
  for (const source of items) {
    if (figures.text.length > PAGE_CHARS) break;
    next += 1;
    if (source.status === "ready") figures = html`${figures}${await figure(visit, account, source)}`;
  }
  const { title, description, theme } = app;
  return page({
    title,
    theme: /^(light|dark)$/.test(theme) ? theme : "light dark",
    headers: { ...visit.setCookie, "cache-control": "private, no-cache" },
    body: html`<h1>${title}</h1>
<p class="lead">${description}</p>
${figures.text === "" && offset === 0 && next === total ? NOTHING : figures}
${offset > 0 && link("./", `Back to the first of ${total} data sources`)}
${next < total && link(`?from=${next}`, `Go on to the other ${total - next} of ${total} data sources`)}`,
  });
}

const NO_DATA = "There is nothing to see yet. As soon as this app is given a data source, its chart stands here.";
const NOTHING = notice("status", NO_DATA);

/** The form says only which chart and which row: the point is read from the data, so nobody reports one that is not there. */
async function click(visit: Visit, { app, account }: Site, sent: Sent): Promise<Reply> {
  const { unit, store, query } = visit;
  const chart_id = sent.get("chart") ?? "";
  const source = await sources.get(store, account, chart_id);
  const isShown = !(source instanceof Refusal) && source.app_id === app.id;
  const { chart } = isShown ? await shelfOf(visit, account, source) : {};
  const point = chart?.points.find(({ row }) => String(row) === sent.get("point"));
  if (point === undefined)
    return messagePage(404, "There is no such point", "The app has changed meanwhile. Load its page again.");
  const { row, place: _, ...data_point } = point;
  const user_id = visitorOf(visit, account);
  await interact(unit, account, app.id, { user_id, interaction_type: "chart_click", chart_id, data_point });
  const shown = new URLSearchParams({ chart: chart_id, point: String(row), ...Object.fromEntries(query) });
  return redirect(`./?${shown}#${chart_id}`);
}

/** The user where one is signed in to the app's account; otherwise a one-way hash of the browser's cookie names nobody. */
const visitorOf = ({ signedIn, secret }: Visit, account: AccountRecord): string =>
  signedIn?.account.id === account.id ? signedIn.user.id : `visitor_${sha256(`visitor ${secret}`).slice(0, 20)}`;
