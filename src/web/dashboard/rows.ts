// THE table of the dashboard's pages. The first row that fits a path is taken, so what is spelt out stands before what is
// a parameter.
import { apps, deployments } from "./apps.ts";
import { dataSources } from "./data-sources.ts";
import { events } from "./events.ts";
import { homeRows } from "./home.ts";
import { apiKeys, oauthApps, users } from "./people.ts";
import { pagesOf } from "./resource.ts";
import type { DashboardRow } from "./view.ts";
import { deliveries, webhooks } from "./webhooks.ts";

export const dashboardRows: readonly DashboardRow[] = [
  ...homeRows,
  ...pagesOf(apps),
  ...pagesOf(deployments),
  ...pagesOf(dataSources),
  ...pagesOf(users),
  ...pagesOf(events),
  ...pagesOf(apiKeys),
  ...pagesOf(webhooks),
  ...pagesOf(deliveries),
  ...pagesOf(oauthApps),
];
