// The account dashboard (contract, part 1; the specification names it in parts 5 and 6): its pages, and the way there: the
// same steps as for the REST API in the order that suits a browser: signed in, the account's standing, the permission, the
// form. What a form made is remembered in memory, for the browser that sent it.
import { sha256 } from "../../domain/access.ts";
import { firstApp } from "../../domain/apps.ts";
import type { Page } from "../../domain/lists.ts";
import { Refusal } from "../../domain/refusal.ts";
import { isRead, queryOf, type Reply } from "../../http/call.ts";
import type { Answer, Way } from "../../http/way.ts";
import { curl } from "../docs/reference.ts";
import { badge, code, html, link } from "../html.ts";
import { redirect, refused, told } from "../page.ts";
import { signInFirst } from "../sign-in.ts";
import { pageWay, type Visit, type WebParts } from "../visit.ts";
import { listing, pagesOf } from "./resource.ts";
import { events, resources } from "./resources.ts";
import { type DashboardRow, framed, GIVEN, operationAt, pageAt, type View, viewOf } from "./view.ts";

/** The first page after signing in: the account, and the next step for somebody who has just arrived. */
async function homePage(view: View): Promise<Reply> {
  const { user, account, links } = view;
  const found = await view.ask<Page<unknown>>(operationAt("GET /apps"));
  const isNew = !(found instanceof Refusal) && found.total === 0 && !view.unfit(operationAt("POST /apps"));
  const first = curl(`POST ${links.baseUrl}/apps`, { body: firstApp(view.decide) });
  return framed(view, {
    title: account.name,
    actions: badge(account.state),
    body: html`${user.permissions.length === 0 && html`<p>${user.email} has no permissions. ${GIVEN}</p>`}
${isNew && html`<h2>Your first app</h2><p>${link(pageAt("/apps/new"), "Create app")} makes it here, and so does this:</p>${code(first)}`}
<h2>Your API</h2>${code(links.baseUrl)}
${!view.unfit(operationAt("GET /events")) && html`<h2>Latest events</h2>${await listing(events, view)}`}`,
  });
}

/** THE table of the dashboard's pages. */
export const dashboardRows: readonly DashboardRow[] = [
  { method: "GET", path: pageAt(""), run: homePage },
  { method: "GET", path: pageAt("/"), run: async () => redirect(pageAt("")) },
  { method: "GET", path: pageAt("/settings"), run: async () => redirect(pageAt("/api-keys")) },
  ...resources.flatMap(pagesOf),
];

/** So many answers to forms that make something are remembered. */
const ANSWERS_MAX = 100;

export function dashboard(parts: WebParts): Way<DashboardRow, Visit> {
  const { answers } = parts;

  /** Pressed twice or loaded again, it makes one thing, and whoever pressed it still sees what is shown once. */
  function once(key: string, make: () => Promise<Answer>): Promise<Answer> {
    const answer = answers.get(key) ?? make();
    answers.set(key, answer);
    for (const oldest of answers.keys()) if (answers.size > ANSWERS_MAX) answers.delete(oldest);
    const forget = () => answers.delete(key);
    answer.then((made) => (made instanceof Refusal || made.status >= 400) && forget(), forget);
    return answer;
  }

  const way = pageWay(parts, pageAt(""), dashboardRows, async ({ operation, run }, { call, who, params }) => {
    const view = viewOf(who, params);
    const unfit = view.unfit({ method: call.method, scope: operation?.scope });
    if (unfit) return unfit;
    return who.withSent((sent) => {
      const make = () => run(view, sent);
      const key = sha256(JSON.stringify([who.secret, call.path, ...sent]));
      return sent.has("once") && !isRead(call) ? once(key, make) : make();
    }, operation?.bodyLimit);
  });

  return {
    ...way,
    async enter(call, said) {
      const entered = await way.enter(call, said);
      if (!("who" in entered)) return entered;
      const { who } = entered;
      return who.signedIn ? { who } : signInFirst(who, call.path + queryOf(call));
    },
    refused: (why, call, visit) => (visit?.signedIn ? framed(viewOf(visit, {}), told(why, call)) : refused(why, call)),
  };
}
