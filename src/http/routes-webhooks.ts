// The rows for webhooks and their delivery log (spec parts 4 and 6).
import { decide } from "../decisions.ts";
import * as webhooks from "../domain/webhooks.ts";
import { MANAGE, MANAGED, resource } from "./resource.ts";
import { chosen, route } from "./route.ts";
import { deliveryView, page } from "./view.ts";

/** It is queued; the delivery log tells what became of it. */
const DELIVERY_STATUS = 202;
const LOG = "/webhooks/{webhook_id}/deliveries";

const { get: webhook, rows } = resource({
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

export const webhookRoutes = chosen("4.webhook-endpoints", [
  ...rows,
  route("POST /webhooks/{webhook_id}/test", MANAGE, "testWebhook", "Send a sample event to a webhook", {
    target: webhook,
    body: webhooks.testRequest,
    example: { type: "app.deployed" },
    status: DELIVERY_STATUS,
    view: deliveryView,
    run: ({ unit, account, params, body }) => webhooks.sendTest(unit, account, params.webhook_id, body.type),
  }),
  route(`GET ${LOG}`, MANAGE, "listDeliveries", "List the deliveries of a webhook", {
    target: webhook,
    query: webhooks.deliveryQuery,
    view: page(deliveryView),
    run: ({ unit, params, query }) => webhooks.listDeliveries(unit.store, params.webhook_id, query),
  }),
  route(`GET ${LOG}/{delivery_id}`, MANAGE, "getDelivery", "Read a delivery with all its attempts", {
    target: webhook,
    view: deliveryView,
    run: ({ unit, params }) => webhooks.getDelivery(unit.store, params.webhook_id, params.delivery_id),
  }),
  route(`POST ${LOG}/{delivery_id}/redeliver`, MANAGE, "redeliver", "Send a delivery once more", {
    status: DELIVERY_STATUS,
    view: deliveryView,
    run: ({ unit, account, params }) => webhooks.redeliver(unit, account, params.webhook_id, params.delivery_id),
  }),
]);
