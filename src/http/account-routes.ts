// Routes for an account's users, API keys, OAuth clients, webhooks with their delivery log, events, and the account
// itself (spec parts 4 and 6).
import { decide } from "../former-decisions.ts";
import { apiKeyService, oauthClientService } from "../domain/credentials.ts";
import * as events from "../domain/events.ts";
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

/** The delivery is queued; its result appears in the delivery log. */
const ACCEPTED = 202;
const LOG = "/webhooks/{webhook_id}/deliveries";

const user = crudRoutes({
  path: `${decide("4.user-area")}/{user_id}`,
  noun: "User",
  labels: ["a user", "users", "a user; they are signed out"],
  scopes: ADMIN_SCOPES,
  service: users.userService,
  create: {
    example: { email: "ada@example.com", name: "Ada", permissions: ["read:apps", "read:data"] },
  },
  update: {
    errorCodes: ["email_taken", "last_admin"],
    example: { permissions: ["read:apps", "write:apps"] },
  },
  remove: { errorCodes: ["last_admin"] },
});

const key = crudRoutes({
  path: "/api-keys/{key_id}",
  noun: "ApiKey",
  labels: ["an API key", "API keys", "an API key; whatever uses it is refused"],
  scopes: ADMIN_SCOPES,
  service: apiKeyService,
  create: { example: { name: "Build server" }, shownOnce: { key: ({ key }) => key } },
});

const client = crudRoutes({
  path: "/oauth-clients/{client_id}",
  noun: "OAuthClient",
  labels: ["an OAuth client", "OAuth clients", "an OAuth client; its tokens stop working"],
  scopes: ADMIN_SCOPES,
  service: oauthClientService,
  create: {
    example: {
      ...{ name: "Report mailer", redirect_uris: ["https://mailer.example.com/callback"] },
      ...{ scopes: ["read:apps"], public: false },
    },
    shownOnce: { client_secret: ({ client_secret }) => client_secret },
  },
});

const webhook = crudRoutes({
  path: "/webhooks/{webhook_id}",
  noun: "Webhook",
  labels: ["a webhook", "webhooks", "a webhook; what waits for it is cancelled"],
  scopes: ADMIN_SCOPES,
  service: webhooks.webhookService,
  create: {
    spec: "4.create-webhook",
    body: ({ webhook }) => webhook.createBody,
    example: {
      url: "https://hooks.example.com/apps",
      events: ["app.created", "app.deployed"],
      active: true,
    },
    shownOnce: { [decide("4.webhook-endpoints")]: ({ secret }) => secret },
  },
  update: { body: ({ webhook }) => webhook.updateBody, example: { active: false } },
});

const ofWebhooks = withDecision("4.webhook-endpoints", [
  ...webhook.rows,
  route(
    "POST /webhooks/{webhook_id}/test",
    ADMIN_SCOPE,
    "testWebhook",
    "Send a sample event to a webhook",
    {
      loads: webhook.getRoute,
      bodyName: "TestDeliveryCreate",
      body: webhooks.testBody,
      example: { type: "app.deployed" },
      status: ACCEPTED,
      serializer: deliverySerializer,
      handler: ({ unitOfWork: unit, account, params, body }) =>
        webhooks.sendTest(unit, account, params.webhook_id, body.type),
    },
  ),
  route(`GET ${LOG}`, ADMIN_SCOPE, "listDeliveries", "List the deliveries of a webhook", {
    loads: webhook.getRoute,
    query: webhooks.deliveryQuery,
    serializer: listSerializer(deliverySerializer),
    handler: ({ unitOfWork: unit, params, query }) =>
      webhooks.listDeliveries(unit.store, params.webhook_id, query),
  }),
  route(
    `GET ${LOG}/{delivery_id}`,
    ADMIN_SCOPE,
    "getDelivery",
    "Read a delivery with all its attempts",
    {
      loads: webhook.getRoute,
      serializer: deliverySerializer,
      handler: ({ unitOfWork: unit, params }) =>
        webhooks.getDelivery(unit.store, params.webhook_id, params.delivery_id),
    },
  ),
  route(
    `POST ${LOG}/{delivery_id}/redeliver`,
    ADMIN_SCOPE,
    "redeliverDelivery",
    "Send a delivery once more",
    {
      status: ACCEPTED,
      serializer: deliverySerializer,
      handler: ({ unitOfWork: unit, account, params }) =>
        webhooks.redeliver(unit, account, params.webhook_id, params.delivery_id),
    },
  ),
]);

const others = [
  route("GET /events", ADMIN_SCOPE, "listEvents", "List events", {
    query: events.eventQuery,
    serializer: listSerializer(eventSerializer),
    handler: ({ unitOfWork: unit, account, query }) =>
      events.listEvents(unit.store, account, query),
  }),
  route("GET /events/{event_id}", ADMIN_SCOPE, "getEvent", "Read an event", {
    serializer: eventSerializer,
    handler: ({ unitOfWork: unit, account, params }) =>
      events.getEvent(unit.store, account, params.event_id),
  }),
  route(
    "GET /account",
    null,
    "getAccount",
    "Read the account of the credential, and the user of an access token",
    {
      serializer: accountSerializer,
      handler: async ({ account, user = null }) => ({
        ...account,
        user: user && { id: user.id, email: user.email, name: user.name },
      }),
    },
  ),
];

export const accountRoutes: readonly Operation[] = [
  ...ofWebhooks,
  ...withDecision("4.user-area", user.rows),
  ...withDecision("1.dashboard", [...key.rows, ...client.rows, ...others]),
];
