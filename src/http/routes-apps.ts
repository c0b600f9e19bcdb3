// The rows for apps, their deployments and interactions, and for the data sources that they show.
import * as apps from "../domain/apps.ts";
import * as data from "../domain/data-sources.ts";
import * as deployments from "../domain/deployments.ts";
import { listQuery, pageOf } from "../domain/lists.ts";
import * as model from "../domain/model.ts";
import { hostOf } from "./call.ts";
import { DATA_BODY_BYTES } from "./input.ts";
import { MANAGE, resource } from "./resource.ts";
import { chosen, type Operation, route } from "./route.ts";
import { deploymentView, eventView, page, rowView } from "./view.ts";

/** The event is recorded; what receivers make of it is still to come. */
const INTERACTION_STATUS = 202;

const app = resource({
  path: "/apps/{app_id}",
  noun: "App",
  words: ["an app", "apps", "an app with its deployments"],
  scopes: ["read:apps", "write:apps", "delete:apps"],
  owned: apps.own,
  create: {
    spec: "4.create-app",
    body: ({ decide }) => (decide("2.app-fields").length > 1 ? model.wholeAppDraft : model.app.draft),
    example: { title: "Sales overview", description: "Revenue by region", theme: "light", public: false },
  },
  list: {
    spec: "4.list-apps",
    query: apps.appQuery,
    run: ({ unit, account, query }) => apps.listApps(unit.store, account, query),
  },
  update: { example: { title: "Sales overview 2026" } },
  remove: { spec: "4.delete-app" },
});

const ofApps = chosen("4.app-endpoints", [
  ...app.rows,
  route("POST /apps/{app_id}/deploy", "write:apps", "deployApp", "Deploy an app to an environment", {
    spec: "4.deploy",
    target: app.get,
    bodyName: "DeploymentCreate",
    body: model.deployment.draft,
    example: { name: "Release 1", custom_domain: "sales.example.com", environment: "production" },
    view: deploymentView,
    location: ({ app_id, id }) => `/apps/${app_id}/deployments/${id}`,
    run: ({ unit, account, params, body, services, call }) =>
      deployments.deploy(unit, account, params.app_id, body, services.links.askedAt(hostOf(call))),
  }),
  route("GET /apps/{app_id}/deployments", "read:apps", "listDeployments", "List the deployments of an app", {
    target: app.get,
    query: listQuery,
    view: page(deploymentView),
    run: ({ unit, params, query }) => pageOf(unit.store, model.deployments, "app", [params.app_id], query),
  }),
  route("GET /apps/{app_id}/deployments/{deployment_id}", "read:apps", "getDeployment", "Read a deployment", {
    view: deploymentView,
    run: ({ unit, account, params }) =>
      deployments.getDeployment(unit.store, account, params.app_id, params.deployment_id),
  }),
  route("POST /apps/{app_id}/interactions", "write:apps", "reportInteraction", "Report that a user used an app", {
    target: app.get,
    bodyName: "InteractionCreate",
    body: apps.interaction,
    keepNumbers: apps.keepNumbersOfPoint,
    example: {
      ...{ user_id: "visitor-17", interaction_type: "chart_click", chart_id: "revenue" },
      data_point: { x: "2026-03", y: 48_250, category: "North" },
    },
    status: INTERACTION_STATUS,
    view: eventView,
    run: ({ unit, account, params, body }) => apps.interact(unit, account, params.app_id, body),
  }),
]);

const source = resource({
  path: "/data-sources/{data_source_id}",
  noun: "DataSource",
  words: ["a data source", "data sources", "a data source with its rows"],
  scopes: ["read:data", MANAGE, MANAGE],
  owned: data.own,
  create: {
    spec: "4.create-data-source",
    bodyLimit: DATA_BODY_BYTES,
    keepNumbers: data.keepNumbersOfDraft,
    example: { name: "Orders", type: "csv", data: "region,revenue\r\nNorth,48250\r\nSouth,39100\r\n" },
  },
});

const ofData = chosen("2.data-source-fields", [
  ...source.rows,
  route(
    "GET /data-sources/{data_source_id}/rows",
    "read:data",
    "listDataSourceRows",
    "List the rows of a data source",
    {
      target: source.get,
      query: listQuery,
      view: page(rowView),
      run: ({ unit, account, params, query }) => data.rowsPage(unit.store, account, params.data_source_id, query),
    },
  ),
]);

export const appRoutes: readonly Operation[] = [...ofApps, ...ofData];
