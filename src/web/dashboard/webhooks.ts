// Settings, Webhooks (spec part 6 names the place): who is told of what, with the delivery log of each.
import { EVENT_TYPES, type WebhookRecord } from "../../domain/model.ts";
import { type Html, html } from "../html.ts";
import { badge, time } from "../parts.ts";
import { deliveryLog, REDELIVER, TEST, WEBHOOKS } from "./delivery-log.ts";
import type { Resource } from "./resource.ts";

export const webhooks: Resource<WebhookRecord> = {
  path: WEBHOOKS,
  param: "webhook_id",
  place: "Webhooks",
  title: "Webhooks",
  list: "listWebhooks",
  get: "getWebhook",
  create: {
    operation: "createWebhook",
    link: "New webhook",
    button: "Register",
    once: {
      title: "Its secret",
      advice: "The receiver checks each delivery with it. Copy it now: it is never shown again.",
      on: "To the webhook and its deliveries",
    },
  },
  update: "updateWebhook",
  remove: {
    operation: "deleteWebhook",
    title: "Delete this webhook",
    button: "Delete for good",
    follows: () =>
      "Nothing is sent to it any more; what waits is cancelled, and its delivery log is gone. This cannot be undone.",
  },
  actions: [TEST, REDELIVER],
  fields: {
    url: { label: "URL", hint: "Where the events are sent, such as: https://hooks.example.com/apps" },
    events: { label: "Events", options: EVENT_TYPES.map((type) => [type, type]) },
    secret: {
      label: "Secret",
      hint: "Signs each delivery. Left empty, a new webhook gets one made for it, and another keeps the one that it has.",
    },
    active: { label: "Active: deliveries are sent" },
  },
  lead: html`This server sends a signed POST to each active webhook when something happens. <a href="/docs#receiver">How to receive it</a>.`,
  empty: [
    "No webhooks yet",
    "Register the address that is to be told of events, instead of asking for them again and again.",
  ],
  name: ({ url }) => url,
  below: ({ events, created_at }) => html`${events.join(", ")} · since ${time(created_at)}`,
  right: (hook) => state(hook),
  facts: ({ id, events, created_at }) => [
    ["Events", events.join(", ")],
    ["Id", html`<code>${id}</code>`],
    ["Created", time(created_at)],
  ],
  more: (view, hook) => deliveryLog(view, `${WEBHOOKS}/${hook.id}`),
};

function state({ active, disabled_reason, failing_since }: WebhookRecord): Html {
  if (disabled_reason === "gone") return badge("off: the endpoint said it is gone", "bad");
  if (disabled_reason === "failing") return badge("off: it kept failing", "bad");
  if (!active) return badge("off");
  return failing_since === null ? badge("active", "good") : badge("active, failing", "warn");
}
