// The door of this layer: the ways to what people look at (contract, part 1): the dashboard, deployed apps, consent and
// sign-in, the documentation, the description. launch.ts loads it when somebody comes: a start need not wait for it.
import { jsonReply } from "../http/call.ts";
import { ADDRESSES } from "../http/links.ts";
import { createApiDocument } from "../http/openapi.ts";
import { problem } from "../http/problem.ts";
import { document, openWay, type Way } from "../http/way.ts";
import { assets } from "./assets.ts";
import { dashboard } from "./dashboard/dashboard.ts";
import { docsRows } from "./docs/docs.ts";
import { signInRows } from "./sign-in.ts";
import { sites } from "./sites/sites.ts";
import { type PageRow, pageWay, type WebParts } from "./visit.ts";

export { nowherePage } from "./page.ts";

/** `hasControls`: whether the test controls are switched on. */
export function pageWays(parts: WebParts, hasControls: boolean): readonly Way[] {
  const { links } = parts.services;
  // The pages that have an address of their own, and what they load.
  const single: readonly PageRow[] = [...signInRows, ...docsRows(parts), ...assets];
  const description = jsonReply(200, createApiDocument(parts.operations, parts.services, hasControls));
  return [
    openWay(
      [document(ADDRESSES.openapi, () => ({ ...description, headers: { ...description.headers } }))],
      (refusal, { id }) => problem(refusal, id, links),
    ),
    // Who is signed out can only sign in: what else their form asks for leads to that first, and then back.
    pageWay(parts, "", single, ({ answer, path }, { who }) =>
      who.withSent((sent) => answer(who, sent), 0, !who.signedIn && path !== ADDRESSES.sign_in),
    ),
    dashboard(parts),
    sites(parts),
  ];
}
