// The route table of the REST API (spec parts 4 and 6): apps with their deployments and interactions, data sources,
// users, API keys, OAuth clients, webhooks with their delivery log, events and the account.
import * as apps from "../domain/apps.ts";
import { apiKeyService, oauthClientService } from "../domain/credentials.ts";
import { listQuery, paginate } from "../domain/crud.ts";
import * as data from "../domain/data-sources.ts";
import * as events from "../domain/events.ts";
import * as model from "../domain/model.ts";
import { userService } from "../domain/users.ts";
import * as webhooks from "../domain/webhooks.ts";
import {
  ADMIN_SCOPE,
  accountSerializer,
  crudOperations,
  deliverySerializer,
  deploymentSerializer,
  eventSerializer,
  listSerializer,
  type Operation,
  route,
  rowSerializer,
  withDecision,
} from "./operation.ts";
import { DATA_BODY_BYTES } from "./request.ts";

const app = crudOperations({
  path: "/apps/{app_id}",
  noun: "App",
  label: "app",
  scopes: { read: "read:apps", write: "write:apps", delete: "delete:apps" },
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
    handler: ({ unitOfWork, account, query }) => apps.listApps(unitOfWork.store, account, query),
  },
  update: { example: { title: "Sales overview 2026" } },
  delete: { spec: "4.delete-app" },
});

const source = crudOperations({
  path: "/data-sources/{data_source_id}",
  noun: "DataSource",
  label: "data source",
  scopes: { read: "read:data", write: ADMIN_SCOPE, delete: ADMIN_SCOPE },
  service: data.dataSourceService,
  create: {
    spec: "4.create-data-source",
    bodyLimit: DATA_BODY_BYTES,
    fieldErrors: ({ unitOfWork, account, body }) =>
      data.findAppError(unitOfWork.store, account, body),
    exactNumbers: true,
    example: {
      name: "Orders",
      type: "csv",
      data: "region,revenue\r\nNorth,48250\r\nSouth,39100\r\n",
    },
  },
});

const appRoutes = [
  ...app.operations,
  route({
    method: "POST",
    path: "/apps/{app_id}/deploy",
    scope: "write:apps",
    operationId: "deployApp",
    errorCodes: ["domain_taken"],
    summary: "Deploy an app to an environment",
    spec: "4.deploy",
    loads: app.readOperation,
    bodyName: "DeploymentCreate",
    body: model.deployment.createBody,
    fieldErrors: async ({ body, routeDeps }) => apps.findOwnHostError(body, routeDeps.urls),
    example: { name: "Release 1", custom_domain: "sales.example.com", environment: "production" },
    status: 201,
    serializer: deploymentSerializer,
    location: ({ app_id, id }) => `/apps/${app_id}/deployments/${id}`,
    handler: ({ unitOfWork, account, params: { app_id = "" }, body, routeDeps }) =>
      apps.deploy(unitOfWork, account, app_id, body, routeDeps.urls),
  }),
  route({
    method: "GET",
    path: "/apps/{app_id}/deployments",
    scope: "read:apps",
    operationId: "listDeployments",
    summary: "List the deployments of an app",
    loads: app.readOperation,
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
      apps.getDeployment(unitOfWork.store, account, app_id, deployment_id),
  }),
  route({
    method: "POST",
    path: "/apps/{app_id}/interactions",
    scope: "write:apps",
    operationId: "reportInteraction",
    summary: "Report that a user used an app",
    loads: app.readOperation,
    bodyName: "InteractionCreate",
    body: apps.interactionBody,
    exactNumbers: true,
    example: {
      user_id: "usr_0VN4t8Kq200Xw7RbLm5cYdT",
      interaction_type: "chart_click",
      chart_id: "revenue-by-month",
      data_point: { x: "2026-03", y: 48_250, category: "North" },
    },
    status: 202,
    serializer: eventSerializer,
    handler: ({ unitOfWork, account, params: { app_id = "" }, body }) =>
      apps.recordInteraction(unitOfWork, account, app_id, body),
  }),
];

const dataSourceRoutes = [
  ...source.operations,
  route({
    method: "GET",
    path: "/data-sources/{data_source_id}/rows",
    scope: "read:data",
    operationId: "listDataSourceRows",
    summary: "List the rows of a data source",
    query: listQuery,
    status: 200,
    serializer: listSerializer(rowSerializer),
    handler: ({ unitOfWork, account, params: { data_source_id = "" }, query }) =>
      data.listRows(unitOfWork.store, account, data_source_id, query),
  }),
];

const user = crudOperations({
  path: "/users/{user_id}",
  noun: "User",
  label: "user",
  service: userService,
  create: {
    errorCodes: ["email_taken"],
    example: { email: "ada@example.com", name: "Ada", permissions: ["read:apps", "read:data"] },
  },
  update: {
    errorCodes: ["email_taken", "last_admin"],
    example: { permissions: ["read:apps", "write:apps"] },
  },
  delete: { errorCodes: ["last_admin"] },
});

