// Routes for apps, their deployments and interactions, and the data sources that they show.
import * as apps from "../domain/apps.ts";
import { keepNumbers } from "../domain/columns.ts";
import { listQuery, paginate } from "../domain/crud.ts";
import * as data from "../domain/data-sources.ts";
import * as deployments from "../domain/deployments.ts";
import * as model from "../domain/model.ts";
import { ADMIN_SCOPE, crudRoutes } from "./crud-routes.ts";
import { type Operation, route, withDecision } from "./route.ts";
import {
  deploymentSerializer,
  eventSerializer,
  listSerializer,
  rowSerializer,
} from "./serializers.ts";
import { DATA_BODY_BYTES } from "./validation.ts";

const app = crudRoutes({
  path: "/apps/{app_id}",
  noun: "App",
  labels: { one: "an app", many: "apps", deleted: "an app with its deployments" },
  scopes: { read: "read:apps", write: "write:apps", delete: "delete:apps" },
  service: apps.appService,
});

const source = crudRoutes({
  path: "/data-sources/{data_source_id}",
  noun: "DataSource",
  labels: { one: "a data source", many: "data sources", deleted: "a data source with its rows" },
  scopes: { read: "read:data", write: ADMIN_SCOPE, delete: ADMIN_SCOPE },
  service: data.dataSourceService,
});

const allAppRoutes = [
  {
    ...app.createRoute,
    spec: "4.create-app",
    example: {
      title: "Sales overview",
      description: "Revenue by region",
      theme: "light",
      public: false,
    },
  },
  route({
    ...app.listRoute,
    spec: "4.list-apps",
    query: apps.appQuery,
    handler: ({ unitOfWork, account, query }) => apps.listApps(unitOfWork.store, account, query),
  }),
  app.getRoute,
  { ...app.updateRoute, example: { title: "Sales overview 2026" } },
  { ...app.deleteRoute, spec: "4.delete-app" },
  route({
    method: "POST",
    path: "/apps/{app_id}/deploy",
    scope: "write:apps",
    operationId: "deployApp",
    summary: "Deploy an app to an environment",
    spec: "4.deploy",
    loads: app.getRoute,
    bodyName: "DeploymentCreate",
    body: () => model.deployment.createBody,
    example: { name: "Release 1", custom_domain: "sales.example.com", environment: "production" },
    status: 201,
    serializer: deploymentSerializer,
    location: ({ app_id, id }) => `/apps/${app_id}/deployments/${id}`,
    handler: ({ unitOfWork, account, params: { app_id = "" }, body, services }) =>
      deployments.deploy(unitOfWork, account, app_id, body, services.urls),
  }),
  route({
    method: "GET",
    path: "/apps/{app_id}/deployments",
    scope: "read:apps",
    operationId: "listDeployments",
    summary: "List the deployments of an app",
    loads: app.getRoute,
    query: listQuery,
    status: 200,
    serializer: listSerializer(deploymentSerializer),
    handler: ({ unitOfWork, params: { app_id = "" }, query }) =>
      paginate(unitOfWork.store, model.deployments, "app", [app_id], query),
  }),
  route({
    method: "GET",
    path: "/apps/{app_id}/deployments/{deployment_id}",
    scope: "read:apps",
    operationId: "getDeployment",
    summary: "Read a deployment",
    status: 200,
    serializer: deploymentSerializer,
    handler: ({ unitOfWork, account, params: { app_id = "", deployment_id = "" } }) =>
      deployments.getDeployment(unitOfWork.store, account, app_id, deployment_id),
  }),
  route({
    method: "POST",
    path: "/apps/{app_id}/interactions",
    scope: "write:apps",
    operationId: "reportInteraction",
    summary: "Report that a user used an app",
    loads: app.getRoute,
    bodyName: "InteractionCreate",
    body: () => apps.interactionBody,
    keepNumbers: keepNumbers,
    example: {
      user_id: "visitor-17",
      interaction_type: "chart_click",
      chart_id: "revenue",
      data_point: { x: "2026-03", y: 48_250, category: "North" },
    },
    status: 202,
    serializer: eventSerializer,
    handler: ({ unitOfWork, account, params: { app_id = "" }, body }) =>
      apps.recordInteraction(unitOfWork, account, app_id, body),
  }),
];

const dataSourceRoutes = [
  {
    ...source.createRoute,
    spec: "4.create-data-source",
    bodyLimit: DATA_BODY_BYTES,
    keepNumbers: keepNumbers,
    example: {
      name: "Orders",
      type: "csv",
      data: "region,revenue\r\nNorth,48250\r\nSouth,39100\r\n",
    },
  },
  source.listRoute,
  source.getRoute,
  source.deleteRoute,
  route({
    method: "GET",
    path: "/data-sources/{data_source_id}/rows",
    scope: "read:data",
    operationId: "listDataSourceRows",
    summary: "List the rows of a data source",
    loads: source.getRoute,
    query: listQuery,
    status: 200,
    serializer: listSerializer(rowSerializer),
    handler: ({ unitOfWork, account, params: { data_source_id = "" }, query }) =>
      data.listRows(unitOfWork.store, account, data_source_id, query),
  }),
];

export const appRoutes: readonly Operation[] = [
  ...withDecision("4.app-endpoints", allAppRoutes),
  ...withDecision("2.data-source-fields", dataSourceRoutes),
];
