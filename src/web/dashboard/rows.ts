// THE table of the dashboard's pages. In which order they stand here is of no matter.
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
