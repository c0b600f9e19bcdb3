// Deployed apps (contract, part 1): at /sites/{dep_id}/, and at / under their custom domain, which the Host header names.
// What is not live any more, not public or not possible is said on a page of its own.
import { standing } from "../../domain/access.ts";
import { listDataSourcesOf } from "../../domain/data-sources.ts";
import { type FormerSite, mayView, type Site, siteAt, siteOf } from "../../domain/deployments.ts";
import type { RateLimiter } from "../../domain/limits.ts";
import { LIMIT_MAX } from "../../domain/lists.ts";
import { Refusal } from "../../domain/refusal.ts";
import { Unit, type UnitParts } from "../../domain/work.ts";
import type { Call, Reply } from "../../http/call.ts";
import { fieldsOf } from "../../kit/form.ts";
import { assets } from "../assets.ts";
import { html, type Shown } from "../html.ts";
import { page, redirect } from "../page.ts";
import { signInFirst, whoIsIn } from "../sign-in.ts";
import type { Visit, Visits } from "../visit.ts";
import { callerOf, reportClick, shelfOf } from "./click.ts";
import { sitePage } from "./site-page.ts";

export interface SitesParts {
  readonly visits: Visits;
  readonly unit: UnitParts;
  readonly limiter: RateLimiter;
  /** Where deployed apps are reached. */
  readonly links: { site(deploymentId: string): string };
}

const SITE = /^\/sites\/(dep_[0-9A-Za-z]+)(\/.*)?$/;

export class Sites {
  readonly #parts: SitesParts;

  constructor(parts: SitesParts) {
    this.#parts = parts;
  }

  /** Everything under a custom domain that is live; undefined where the Host names none. */
  domain = async (call: Call): Promise<Reply | undefined> => {
    const site = await siteAt(this.#parts.unit.store, call.host.replace(/\.$/, ""));
    if (site === undefined) return undefined;
    return assets(call) ?? this.#within(call, site, call.path, !site.app.public);
  };

  /** What lies under /sites. */
  door = (call: Call): Promise<Reply> | undefined =>
    call.path === "/sites" || call.path.startsWith("/sites/") ? this.#underSites(call) : undefined;

  async #underSites(call: Call): Promise<Reply> {
    const [, id = "", rest = ""] = SITE.exec(call.path) ?? [];
    const site = id === "" ? undefined : await siteOf(this.#parts.unit.store, id);
    if (site === undefined) return messageOf(404, "There is no app here", "Is the address complete?");
    if ("gone" in site) return this.#former(site);
    return rest === "" ? redirect(`/sites/${id}/`) : this.#within(call, site, rest, false);
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

  async #within(call: Call, site: Site, path: string, elsewhere: boolean): Promise<Reply> {
    const methods = METHODS[path];
    if (methods === undefined) return messageOf(404, "There is no such page", "This app has one page only.");
    const method = call.method === "HEAD" ? "GET" : call.method;
    if (method !== methods)
      return messageOf(405, "This does not work that way", `This address answers ${methods}.`, { allow: methods });
    const unfit = standing(site.account, method);
    if (unfit) return messageOf(403, "This app is not available", "Its account is suspended or limited at the moment.");
    if (elsewhere) return redirect(this.#parts.links.site(site.deployment.id));
    const visit = await this.#parts.visits.of(call);
    return refusedView(site, visit) ?? (method === "POST" ? this.#interact(visit, site) : this.#show(visit, site));
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

/** What the two addresses of a site answer. */
const METHODS: { readonly [path: string]: "GET" | "POST" } = Object.assign(Object.create(null), {
  "/": "GET",
  "/interactions": "POST",
});

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
