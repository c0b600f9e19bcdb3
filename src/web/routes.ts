// The entry point of this layer: all routers of pages (contract, part 1): dashboard, deployed apps, consent, sign-in,
// documentation and the API description. server.ts loads it on first use, so that it does not delay a start.
import { jsonResponse } from "../http/message.ts";
import { createOpenApiDocument } from "../http/openapi.ts";
import { problemResponse } from "../http/problem.ts";
import { getRoute, publicRouter, type Router } from "../http/router.ts";
import { PATHS } from "../http/urls.ts";
import type { Variants } from "../http/variants.ts";
import { assets } from "./assets.ts";
import { createDashboardRouter } from "./dashboard/dashboard.ts";
import { docsRoutes } from "./docs/docs.ts";
import { createPageRouter, type PageRoute, type WebDeps } from "./session.ts";
import { signInRoutes } from "./sign-in.ts";
import { createSiteRouter } from "./sites/sites.ts";

export { notFoundPage } from "./layout.ts";

/** `hasControls` is true if the test controls are enabled. */
export function createPageRouters(
  deps: WebDeps & { readonly variants: Variants },
  hasControls: boolean,
): readonly Router[] {
  const { urls: links } = deps.services;
  // Pages with a fixed URL, and the static files.
  const single: readonly PageRoute[] = [...signInRoutes, ...docsRoutes(deps), ...assets];
  const description = jsonResponse(
    200,
    createOpenApiDocument({
      routes: deps.operations,
      services: deps.services,
      variants: deps.variants,
      hasControls,
    }),
  );
  return [
    publicRouter(
      [getRoute(PATHS.openapi, () => ({ ...description, headers: { ...description.headers } }))],
      (error, { id }) => problemResponse(error, id, links),
    ),
    // A signed-out user can only post the sign-in form; any other form leads to it first and then back.
    createPageRouter(deps, "", single, ({ handler: answer, path }, { caller: who }) =>
      who.withForm((sent) => answer(who, sent), 0, !who.signedIn && path !== PATHS.sign_in),
    ),
    createDashboardRouter(deps),
    createSiteRouter(deps),
  ];
}
