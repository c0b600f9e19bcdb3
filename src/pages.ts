// The ways to what people look at (contract, part 1): the dashboard, deployed apps, consent and sign-in, the documentation,
// the description. Part of the composition root, beside launch.ts, which loads it when somebody comes: a start need not
// wait for it.
import type { RateLimiter } from "./domain/limits.ts";
import type { Context } from "./domain/oauth/access-tokens.ts";
import type { UnitParts } from "./domain/work.ts";
import { jsonReply } from "./http/call.ts";
import { document, documentWay } from "./http/documents.ts";
import { ADDRESSES } from "./http/links.ts";
import { openApi } from "./http/openapi.ts";
import { ADVICE, explain, PROBLEMS } from "./http/problem.ts";
import type { Operation, Services } from "./http/route.ts";
import { routes } from "./http/routes.ts";
import type { Presenter } from "./http/view.ts";
import type { Way } from "./http/way.ts";

import { consentRows } from "./web/consent.ts";
import { dashboard } from "./web/dashboard/dashboard.ts";
import { docsRows } from "./web/docs/docs.ts";
import { signInRows } from "./web/sign-in.ts";
import { sites } from "./web/sites/sites.ts";
import { pageWay, Visits } from "./web/visit.ts";

export { nowherePage } from "./web/page.ts";

export interface PagesParts {
  readonly unit: UnitParts;
  readonly oauth: Context;
  readonly services: Services;
  readonly presenter: Presenter;
  readonly limiter: RateLimiter;
  /** The waits between the attempts of a delivery. */
  readonly retryWaits_ms: readonly number[];
  /** The test controls, where they are switched on. */
  readonly controls: readonly Operation[];
  /** Shows one line to whoever runs the server. */
  readonly announce: (line: string) => void;
}

export function pageWays(parts: PagesParts): readonly Way[] {
  const { unit, controls } = parts;
  const { links } = parts.services;
  const visits = new Visits({ ...unit, authUrl: links.authUrl });
  const own = { ...parts, visits, explain, links };
  const description = jsonReply(200, openApi(routes, links, controls));
  const signIn = signInRows({ ...own, signInLink: (token) => links.signIn(token) });
  const docs = docsRows({ ...own, rows: routes, problems: PROBLEMS, advice: ADVICE });
  return [
    documentWay(links, [document(ADDRESSES.openapi, () => description)]),
    pageWay(visits, explain, [...consentRows(own), ...signIn, ...docs]),
    dashboard({ ...own, operations: routes }),
    sites(own),
  ];
}
