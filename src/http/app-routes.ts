// Routes for apps, their deployments and interactions, and the data sources that they show.
import * as apps from "../domain/apps.ts";
import { listQuery, paginate } from "../domain/crud.ts";
import * as data from "../domain/data-sources.ts";
import * as deployments from "../domain/deployments.ts";
import * as model from "../domain/model.ts";
import { ADMIN_SCOPE, crudRoutes } from "./crud-routes.ts";
import { hostname } from "./message.ts";
import { type Operation, route, withDecision } from "./route.ts";
import {
  deploymentSerializer,
  eventSerializer,
  listSerializer,
  rowSerializer,
} from "./serializers.ts";
import { DATA_BODY_BYTES } from "./validation.ts";

/** The event is recorded; its deliveries are still pending. */
const ACCEPTED = 202;

const app = crudRoutes({
  path: "/apps/{app_id}",
  noun: "App",
  labels: ["an app", "apps", "an app with its deployments"],
  scopes: ["read:apps", "write:apps", "delete:apps"],
  service: apps.appService,
  create: {
    spec: "4.create-app",
    example: {
      title: "Sales overview",
      description: "Revenue by region",
      theme: "light",
      public: false,
    },
  },
  list: {
    spec: "4.list-apps",
    query: apps.appQuery,
    handler: ({ unitOfWork: unit, account, query }) => apps.listApps(unit.store, account, query),
  },
  update: { example: { title: "Sales overview 2026" } },
  remove: { spec: "4.delete-app" },
});

const ofApps = withDecision("4.app-endpoints", [
  ...app.rows,
  route(
    "POST /apps/{app_id}/deploy",
    "write:apps",
    "deployApp",
    "Deploy an app to an environment",
    {
      spec: "4.deploy",
      loads: app.getRoute,
      bodyName: "DeploymentCreate",
      body: model.deployment.createBody,
      example: { name: "Release 1", custom_domain: "sales.example.com", environment: "production" },
      serializer: deploymentSerializer,
      location: ({ app_id, id }) => `/apps/${app_id}/deployments/${id}`,
      handler: ({ unitOfWork: unit, account, params, body, services, request }) =>
        deployments.deploy(
          unit,
          account,
          params.app_id,
          body,
          services.urls.forHost(hostname(request)),
        ),
    },
  ),
  route(
    "GET /apps/{app_id}/deployments",
    "read:apps",
    "listDeployments",
    "List the deployments of an app",
    {
      loads: app.getRoute,
      query: listQuery,
      serializer: listSerializer(deploymentSerializer),
      handler: ({ unitOfWork: unit, params, query }) =>
        paginate(unit.store, model.deployments, "app", [params.app_id], query),
    },
  ),
  route(
    "GET /apps/{app_id}/deployments/{deployment_id}",
    "read:apps",
    "getDeployment",
    "Read a deployment",
    {
      serializer: deploymentSerializer,
      handler: ({ unitOfWork: unit, account, params }) =>
        deployments.getDeployment(unit.store, account, params.app_id, params.deployment_id),
    },
  ),
  route(
    "POST /apps/{app_id}/interactions",
    "write:apps",
    "reportInteraction",
    "Report that a user used an app",
    {
      loads: app.getRoute,
      bodyName: "InteractionCreate",
      body: apps.interactionBody,
      keepNumbers: apps.keepNumbersOfPoint,
      example: {
        ...{ user_id: "visitor-17", interaction_type: "chart_click", chart_id: "revenue" },
        data_point: { x: "2026-03", y: 48_250, category: "North" },
      },
      status: ACCEPTED,
      serializer: eventSerializer,
      handler: ({ unitOfWork: unit, account, params, body }) =>
        apps.recordInteraction(unit, account, params.app_id, body),
    },
  ),
]);

const source = crudRoutes({
  path: "/data-sources/{data_source_id}",
  noun: "DataSource",
  labels: ["a data source", "data sources", "a data source with its rows"],
  scopes: ["read:data", ADMIN_SCOPE, ADMIN_SCOPE],
  service: data.dataSourceService,
  create: {
    spec: "4.create-data-source",
    bodyLimit: DATA_BODY_BYTES,
    keepNumbers: data.keepNumbersOfDraft,
    example: {
      name: "Orders",
      type: "csv",
      data: "region,revenue\r\nNorth,48250\r\nSouth,39100\r\n",
    },
  },
});

const ofData = withDecision("2.data-source-fields", [
  ...source.rows,
  route(
    "GET /data-sources/{data_source_id}/rows",
    "read:data",
    "listDataSourceRows",
    "List the rows of a data source",
    {
      loads: source.getRoute,
      query: listQuery,
      serializer: listSerializer(rowSerializer),
      handler: ({ unitOfWork: unit, account, params, query }) =>
        data.listRows(unit.store, account, params.data_source_id, query),
    },
  ),
]);

export const appRoutes: readonly Operation[] = [...ofApps, ...ofData];
