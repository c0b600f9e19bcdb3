// The door of this layer: the ways to what people look at (contract, part 1): the dashboard, deployed apps, consent and
// sign-in, the documentation, the description. launch.ts loads it when somebody comes: a start need not wait for it.
import { jsonReply } from "../http/call.ts";
import { document, openWay } from "../http/documents.ts";
import { ADDRESSES } from "../http/links.ts";
import { openApi } from "../http/openapi.ts";
import { explain, PROBLEMS, problem } from "../http/problem.ts";
import type { Operation } from "../http/route.ts";
import { routes } from "../http/routes.ts";
import type { Way } from "../http/way.ts";
import { consentRows } from "./consent.ts";
import { dashboard } from "./dashboard/dashboard.ts";
import { docsRows } from "./docs/docs.ts";
import { signInRows } from "./sign-in.ts";
import { sites } from "./sites/sites.ts";
import { Visits } from "./visit.ts";
import { type Launched, pageWay, type WebParts } from "./way.ts";

export { nowherePage } from "./page.ts";

/** `controls`: the test controls, where they are switched on. */
export function pageWays(launched: Launched, controls: readonly Operation[]): readonly Way[] {
  const { links } = launched.services;
  const visits = new Visits(launched.unit, links.authUrl);
  const parts: WebParts = { ...launched, operations: routes, problems: PROBLEMS, explain, visits };
  const description = jsonReply(200, openApi(routes, launched.services, controls));
  return [
    openWay([document(ADDRESSES.openapi, () => description)], (refusal, { id }) => problem(refusal, id, links)),
    pageWay(parts, [...consentRows(parts), ...signInRows(parts), ...docsRows(parts)]),
    dashboard(parts),
    sites(parts),
  ];
}
