// The rows for webhooks and their delivery log (spec parts 4 and 6).
import { decide } from "../decisions.ts";
import type { WebhookRecord } from "../domain/model.ts";
import * as webhooks from "../domain/webhooks.ts";
import { createdOnce, one, page } from "./answers.ts";
import { listing, reading, removing, SCOPE, target } from "./resource.ts";
import { chosen, type Operation, route } from "./route.ts";
import { deliveryView, webhookView } from "./views.ts";

const webhook = target("/webhooks/{webhook_id}", webhookView, webhooks.getWebhook);
const draft = webhooks.webhookDraft(() => undefined);
const changes = webhooks.webhookChanges(draft);

/** The one member that is shown once. */
const SECRET = decide("4.webhook-endpoints");

/** It is queued; the delivery log tells what became of it. */
const DELIVERY_STATUS = 202;

const shown = route("POST /webhooks", SCOPE.manage, "createWebhook", "Register a webhook", {
  spec: "4.create-webhook",
  body: { shown: draft, of: ({ webhookDraft }) => webhookDraft },
  example: { url: "https://hooks.example.com/apps", events: ["app.created", "app.deployed"], active: true },
  run: ({ unit, caller, body }) => webhooks.createWebhook(unit, caller, body),
  answer: createdOnce(webhookView, [SECRET], (record: WebhookRecord) => ({
    record,
    shown: { [SECRET]: record.secret },
  })),
});

const managed = chosen("4.webhook-endpoints", [
  listing("/webhooks", [SCOPE.manage, "listWebhooks", "List webhooks"], webhookView, webhooks.listWebhooks),
  reading(webhook, SCOPE.manage, "getWebhook", "Read a webhook"),
  route("PATCH /webhooks/{webhook_id}", SCOPE.manage, "updateWebhook", "Change a webhook, or switch it on or off", {
    target: webhook,
    body: { shown: changes, of: ({ webhookChanges }) => webhookChanges },
    example: { active: false },
    run: ({ unit, caller, params, body, expect }) =>
      webhooks.changeWebhook(unit, caller, params.webhook_id, body, expect),
    answer: one(webhookView),
  }),
  removing(
    webhook,
    [SCOPE.manage, "deleteWebhook", "Remove a webhook; what waits for it is cancelled"],
    webhooks.removeWebhook,
  ),
  route("POST /webhooks/{webhook_id}/test", SCOPE.manage, "testWebhook", "Send a sample event to a webhook", {
    target: webhook,
    body: webhooks.testRequest,
    example: { type: "app.deployed" },
    run: ({ unit, caller, params, body }) => webhooks.sendTest(unit, caller, params.webhook_id, body.type),
    answer: one(deliveryView, DELIVERY_STATUS),
  }),
]);

const LOG = "/webhooks/{webhook_id}/deliveries";
const deliveryLog = chosen("4.webhook-endpoints", [
  route(`GET ${LOG}`, SCOPE.manage, "listDeliveries", "List the deliveries of a webhook", {
    query: webhooks.deliveryQuery,
    run: ({ unit, caller, params, query: { status, ...span } }) =>
      webhooks.listDeliveries(unit.store, caller, params.webhook_id, status, span),
    answer: page(deliveryView),
  }),
  route(`GET ${LOG}/{delivery_id}`, SCOPE.manage, "getDelivery", "Read a delivery with all its attempts", {
    run: ({ unit, caller, params }) => webhooks.getDelivery(unit.store, caller, params.webhook_id, params.delivery_id),
    answer: one(deliveryView),
  }),
  route(`POST ${LOG}/{delivery_id}/redeliver`, SCOPE.manage, "redeliver", "Send a delivery once more", {
    run: ({ unit, caller, params }) => webhooks.redeliver(unit, caller, params.webhook_id, params.delivery_id),
    answer: one(deliveryView, DELIVERY_STATUS),
  }),
]);

export const webhookRoutes: readonly Operation[] = [shown, ...managed, ...deliveryLog];
