// THE table of the dashboard's pages. The first row that fits a path is taken, so what is spelt out stands before what is
// a parameter.
import { apps } from "./apps.ts";
import { dataSources } from "./data-sources.ts";
import { deliveryRows } from "./delivery-log.ts";
import { events } from "./events.ts";
import { homeRows } from "./home.ts";
import { apiKeys, oauthApps, users } from "./people.ts";
import { pagesOf } from "./resource.ts";
import type { DashboardRow } from "./view.ts";
import { webhooks } from "./webhooks.ts";

export const dashboardRows: readonly DashboardRow[] = [
  ...homeRows,
  ...pagesOf(apps),
  ...pagesOf(dataSources),
  ...pagesOf(users),
  ...pagesOf(events),
  ...pagesOf(apiKeys),
  ...pagesOf(webhooks),
  ...deliveryRows,
  ...pagesOf(oauthApps),
];
