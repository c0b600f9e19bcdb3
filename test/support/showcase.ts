// A realistic account for the tests of the pages' look: apps with charts, webhooks that succeed, fail and are off,
// a data source that failed, and long texts. Returns every page by the name of its picture.
import { API_ROUTES } from "../../src/http/api.ts";
import { dashboardRoutes } from "../../src/web/dashboard/pages.ts";
import { str } from "./client.ts";
import type { Embedded } from "./embedded.ts";
import { hooked } from "./receivers.ts";
import { deployed } from "./sites.ts";
import { uploaded } from "./wait.ts";
import { fill, type Ids } from "./world.ts";

const LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerk".repeat(3);
const SALES =
  "month,region,revenue\n2026-01,North,12400\n2026-01,South,9800\n2026-02,North,15100\n2026-02,South,11250\n2026-03,North,14900\n2026-03,South,13700\n";

/** 2,000 hourly values in two series. */
const READINGS = Array.from({ length: 2_000 }, (_, index) => ({
  measured_at: new Date(Date.UTC(2026, 0, 1, Math.floor(index / 2))).toISOString(),
  berth: index % 2 === 0 ? "North quay" : "South quay",
  water_level_cm: Math.round(300 + 150 * Math.sin(index / 90) - 80 * (index % 2)),
}));

const VISITS = Array.from({ length: 30 }, (_, index) => ({
  day: new Date(Date.UTC(2026, 0, 1 + index)).toISOString().slice(0, 10),
  visits: (index * 37) % 23,
}));
const PROFIT = ["North Atlantic", "Baltic Sea", "Mediterranean", "Black Sea"].flatMap((route, at) =>
  [1, 2, 3].map((quarter) => ({
    route,
    quarter: `Q${quarter}`,
    profit: ((quarter * 31_250 * (at + 1)) % 98_765) - 44_000,
  })),
);

const GROUPS = new Set(API_ROUTES.routes.map(({ path }) => path.split("/")[1]));

/** The paths of the documentation. */
export const DOCS = [
  "/docs",
  "/docs/tour",
  "/docs/endpoints",
  "/docs/events",
  "/docs/errors",
  ...Array.from(GROUPS, (group) => `/docs/endpoints/${group}`),
  ...Array.from({ length: 9 }, (_, index) => `/docs/tour/${index + 1}`),
];

/** Creates the account's data with a manual clock; returns its pages. */
export async function createShowcase({ api, service }: Embedded) {
  const failing = await hooked(api, ["app.created", "app.deployed"], {}, [500, 200]);
  const gone = await hooked(api, ["app.updated"], {}, [410]);
  const {
    app,
    give,
    path: sitePath,
  } = await deployed(api, {
    title: "Harbour sales",
    description: "Revenue and water levels of the harbour, updated every month.",
  });
  await service.settled();
  await give("Revenue by region", SALES);
  const levels = await give("Water level", READINGS);
  await give("Ships", [{ ship: "Aurora", cargo_t: 1_250 }]);
  await api.patch(`/apps/${app}`, { theme: "dark" });
  await api.patch(`/apps/${app}`, { theme: "light" });
  const dark = await deployed(api, { title: "Fleet", theme: "dark" });
  await dark.give("Visits", VISITS);
  const sent = await dark.give("Profit by quarter", PROFIT);
  await dark.give("Crew", [{ name: "Ada", joined: "2024-05-01", on_board: true }]);
  const noData = await deployed(api, { title: "Tides", description: "Tide tables by port." });
  const long = await deployed(api, { title: LONG, description: LONG });
  await long.give(LONG, [{ [LONG]: LONG, n: 1 }]);
  const empty = await api.create("/apps", { title: "Empty app" });
  const failed = await uploaded(api, { name: "Broken upload", type: "csv", data: 'a,b\n1,"2\n' });
  const source = (await api.get("/data-sources")).items[0];
  const user = await api.create("/users", {
    email: "reader@example.com",
    name: "Rita Reader",
    permissions: ["read:apps", "read:data"],
  });
  const key = await api.create("/api-keys", { name: "Build server" });
  const client = await api.create("/oauth-clients", {
    name: "Mailer",
    redirect_uris: ["https://mailer.example.com/callback"],
    scopes: ["read:apps", "write:apps"],
  });
  await service.settled();
  const idle = await api.create("/webhooks", {
    url: "http://127.0.0.1:9/idle",
    events: ["user.interaction"],
    active: false,
  });
  const deliveries = (await api.get(`/webhooks/${failing.webhook.id}/deliveries`)).items;
  const events = (await api.get("/events?type=app.created")).items;
  const deployment = (await api.get(`/apps/${app}/deployments`)).items[0];
  const ids: Ids = {
    app_id: app,
    deployment_id: str(deployment?.id),
    data_source_id: str(source?.id),
    user_id: user.id,
    webhook_id: str(failing.webhook.id),
    delivery_id: str(deliveries[0]?.id),
    event_id: str(events[0]?.id),
    key_id: key.id,
    client_id: client.id,
  };
  const dashboard = dashboardRoutes
    .filter(({ method }) => method === "GET")
    .map(({ path }) => ({ name: path.slice(1).replace(/[/{}]+/g, "-"), path: fill(path, ids) }));
  const authorization = new URLSearchParams({
    response_type: "code",
    client_id: client.id,
    redirect_uri: "https://mailer.example.com/callback",
    scope: "read:apps write:apps",
    state: "s",
  });
  const others = {
    "app-empty": `/dashboard/apps/${empty.id}`,
    "app-not-found": "/dashboard/apps/app_000000000000000000000000",
    "data-source-failed": `/dashboard/data-sources/${failed.id}`,
    "webhook-gone": `/dashboard/settings/webhooks/${gone.webhook.id}`,
    "webhook-idle": `/dashboard/settings/webhooks/${idle.id}`,
    "delivery-second": `/dashboard/settings/webhooks/${failing.webhook.id}/deliveries/${deliveries[1]?.id}`,
    consent: `/oauth/authorize?${authorization}`,
    "consent-error": "/oauth/authorize?client_id=cli_unknown",
    site: sitePath,
    "site-sorted": `${sitePath}?table=${levels}&sort=water_level_cm&order=descending&chart=${levels}&point=1990&event=evt_1`,
    "site-dark": `${dark.path}?chart=${sent}&point=1&event=evt_1`,
    "site-empty": noData.path,
    "site-long": long.path,
    "site-not-found": "/sites/dep_000000000000000000000000/",
  };
  return [
    ...dashboard,
    ...Object.entries(others).map(([name, path]) => ({ name, path })),
    ...DOCS.map((path) => ({ name: path.slice(1).replaceAll("/", "-"), path })),
  ];
}
