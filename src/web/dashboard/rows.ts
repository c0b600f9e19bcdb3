// THE table of the dashboard's pages. The first row that fits a path is taken, so what is spelt out stands before what is
// a parameter.
import { apiKeyRows } from "./api-keys.ts";
import { oneAppRows } from "./app.ts";
import { appRows } from "./apps.ts";
import { dataSourceRows } from "./data-sources.ts";
import { deliveryLogRows } from "./delivery-log.ts";
import { eventRows } from "./events.ts";
import { homeRows } from "./home.ts";
import { oauthAppRows } from "./oauth-apps.ts";
import { userRows } from "./users.ts";
import type { DashboardRow } from "./view.ts";
import { webhookRows } from "./webhooks.ts";

export const dashboardRows: readonly DashboardRow[] = [
  ...homeRows,
  ...appRows,
  ...oneAppRows,
  ...dataSourceRows,
  ...userRows,
  ...eventRows,
  ...apiKeyRows,
  ...webhookRows,
  ...deliveryLogRows,
  ...oauthAppRows,
];
