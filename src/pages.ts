// Puts together what people look at (contract, part 1): the dashboard, deployed apps, the documentation, the description.
// Part of the composition root, beside server.ts, which loads it when somebody comes: a start need not wait for it.
import type { RateLimiter } from "./domain/limits.ts";
import type { UnitParts } from "./domain/work.ts";
import type { ControlRow } from "./http/control-table.ts";
import type { Door, LateDoor } from "./http/front.ts";
import { openApiDoor } from "./http/openapi.ts";
import { explain, PROBLEMS } from "./http/problem.ts";
import type { Services } from "./http/route.ts";
import { routes } from "./http/routes.ts";
import { Presenter } from "./http/view.ts";
import { Dashboard } from "./web/dashboard/dashboard.ts";
import { dashboardRows } from "./web/dashboard/rows.ts";
import { docsDoor } from "./web/docs/docs.ts";
import { nowherePage } from "./web/page.ts";
import { Sites } from "./web/sites/sites.ts";
import type { Visits } from "./web/visit.ts";

export interface PagesParts {
  readonly unit: UnitParts;
  readonly visits: Visits;
  readonly services: Services;
  readonly limiter: RateLimiter;
  /** The waits between the attempts of a delivery. */
  readonly retryWaits_ms: readonly number[];
  /** The test controls, where they are switched on. */
  readonly controls: readonly ControlRow[];
}

export interface Pages {
  readonly door: Door;
  /** What lies under a custom domain, if it is live. */
  readonly domain: LateDoor;
}

export function pages(parts: PagesParts): Pages {
  const { links } = parts.services;
  const dashboard = new Dashboard(dashboardRows, {
    ...parts,
    operations: routes,
    presenter: new Presenter(links),
    explain,
  });
  const sites = new Sites({ ...parts, links });
  const docs = docsDoor({ ...parts, rows: routes, problems: PROBLEMS, links });
  const description = openApiDoor(routes, links, parts.controls);
  return {
    door: (call) => sites.door(call) ?? dashboard.door(call) ?? docs(call) ?? description(call) ?? nowherePage(call),
    domain: sites.domain,
  };
}
