// The entry point of this layer: all routers of pages: dashboard, deployed apps, consent, sign-in, documentation and
// the API description. server.ts loads it on first use, so that it does not delay a start.
import { jsonResponse, PATHS } from "../http/message.ts";
import { createOpenApiDocument } from "../http/openapi.ts";
import { problemResponse } from "../http/problem.ts";
import { publicGet, publicRouter, type Router } from "../http/router.ts";
import { assets } from "./assets.ts";
import { createDashboardRouter } from "./dashboard/dashboard.ts";
import { dashboardRoutes } from "./dashboard/pages.ts";
import { docsRoutes } from "./docs/docs.ts";
import { createPageRouter, type WebDeps } from "./session.ts";
import { signInRoutes } from "./sign-in.ts";
import { createSiteRouter } from "./sites/sites.ts";

export function createPageRouters(deps: WebDeps): readonly Router[] {
  const { routeDeps, operations, variants } = deps;
  const document = createOpenApiDocument(operations, routeDeps, variants);
  const routes = [...signInRoutes, ...docsRoutes(deps), ...assets];
  return [
    publicRouter([publicGet(PATHS.openapi, () => jsonResponse(200, document))], (error, { id }) =>
      problemResponse(error, id, routeDeps.urls),
    ),
    createPageRouter(deps, "", routes, (route, web) =>
      web.withForm((fields) => route.handler(web, fields)),
    ),
    createDashboardRouter(deps, dashboardRoutes),
    createSiteRouter(deps),
  ];
}
