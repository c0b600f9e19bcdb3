// The rows for webhooks and their delivery log (spec parts 4 and 6).
import { decide } from "../decisions.ts";
import { listQuery } from "../domain/lists.ts";
import type { WebhookRecord } from "../domain/model.ts";
import * as log from "../domain/webhooks.ts";
import * as webhooks from "../domain/webhooks.ts";
import { createdOnce, nothing, one, page } from "./answers.ts";
import { type Base, chosen, type Row, route, type Target } from "./route.ts";
import { SCOPE } from "./scopes.ts";
import { deliveryView, webhookView } from "./views.ts";

type WebhookPath = "/webhooks/{webhook_id}";

const find = ({ unit, caller, params }: Base<WebhookPath>) =>
  webhooks.getWebhook(unit.store, caller, params.webhook_id);
const theWebhook: Target<WebhookPath, WebhookRecord> = { view: webhookView, find };

const draft = webhooks.webhookDraft(() => undefined);
const changes = webhooks.webhookChanges(draft);

/** The one member that is shown once. */
const SECRET = decide("4.webhook-endpoints");

/** It is queued; the delivery log tells what became of it. */
const DELIVERY_STATUS = 202;

const shown: readonly Row[] = [
  route({
    spec: "4.create-webhook",
    method: "POST",
    path: "/webhooks",
    scope: SCOPE.manage,
    operation: "createWebhook",
    summary: "Register a webhook",
    body: { shown: draft, of: ({ webhookDraft }) => webhookDraft },
    example: { url: "https://hooks.example.com/apps", events: ["app.created", "app.deployed"], active: true },
    run: ({ unit, caller, body }) => webhooks.createWebhook(unit, caller, body),
    answer: createdOnce(webhookView, [SECRET], (record: WebhookRecord) => ({
      record,
      shown: { [SECRET]: record.secret },
    })),
  }),
];

const managed = chosen("4.webhook-endpoints", [
  route({
    method: "GET",
    path: "/webhooks",
    scope: SCOPE.manage,
    operation: "listWebhooks",
    summary: "List webhooks",
    query: listQuery,
    run: ({ unit, caller, query }) => webhooks.listWebhooks(unit.store, caller, query),
    answer: page(webhookView),
  }),
  route({
    method: "GET",
    path: "/webhooks/{webhook_id}",
    scope: SCOPE.manage,
    operation: "getWebhook",
    summary: "Read a webhook",
    run: find,
    answer: one(webhookView),
  }),
  route({
    method: "PATCH",
    path: "/webhooks/{webhook_id}",
    scope: SCOPE.manage,
    operation: "updateWebhook",
    summary: "Change a webhook, its secret too, or switch it on or off",
    target: theWebhook,
    body: { shown: changes, of: ({ webhookChanges }) => webhookChanges },
    example: { active: false },
    run: ({ unit, caller, params, body, expect }) =>
      webhooks.changeWebhook(unit, caller, params.webhook_id, body, expect),
    answer: one(webhookView),
  }),
  route({
    method: "DELETE",
    path: "/webhooks/{webhook_id}",
    scope: SCOPE.manage,
    operation: "deleteWebhook",
    summary: "Remove a webhook; what waits for it is cancelled",
    target: theWebhook,
    run: ({ unit, caller, params, expect }) => webhooks.removeWebhook(unit, caller, params.webhook_id, expect),
    answer: nothing,
  }),
  route({
    method: "POST",
    path: "/webhooks/{webhook_id}/test",
    scope: SCOPE.manage,
    operation: "testWebhook",
    summary: "Send a sample event to a webhook",
    target: theWebhook,
    body: webhooks.testRequest,
    example: { type: "app.deployed" },
    run: ({ unit, caller, params, body }) => log.sendTest(unit, caller, params.webhook_id, body.type),
    answer: one(deliveryView, DELIVERY_STATUS),
  }),
]);

const deliveryLog = chosen("4.webhook-endpoints", [
  route({
    method: "GET",
    path: "/webhooks/{webhook_id}/deliveries",
    scope: SCOPE.manage,
    operation: "listDeliveries",
    summary: "List the deliveries of a webhook",
    query: log.deliveryQuery,
    run: ({ unit, caller, params, query: { status, ...span } }) =>
      log.listDeliveries(unit.store, caller, params.webhook_id, status, span),
    answer: page(deliveryView),
  }),
  route({
    method: "GET",
    path: "/webhooks/{webhook_id}/deliveries/{delivery_id}",
    scope: SCOPE.manage,
    operation: "getDelivery",
    summary: "Read a delivery with all its attempts",
    run: ({ unit, caller, params }) => log.getDelivery(unit.store, caller, params.webhook_id, params.delivery_id),
    answer: one(deliveryView),
  }),
  route({
    method: "POST",
    path: "/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver",
    scope: SCOPE.manage,
    operation: "redeliver",
    summary: "Send a delivery once more",
    run: ({ unit, caller, params }) => log.redeliver(unit, caller, params.webhook_id, params.delivery_id),
    answer: one(deliveryView, DELIVERY_STATUS),
  }),
]);

export const webhookRoutes: readonly Row[] = [...shown, ...managed, ...deliveryLog];
