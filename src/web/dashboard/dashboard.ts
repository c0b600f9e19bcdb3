// The account dashboard (contract, part 1; the specification names it in parts 5 and 6): its pages, and the way there: the
// same steps as for the REST API in the order that suits a browser: signed in, the account's standing, the permission, the
// form. What a form made is remembered in memory, for the browser that sent it.
import { sha256, standing } from "../../domain/access.ts";
import { firstApp } from "../../domain/apps.ts";
import type { Page } from "../../domain/lists.ts";
import { Refusal } from "../../domain/refusal.ts";
import { isRead, queryOf, type Reply } from "../../http/call.ts";
import type { Answer, Way } from "../../http/way.ts";
import { curl } from "../docs/reference.ts";
import { html } from "../html.ts";
import { DASHBOARD, redirect, refused, told, unlessKnown } from "../page.ts";
import { badge, code, link, nothingYet } from "../parts.ts";
import { signInFirst } from "../sign-in.ts";
import { pageWay, type Visit, visitOf, type WebParts } from "../visit.ts";
import { listing, pagesOf } from "./resource.ts";
import { events, resources } from "./resources.ts";
import { type DashboardRow, framed, operationAt, pageAt, type View, viewOf } from "./view.ts";

/** The first page after signing in: the account, and the next step for somebody who has just arrived. */
async function homePage(view: View): Promise<Reply> {
  const { user, account, links } = view;
  const found = await view.ask<Page<unknown>>(operationAt("GET /apps"));
  const isNew = !(found instanceof Refusal) && found.total === 0 && view.may(operationAt("POST /apps"));
  const first = curl(`POST ${links.baseUrl}/apps`, { body: firstApp(view.decide) });
  const recent = await listing(events, view);
  return framed(view, {
    title: account.name,
    actions: badge(account.state),
    body: html`${user.permissions.length === 0 && nothingYet("Nothing here is yours to see yet", `${user.email} ${NONE}`)}
${isNew && html`<h2>Your first app</h2><p>${link(pageAt("/apps/new"), "Create app")} makes it here, and so does this:</p>${code(first)}`}
<h2>Your API</h2>${code(links.baseUrl)}
${recent && html`<h2>Latest events</h2>${recent}`}`,
  });
}

const NONE = "has no permissions. Somebody with the permission admin can give you some, under Users.";

const homeRows: readonly DashboardRow[] = [
  { method: "GET", path: DASHBOARD, run: homePage },
  { method: "GET", path: `${DASHBOARD}/`, run: async () => redirect(DASHBOARD) },
  { method: "GET", path: pageAt("/settings"), run: async () => redirect(pageAt("/api-keys")) },
];

/** THE table of the dashboard's pages. */
export const dashboardRows: readonly DashboardRow[] = [...homeRows, ...resources.flatMap(pagesOf)];

/** So many answers to forms that make something are remembered. */
const ANSWERS_MAX = 100;

export function dashboard(parts: WebParts): Way<DashboardRow, Visit> {
  const { answers } = parts;

  /** Pressed twice or loaded again, it makes one thing, and whoever pressed it still sees what is shown once. */
  function once(words: readonly string[], make: () => Promise<Answer>) {
    const key = sha256(JSON.stringify(words));
    const answer = answers.get(key) ?? make();
    answers.set(key, answer);
    for (const oldest of answers.keys()) if (answers.size > ANSWERS_MAX) answers.delete(oldest);
    const forget = () => answers.delete(key);
    answer.then((made) => (made instanceof Refusal || made.status >= 400) && forget(), forget);
    return answer;
  }

  const way = pageWay(parts, DASHBOARD, dashboardRows, async ({ method, operation, run }, { call, who, params }) => {
    const view = viewOf(who, params);
    const unfit = standing(view.account, call.method) ?? (operation && view.unfit(operation));
    if (unfit) return unfit;
    if (method === "GET") return unlessKnown(call, await run(view, who.query));
    return who.withSent((sent) => {
      const make = () => run(view, sent);
      return sent.has("once") ? once([who.secret, call.path, ...[...sent].flat()], make) : make();
    }, operation?.bodyLimit);
  });

  return {
    ...way,
    async enter(call) {
      const who = await visitOf(parts, call);
      return who.signedIn ? { who } : signInFirst(who, isRead(call) ? call.path + queryOf(call) : DASHBOARD);
    },
    refused(refusal, _call, visit) {
      if (!visit?.signedIn) return refused(refusal);
      const [status, title, body, headers] = told(refusal);
      return framed(viewOf(visit, {}), { status, title, body, headers });
    },
  };
}
