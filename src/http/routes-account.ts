// The rows for what an account manages: users, API keys, OAuth clients, webhooks with their delivery log (spec parts 4 and
// 6), its events, itself.
import { decide } from "../decisions.ts";
import { clients, keys } from "../domain/access.ts";
import * as events from "../domain/events.ts";
import * as users from "../domain/users.ts";
import * as webhooks from "../domain/webhooks.ts";
import { MANAGE, MANAGED, resource } from "./resource.ts";
import { chosen, type Operation, route } from "./route.ts";
import { accountView, deliveryView, eventView, page } from "./view.ts";

/** It is queued; the delivery log tells what became of it. */
const DELIVERY_STATUS = 202;
const LOG = "/webhooks/{webhook_id}/deliveries";

const user = resource({
  path: `${decide("4.user-area")}/{user_id}`,
  noun: "User",
  words: ["a user", "users", "a user; they are signed out"],
  scopes: MANAGED,
  owned: users.own,
  create: {
    example: { email: "ada@example.com", name: "Ada", permissions: ["read:apps", "read:data"] },
    once: { sign_in_url: ({ signInToken }, links) => links.signIn(signInToken) },
  },
  update: {
    refusals: ["email_taken", "last_admin"],
    example: { permissions: ["read:apps", "write:apps"] },
  },
  remove: { refusals: ["last_admin"] },
});

const key = resource({
  path: "/api-keys/{key_id}",
  noun: "ApiKey",
  words: ["an API key", "API keys", "an API key; whatever uses it is refused"],
  scopes: MANAGED,
  owned: keys,
  create: { example: { name: "Build server" }, once: { key: ({ key }) => key } },
});

const client = resource({
  path: "/oauth-clients/{client_id}",
  noun: "OAuthClient",
  words: ["an OAuth client", "OAuth clients", "an OAuth client; its tokens stop working"],
  scopes: MANAGED,
  owned: clients,
  create: {
    example: {
      ...{ name: "Report mailer", redirect_uris: ["https://mailer.example.com/callback"] },
      ...{ scopes: ["read:apps"], public: false },
    },
    once: { client_secret: ({ client_secret }) => client_secret },
  },
});

const webhook = resource({
  path: "/webhooks/{webhook_id}",
  noun: "Webhook",
  words: ["a webhook", "webhooks", "a webhook; what waits for it is cancelled"],
  scopes: MANAGED,
  owned: webhooks.own,
  create: {
    spec: "4.create-webhook",
    body: ({ webhook }) => webhook.draft,
    example: { url: "https://hooks.example.com/apps", events: ["app.created", "app.deployed"], active: true },
    once: { [decide("4.webhook-endpoints")]: ({ secret }) => secret },
  },
  update: { body: ({ webhook }) => webhook.changes, example: { active: false } },
});

const ofWebhooks = chosen("4.webhook-endpoints", [
  ...webhook.rows,
  route("POST /webhooks/{webhook_id}/test", MANAGE, "testWebhook", "Send a sample event to a webhook", {
    target: webhook.get,
    bodyName: "TestDeliveryCreate",
    body: webhooks.testRequest,
    example: { type: "app.deployed" },
    status: DELIVERY_STATUS,
    view: deliveryView,
    run: ({ unit, account, params, body }) => webhooks.sendTest(unit, account, params.webhook_id, body.type),
  }),
  route(`GET ${LOG}`, MANAGE, "listDeliveries", "List the deliveries of a webhook", {
    target: webhook.get,
    query: webhooks.deliveryQuery,
    view: page(deliveryView),
    run: ({ unit, params, query }) => webhooks.listDeliveries(unit.store, params.webhook_id, query),
  }),
  route(`GET ${LOG}/{delivery_id}`, MANAGE, "getDelivery", "Read a delivery with all its attempts", {
    target: webhook.get,
    view: deliveryView,
    run: ({ unit, params }) => webhooks.getDelivery(unit.store, params.webhook_id, params.delivery_id),
  }),
  route(`POST ${LOG}/{delivery_id}/redeliver`, MANAGE, "redeliverDelivery", "Send a delivery once more", {
    status: DELIVERY_STATUS,
    view: deliveryView,
    run: ({ unit, account, params }) => webhooks.redeliver(unit, account, params.webhook_id, params.delivery_id),
  }),
]);

const others = [
  route("GET /events", MANAGE, "listEvents", "List events", {
    query: events.eventQuery,
    view: page(eventView),
    run: ({ unit, account, query }) => events.listEvents(unit.store, account, query),
  }),
  route("GET /events/{event_id}", MANAGE, "getEvent", "Read an event", {
    view: eventView,
    run: ({ unit, account, params }) => events.getEvent(unit.store, account, params.event_id),
  }),
  route("GET /account", null, "getAccount", "Read the account of the credential, and the user of an access token", {
    view: accountView,
    run: async ({ account, user = null }) => ({
      ...account,
      user: user && { id: user.id, email: user.email, name: user.name },
    }),
  }),
];

export const accountRoutes: readonly Operation[] = [
  ...ofWebhooks,
  ...chosen("4.user-area", user.rows),
  ...chosen("1.dashboard", [...key.rows, ...client.rows, ...others]),
];
