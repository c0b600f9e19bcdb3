// Routes for an account's users, API keys, OAuth clients, webhooks with their delivery log, events, and the account
// itself (spec parts 4 and 6).
import { apiKeyService } from "../domain/credentials.ts";
import * as events from "../domain/events.ts";
import { oauthClientService } from "../domain/oauth/tokens.ts";
import * as users from "../domain/users.ts";
import * as webhooks from "../domain/webhooks.ts";
import { ADMIN_SCOPE, ADMIN_SCOPES, crudRoutes } from "./crud-routes.ts";
import { type Operation, route, withDecision } from "./route.ts";
import {
  accountSerializer,
  deliverySerializer,
  eventSerializer,
  listSerializer,
} from "./serializers.ts";

const user = crudRoutes({
  path: "/users/{user_id}",
  noun: "User",
  labels: { one: "a user", many: "users", deleted: "a user and end their sessions" },
  scopes: ADMIN_SCOPES,
  service: users.userService,
});

const apiKey = crudRoutes({
  path: "/api-keys/{key_id}",
  noun: "ApiKey",
  labels: { one: "an API key", many: "API keys", deleted: "an API key, which stops working" },
  scopes: ADMIN_SCOPES,
  service: apiKeyService,
});

const client = crudRoutes({
  path: "/oauth-clients/{client_id}",
  noun: "OAuthClient",
  labels: {
    one: "an OAuth client",
    many: "OAuth clients",
    deleted: "an OAuth client, whose tokens stop working",
  },
  scopes: ADMIN_SCOPES,
  service: oauthClientService,
});

const webhook = crudRoutes({
  path: "/webhooks/{webhook_id}",
  noun: "Webhook",
  labels: {
    one: "a webhook",
    many: "webhooks",
    deleted: "a webhook and cancel its pending deliveries",
  },
  scopes: ADMIN_SCOPES,
  service: webhooks.webhookService,
});

const userRoutes = [
  {
    ...user.createRoute,
    example: { email: "ada@example.com", name: "Ada", permissions: ["read:apps", "read:data"] },
  },
  user.listRoute,
  user.getRoute,
  {
    ...user.updateRoute,
    errorCodes: ["email_taken", "last_admin"],
    example: { permissions: ["read:apps", "write:apps"] },
  } as const,
  { ...user.deleteRoute, errorCodes: ["last_admin"] } as const,
];

const credentialRoutes = [
  { ...apiKey.createRoute, example: { name: "Build server" }, shownOnce: "key" },
  apiKey.listRoute,
  apiKey.getRoute,
  apiKey.deleteRoute,
  {
    ...client.createRoute,
    example: {
      name: "Report mailer",
      redirect_uris: ["https://mailer.example.com/callback"],
      scopes: ["read:apps"],
      public: false,
    },
    shownOnce: "client_secret",
  },
  client.listRoute,
  client.getRoute,
  client.deleteRoute,
];

const webhookRoutes = [
  route({
    ...webhook.createRoute,
    spec: "4.create-webhook",
    body: (services) => services.webhook.createBody,
    example: {
      url: "https://hooks.example.com/apps",
      events: ["app.created", "app.deployed"],
      active: true,
    },
    shownOnce: "secret",
  }),
  webhook.listRoute,
  webhook.getRoute,
  route({
    ...webhook.updateRoute,
    body: (services) => services.webhook.updateBody,
    example: { active: false },
  }),
  webhook.deleteRoute,
  route({
    method: "POST",
    path: "/webhooks/{webhook_id}/test",
    scope: ADMIN_SCOPE,
    operationId: "testWebhook",
    summary: "Send a sample event to a webhook",
    loads: webhook.getRoute,
    bodyName: "TestDeliveryCreate",
    body: () => webhooks.testBody,
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
    loads: webhook.getRoute,
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
    loads: webhook.getRoute,
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

export const accountRoutes: readonly Operation[] = [
  ...withDecision("4.webhook-endpoints", webhookRoutes),
  ...withDecision("4.user-area", userRoutes),
  ...withDecision("1.dashboard", [...credentialRoutes, ...eventRoutes, accountRoute]),
];
