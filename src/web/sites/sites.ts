// Deployed apps (contract, part 1): at /sites/{dep_id}/, and at / under their custom domain, which the Host header names:
// title, description, and what each data source that is ready shows. A click on a point becomes user.interaction (spec part
// 6). What is not live any more, not public or not possible is said on a page of its own.
import { type Caller, sha256, standing } from "../../domain/access.ts";
import { interact, interaction } from "../../domain/apps.ts";
import { getDataSource, listDataSourcesOf } from "../../domain/data-sources.ts";
import { type FormerSite, mayView, type Site, siteOf } from "../../domain/deployments.ts";
import type { RateLimiter } from "../../domain/limits.ts";
import { LIMIT_MAX } from "../../domain/lists.ts";
import type { AccountRecord } from "../../domain/model.ts";
import { Refusal, refuse } from "../../domain/refusal.ts";
import { Unit, type UnitParts } from "../../domain/work.ts";
import type { Call, Reply } from "../../http/call.ts";
import type { Answer, Request, Row, Way } from "../../http/way.ts";
import { fieldsOf } from "../../kit/form.ts";
import { parse } from "../../kit/schema.ts";
import { html, type Shown } from "../html.ts";
import { page, redirect } from "../page.ts";
import { nothingYet } from "../parts.ts";
import { allowed, type Explain } from "../routes.ts";
import { signInFirst, whoIsIn } from "../sign-in.ts";
import type { Visit, Visits } from "../visit.ts";
import { figure, shelfOf } from "./shelf.ts";

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

  async perform(row: SiteRow, { call, who: visit, params }: Request<Visit>): Promise<Answer> {
    const site = await siteOf(this.#parts.unit.store, params.deployment_id ?? "");
    if (site === undefined) return messageOf(404, "There is no app here", "Is the address complete?");
    if ("gone" in site) return this.#former(site);
    const unfit = standing(site.account, call.method);
    if (unfit) return messageOf(403, "This app is not available", "Its account is suspended or limited at the moment.");
    // Under its custom domain nobody can sign in.
    if (!call.path.startsWith(this.under) && !site.app.public)
      return redirect(this.#parts.links.site(site.deployment.id));
    return refusedView(site, visit) ?? this.#tooMuch(site) ?? row.run(visit, site);
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
      410,
      "This deployment is over",
      html`<p>It was replaced by a newer one, or its app was deleted.</p>${next}`,
    );
  }

  /** A limit of the same size to itself: visitors cannot use up the account's requests (contract, part 8). */
  #tooMuch({ deployment }: Site): Refusal | undefined {
    const rate = this.#parts.limiter.count(`deployment ${deployment.id}`);
    return rate?.exceeded ? refuse({ code: "rate_limit_exceeded", retry_after_s: rate.reset_s }) : undefined;
  }

  async #show(visit: Visit, { app, account }: Site): Promise<Reply> {
    const { store } = this.#parts.unit;
    const { items } = await listDataSourcesOf(store, app.id, { offset: 0, limit: LIMIT_MAX });
    const { values } = fieldsOf(visit.call.query);
    const drawn = new Map([...values].filter(([name]) => items.some(({ id }) => id === name)));
    const figures = items
      .filter(({ status }) => status === "ready")
      .map(async (source) => {
        const row = values.get("chart") === source.id ? rowIn(values) : NO_ROW;
        const shelf = await shelfOf(store, callerOf(account), source, drawn.get(source.id));
        return figure(source, shelf, visit.csrfField, row, drawn);
      });
    const { theme } = app;
    return page({
      title: app.title,
      site: { theme: theme === "light" || theme === "dark" ? theme : null },
      scripted: true,
      headers: visit.setCookie,
      body: html`<h1>${app.title}</h1>
${app.description !== "" && html`<p class="lead prose">${app.description}</p>`}
${figures.length === 0 ? nothingYet("There is nothing to see yet", "This app has no data. As soon as it is given a data source, its chart stands here.") : await Promise.all(figures)}`,
    });
  }

  async #interact(visit: Visit, site: Site): Promise<Reply> {
    const posted = await this.#parts.visits.form(visit);
    if ("refused" in posted) return posted.refused;
    const chart = posted.fields.get("chart") ?? "";
    const y = posted.fields.get("y") ?? "";
    const row = rowIn(posted.fields);
    const drawn = y !== "" && { [chart]: y };
    if (await this.#report(visit, site, chart, y, row))
      return redirect(`./?${new URLSearchParams({ chart, point: String(row), ...drawn })}#${chart}`);
    return messageOf(404, "There is no such point", "The app has changed meanwhile. Load its page again.");
  }

  /** The form says only which chart and which row: the point is read from the data, so nobody reports one that is not there. */
  async #report(visit: Visit, { app, account }: Site, chart_id: string, wanted: string, row: number): Promise<boolean> {
    const unit = new Unit(this.#parts.unit, visit.call.id);
    const caller = callerOf(account);
    const source = await getDataSource(unit.store, caller, chart_id);
    if (source instanceof Refusal || source.app_id !== app.id) return false;
    const { chart } = await shelfOf(unit.store, caller, source, wanted);
    const point = chart?.points.find((each) => each.row === row);
    if (point === undefined) return false;
    const { x, y, category } = point;
    const user_id = visitorOf(visit, account);
    const done = parse(interaction, {
      user_id,
      interaction_type: "chart_click",
      chart_id,
      data_point: { x, y, category },
    });
    return "value" in done && !((await interact(unit, caller, app.id, done.value)) instanceof Refusal);
  }
}

const NO_ROW = -1;
const rowIn = (fields: ReadonlyMap<string, string>): number =>
  Number(/^\d{1,9}$/.exec(fields.get("point") ?? "")?.[0] ?? NO_ROW);

/** A deployed app acts for its own account. */
const callerOf = (account: AccountRecord): Caller => ({ account, scopes: new Set(), credential: "site" });

/** Made from the browser's cookie by a one-way hash: the same person stays the same, and nobody is named. */
const VISITOR = { prefix: "visitor_", length: 20 };

/** The user where one is signed in to the app's account; otherwise a name that stays the same for this browser. */
const visitorOf = ({ signedIn, secret }: Visit, account: AccountRecord): string =>
  signedIn?.account.id === account.id
    ? signedIn.user.id
    : VISITOR.prefix + sha256(`visitor ${secret}`).slice(0, VISITOR.length);

function refusedView(site: Site, visit: Visit): Reply | undefined {
  const said = (status: number, title: string, why: string) =>
    messageOf(status, title, html`${why}${whoIsIn(visit)}`, visit.setCookie);
  switch (mayView(site, visit.signedIn)) {
    case "yes":
      return undefined;
    case "sign in":
      return signInFirst(visit.call.method === "GET" ? visit.call.path : `/sites/${site.deployment.id}/`);
    case "not yours":
      return said(404, "There is no app here", "Not for you, at least: it may belong to another account.");
    case "no":
      return said(403, "This app is private", "Seeing it takes the permission read:apps.");
  }
}

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
