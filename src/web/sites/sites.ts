// Deployed apps (contract, part 1): at /sites/{dep_id}/, and at / under their custom domain, which the Host header names.
// What is not live any more, not public or not possible is said on a page of its own.
import { standing } from "../../domain/access.ts";
import { listDataSourcesOf } from "../../domain/data-sources.ts";
import { type FormerSite, mayView, type Site, siteOf } from "../../domain/deployments.ts";
import type { RateLimiter } from "../../domain/limits.ts";
import { LIMIT_MAX } from "../../domain/lists.ts";
import { Refusal } from "../../domain/refusal.ts";
import { Unit, type UnitParts } from "../../domain/work.ts";
import type { Call, Reply } from "../../http/call.ts";
import type { Request, Row, Way } from "../../http/way.ts";
import { fieldsOf } from "../../kit/form.ts";
import { html, type Shown } from "../html.ts";
import { page, redirect } from "../page.ts";
import { allowed, type Explain } from "../routes.ts";
import { signInFirst, whoIsIn } from "../sign-in.ts";
import type { Visit, Visits } from "../visit.ts";
import { callerOf, reportClick, shelfOf } from "./click.ts";
import { sitePage } from "./site-page.ts";

export interface SitesParts {
  readonly visits: Visits;
  readonly unit: UnitParts;
  readonly limiter: RateLimiter;
  readonly explain: Explain;
  /** Where deployed apps are reached. */
  readonly links: { site(deploymentId: string): string };
}

interface SiteRow extends Row {
  run(visit: Visit, site: Site): Promise<Reply>;
}

export class Sites implements Way<SiteRow, Visit> {
  readonly under = "/sites";
  readonly rows: readonly SiteRow[] = [
    { method: "GET", path: "/{deployment_id}", run: async (_, { deployment }) => redirect(`/sites/${deployment.id}/`) },
    { method: "GET", path: "/{deployment_id}/", run: (visit, site) => this.#show(visit, site) },
    { method: "POST", path: "/{deployment_id}/interactions", run: (visit, site) => this.#interact(visit, site) },
  ];
  readonly #parts: SitesParts;

  constructor(parts: SitesParts) {
    this.#parts = parts;
  }

  enter(call: Call): Promise<Visit> {
    return this.#parts.visits.of(call);
  }

  async perform(row: SiteRow, { call, who: visit, params }: Request<Visit>): Promise<Reply> {
    const site = await siteOf(this.#parts.unit.store, params.deployment_id ?? "");
    if (site === undefined) return messageOf(404, "There is no app here", "Is the address complete?");
    if ("gone" in site) return this.#former(site);
    const unfit = standing(site.account, call.method);
    if (unfit) return messageOf(403, "This app is not available", "Its account is suspended or limited at the moment.");
    // Under its custom domain nobody can sign in.
    if (!call.path.startsWith(this.under) && !site.app.public)
      return redirect(this.#parts.links.site(site.deployment.id));
    return refusedView(site, visit) ?? row.run(visit, site);
  }

  refused(refusal: Refusal): Reply {
    const { status, title, detail } = this.#parts.explain(refusal);
    return messageOf(status, title, detail, allowed(refusal));
  }

  /** A retired or deleted deployment; whoever may see what took its place is told where that is. */
  #former({ successor }: FormerSite): Reply {
    const next = successor?.app.public
      ? html`<p><a href="${this.#parts.links.site(successor.deployment.id)}">To the one that took its place</a></p>`
      : "";
    return messageOf(
      GONE,
      "This deployment is over",
      html`<p>It was replaced by a newer one, or its app was deleted.</p>${next}`,
    );
  }

  async #show(visit: Visit, { app, account }: Site): Promise<Reply> {
    const { store } = this.#parts.unit;
    const { items } = await listDataSourcesOf(store, app.id, { offset: 0, limit: LIMIT_MAX });
    const ready = items.filter(({ status }) => status === "ready");
    const shelves = await Promise.all(ready.map((source) => shelfOf(store, callerOf(account), source)));
    const { values } = fieldsOf(visit.call.query);
    const row = Number(/^\d{1,9}$/.exec(values.get("point") ?? "")?.[0] ?? -1);
    return sitePage(visit, app, shelves, { source: values.get("chart") ?? "", row });
  }

  async #interact(visit: Visit, site: Site): Promise<Reply> {
    const { visits, limiter } = this.#parts;
    const posted = await visits.form(visit);
    if ("refused" in posted) return posted.refused;
    // A limit of the same size to itself: visitors cannot use up the account's requests.
    if (limiter.count(`deployment ${site.deployment.id}`)?.exceeded)
      return messageOf(403, "Too much at once", "This app is used a great deal at the moment. Try again in a minute.");
    const chart = posted.fields.get("chart") ?? "";
    const row = Number(/^\d{1,9}$/.exec(posted.fields.get("point") ?? "")?.[0] ?? -1);
    const unit = new Unit(this.#parts.unit, visit.call.id);
    const done = await reportClick(unit, visit, site, { chart, row });
    if (done instanceof Refusal)
      return messageOf(404, "There is no such point", "The app has changed meanwhile. Load its page again.");
    return redirect(`./?${new URLSearchParams({ chart, point: String(row) })}#${chart}`);
  }
}

/** A deployment that is no longer live, or whose app was deleted (RFC 9110 15.5.11): it was here, and will not be again. */
const GONE = 410;

function refusedView(site: Site, visit: Visit): Reply | undefined {
  switch (mayView(site, visit.signedIn)) {
    case "yes":
      return undefined;
    case "sign in":
      return signInFirst(visit.call.method === "GET" ? visit.call.path : `/sites/${site.deployment.id}/`);
    case "not yours":
      return notForYou(visit, 404, "There is no app here", "Not for you, at least: it may belong to another account.");
    case "no":
      return notForYou(visit, 403, "This app is private", "Seeing it takes the permission read:apps.");
  }
}

const notForYou = (visit: Visit, status: number, title: string, why: string): Reply =>
  messageOf(status, title, html`${why}${whoIsIn(visit)}`, visit.setCookie);

/** One thing said, without our own name above it. */
const messageOf = (status: number, title: string, message: Shown, headers: Reply["headers"] = {}): Reply =>
  page({
    title,
    status,
    headers,
    narrow: true,
    site: { theme: null },
    body: html`<h1>${title}</h1><div>${message}</div>`,
  });