const apiKey = crudOperations({
  path: "/api-keys/{key_id}",
  noun: "ApiKey",
  label: "API key",
  service: apiKeyService,
  create: { example: { name: "Build server" }, shownOnce: "key" },
});

const client = crudOperations({
  path: "/oauth-clients/{client_id}",
  noun: "OAuthClient",
  label: "OAuth client",
  service: oauthClientService,
  create: {
    example: {
      name: "Report mailer",
      redirect_uris: ["https://mailer.example.com/callback"],
      scopes: ["read:apps"],
      public: false,
    },
    shownOnce: "client_secret",
  },
});

const findUrlErrors: Operation["fieldErrors"] = async ({ body, routeDeps }) =>
  webhooks.findUrlErrors(body, routeDeps.checkWebhookUrl);

const webhook = crudOperations({
  path: "/webhooks/{webhook_id}",
  noun: "Webhook",
  label: "webhook",
  service: webhooks.webhookService,
  create: {
    spec: "4.create-webhook",
    fieldErrors: findUrlErrors,
    example: {
      url: "https://hooks.example.com/apps",
      events: ["app.created", "app.deployed"],
      active: true,
    },
    shownOnce: "secret",
  },
  update: { fieldErrors: findUrlErrors, example: { active: false } },
});

const webhookRoutes = [
  ...webhook.operations,
  route({
    method: "POST",
    path: "/webhooks/{webhook_id}/test",
    scope: ADMIN_SCOPE,
    operationId: "testWebhook",
    summary: "Send a sample event to a webhook",
    loads: webhook.readOperation,
    bodyName: "TestDeliveryCreate",
    body: webhooks.testBody,
    example: { type: "app.deployed" },
    status: 202,
    serializer: deliverySerializer,
    handler: ({ unitOfWork, account, params: { webhook_id = "" }, body }) =>
      webhooks.sendTest(unitOfWork, account, webhook_id, body.type),
  }),
  route({
    method: "GET",
    path: "/webhooks/{webhook_id}/deliveries",
    scope: ADMIN_SCOPE,
    operationId: "listDeliveries",
    summary: "List the deliveries of a webhook",
    loads: webhook.readOperation,
    query: webhooks.deliveryQuery,
    status: 200,
    serializer: listSerializer(deliverySerializer),
    handler: ({ unitOfWork, params: { webhook_id = "" }, query }) =>
      webhooks.listDeliveries(unitOfWork.store, webhook_id, query),
  }),
  route({
    method: "GET",
    path: "/webhooks/{webhook_id}/deliveries/{delivery_id}",
    scope: ADMIN_SCOPE,
    operationId: "getDelivery",
    summary: "Read a delivery with all its attempts",
    loads: webhook.readOperation,
    status: 200,
    serializer: deliverySerializer,
    handler: ({ unitOfWork, params: { webhook_id = "", delivery_id = "" } }) =>
      webhooks.getDelivery(unitOfWork.store, webhook_id, delivery_id),
  }),
  route({
    method: "POST",
    path: "/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver",
    scope: ADMIN_SCOPE,
    operationId: "redeliverDelivery",
    summary: "Send a delivery once more",
    status: 202,
    serializer: deliverySerializer,
    handler: ({ unitOfWork, account, params: { webhook_id = "", delivery_id = "" } }) =>
      webhooks.redeliver(unitOfWork, account, webhook_id, delivery_id),
  }),
];

const eventRoutes = [
  route({
    method: "GET",
    path: "/events",
    scope: ADMIN_SCOPE,
    operationId: "listEvents",
    summary: "List events",
    query: events.eventQuery,
    status: 200,
    serializer: listSerializer(eventSerializer),
    handler: ({ unitOfWork, account, query }) =>
      events.listEvents(unitOfWork.store, account, query),
  }),
  route({
    method: "GET",
    path: "/events/{event_id}",
    scope: ADMIN_SCOPE,
    operationId: "getEvent",
    summary: "Read an event",
    status: 200,
    serializer: eventSerializer,
    handler: ({ unitOfWork, account, params: { event_id = "" } }) =>
      events.getEvent(unitOfWork.store, account, event_id),
  }),
];

const accountRoute = route({
  method: "GET",
  path: "/account",
  scope: null,
  operationId: "getAccount",
  summary: "Read the account of the credential, and the user of an access token",
  status: 200,
  serializer: accountSerializer,
  handler: async ({ account, user }) => ({
    ...account,
    user: user ? { id: user.id, email: user.email, name: user.name } : null,
  }),
});

export const apiRoutes: readonly Operation[] = [
  ...withDecision("4.app-endpoints", appRoutes),
  ...withDecision("2.data-source-fields", dataSourceRoutes),
  ...withDecision("4.webhook-endpoints", webhookRoutes),
  ...withDecision("4.user-area", user.operations),
  ...withDecision("1.dashboard", [
    ...apiKey.operations,
    ...client.operations,
    ...eventRoutes,
    accountRoute,
  ]),
];
