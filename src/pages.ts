// Puts the pages together (contract, part 1): the dashboard, deployed apps, the documentation. Part of the composition
// root, beside service.ts.
import type { RateLimiter } from "./domain/limits.ts";
import type { UnitParts } from "./domain/work.ts";
import type { Door, HostDoor } from "./http/front.ts";
import { explain, PROBLEMS } from "./http/problem.ts";
import type { Services } from "./http/route.ts";
import { routes } from "./http/routes.ts";
import type { Bell } from "./kit/bell.ts";
import { Dashboard } from "./web/dashboard/dashboard.ts";
import { dashboardRows } from "./web/dashboard/rows.ts";
import { docsDoor } from "./web/docs/docs.ts";
import { Sites } from "./web/sites/sites.ts";
import type { Visits } from "./web/visit.ts";

export interface PagesParts {
  readonly unit: UnitParts;
  readonly visits: Visits;
  readonly services: Services;
  readonly limiter: RateLimiter;
  /** The waits between the attempts of a delivery. */
  readonly retryWaits_ms: readonly number[];
  /** Rings for a webhook whose delivery log has changed. */
  readonly bell: Bell;
}

export interface Pages {
  /** Before all others: a live custom domain is a host of its own. */
  readonly hosts: HostDoor;
  readonly doors: readonly Door[];
}

export function pages(parts: PagesParts): Pages {
  const dashboard = new Dashboard(dashboardRows, { ...parts, operations: routes, explain });
  const sites = new Sites({ ...parts, links: parts.services.links });
  const docs = docsDoor({ ...parts, rows: routes, problems: PROBLEMS, links: parts.services.links });
  return { hosts: sites.domainDoor, doors: [sites.door, dashboard.door, docs] };
}
