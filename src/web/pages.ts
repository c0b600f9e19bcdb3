// The door of this layer: the ways to what people look at (contract, part 1): the dashboard, deployed apps, consent and
// sign-in, the documentation, the description. launch.ts loads it when somebody comes: a start need not wait for it.
import { jsonReply } from "../http/call.ts";
import { ADDRESSES } from "../http/links.ts";
import { openApi } from "../http/openapi.ts";
import { problem } from "../http/problem.ts";
import type { Operation } from "../http/route.ts";
import { document, openWay, RouteTree, type Way } from "../http/way.ts";
import { fieldsOf } from "../kit/form.ts";
import { dashboard } from "./dashboard/dashboard.ts";
import { docsRows } from "./docs/docs.ts";
import { assets, refused } from "./page.ts";
import { signInRows } from "./sign-in.ts";
import { sites } from "./sites/sites.ts";
import { type PageRow, type Visit, visitOf, type WebParts } from "./visit.ts";

export { nowherePage } from "./page.ts";

/** `controls`: the test controls, where they are switched on. */
export function pageWays(parts: WebParts, controls: readonly Operation[]): readonly Way[] {
  const { links } = parts.services;
  const description = jsonReply(200, openApi(parts.operations, parts.services, controls));
  return [
    openWay([document(ADDRESSES.openapi, () => description)], (refusal, { id }) => problem(refusal, id, links)),
    pageWay(parts),
    dashboard(parts),
    sites(parts),
  ];
}

/** The pages that have an address of their own, and what they load. */
const pageWay = (parts: WebParts): Way<PageRow, Visit> => ({
  under: "",
  tree: new RouteTree([...signInRows(parts), ...docsRows(parts), ...assets]),
  enter: (call) => visitOf(parts, call),
  perform: ({ method, answer }, { call, who }) =>
    method === "GET" ? answer(who, fieldsOf(call.query).values) : who.posted((sent) => answer(who, sent)),
  refused,
});
