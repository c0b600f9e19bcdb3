// The door of this layer: the ways to what people look at (contract, part 1): the dashboard, deployed apps, consent and
// sign-in, the documentation, the description. launch.ts loads it when somebody comes: a start need not wait for it.
import { jsonResponse } from "../http/message.ts";
import { createApiDocument } from "../http/openapi.ts";
import { problemResponse } from "../http/problem.ts";
import { getRoute, publicRouter, type Router } from "../http/router.ts";
import { PATHS } from "../http/urls.ts";
import { assets } from "./assets.ts";
import { createDashboardRouter } from "./dashboard/dashboard.ts";
import { docsRoutes } from "./docs/docs.ts";
import { createPageRouter, type PageRoute, type WebDeps } from "./session.ts";
import { signInRoutes } from "./sign-in.ts";
import { createSiteRouter } from "./sites/sites.ts";

export { notFoundPage as nowherePage } from "./layout.ts";

/** `hasControls`: whether the test controls are switched on. */
export function createPageRouters(deps: WebDeps, hasControls: boolean): readonly Router[] {
  const { urls: links } = deps.services;
  // The pages that have an address of their own, and what they load.
  const single: readonly PageRoute[] = [...signInRoutes, ...docsRoutes(deps), ...assets];
  const description = jsonResponse(
    200,
    createApiDocument(deps.operations, deps.services, hasControls),
  );
  return [
    publicRouter(
      [getRoute(PATHS.openapi, () => ({ ...description, headers: { ...description.headers } }))],
      (error, { id }) => problemResponse(error, id, links),
    ),
    // Who is signed out can only sign in: what else their form asks for leads to that first, and then back.
    createPageRouter(deps, "", single, ({ handler: answer, path }, { caller: who }) =>
      who.withForm((sent) => answer(who, sent), 0, !who.signedIn && path !== PATHS.sign_in),
    ),
    createDashboardRouter(deps),
    createSiteRouter(deps),
  ];
}
