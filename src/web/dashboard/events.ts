// Events (spec part 6), each with the chain that it stands in: the request that caused it, and what was sent because of it.
import { deliveriesOf } from "../../domain/events.ts";
import {
  type AppRecord,
  DELIVERY_STATUSES,
  type DeliveryRecord,
  type DeliveryStatus,
  type EventRecord,
  type WebhookRecord,
} from "../../domain/model.ts";
import { Refusal } from "../../domain/refusal.ts";
import { type Html, html, type Shown } from "../html.ts";
import { badge, list, row, time } from "../parts.ts";
import { PATHS } from "./frame.ts";
import type { Resource } from "./resource.ts";
import type { View } from "./view.ts";

/** As many as a page shows. */
const SHOWN = { offset: 0, limit: 100 };

export const events: Resource<EventRecord> = {
  noun: "Event",
  one: "event",
  param: "event_id",
  place: "Events",
  filter: "type",
  empty: [
    "Nothing has happened yet",
    "Events appear when apps are made, changed, deployed or used, and data processed.",
  ],
  name: (event, view) => nameOf(view, event),
  below: ({ created }) => time(created),
  right: (event, view) => sentOf(view, event),
  more: chain,
};

/** What happened to what, by its name where it has one. */
export async function nameOf(view: View, { type, body }: EventRecord): Promise<string> {
  const { object }: { readonly object: Readonly<Record<string, string>> } = JSON.parse(body).data;
  const { title, name, app_id, id } = object;
  return `${type} · ${title ?? name ?? (await appName(view, app_id)) ?? id}`;
}

async function appName(view: View, app_id = ""): Promise<string | undefined> {
  const app = await view.ask<AppRecord>("getApp", { params: { app_id } });
  return app instanceof Refusal ? app_id : app.title;
}

const TONES = { pending: "warn", succeeded: "good", failed: "bad", cancelled: "plain" } as const;
export const statusBadge = (status: DeliveryStatus, text: string = status): Html => badge(text, TONES[status]);

/** What became of its deliveries. */
async function sentOf(view: View, event: EventRecord): Promise<Shown> {
  const { items } = await deliveriesOf(view.unit.store, event, SHOWN);
  if (items.length === 0) return badge("sent to nobody");
  return DELIVERY_STATUSES.map((status) => {
    const count = items.filter((each) => each.status === status).length;
    return count > 0 && statusBadge(status, items.length === 1 ? status : `${count} ${status}`);
  });
}

async function chain(view: View, event: EventRecord): Promise<Html> {
  const { items, total } = await deliveriesOf(view.unit.store, event, SHOWN);
  const rows = await Promise.all(items.map((each) => deliveryRow(view, each)));
  const cause = event.request_id ?? "none: it came with the seed";
  return html`<p>Caused by the request <code>${cause}</code></p><pre>${JSON.stringify(JSON.parse(event.body), null, 2)}</pre>
<h2>${total > items.length ? `The first ${items.length} of ${total} deliveries` : "Deliveries"}</h2>
${total === 0 ? html`<p class="soft">None: no active webhook named <code>${event.type}</code> when it happened.</p>` : list(rows)}`;
}

async function deliveryRow(view: View, delivery: DeliveryRecord): Promise<Html> {
  const { id, webhook_id, status } = delivery;
  const hook = await view.ask<WebhookRecord>("getWebhook", { params: { webhook_id } });
  const url = hook instanceof Refusal ? webhook_id : hook.url;
  const title = html`<a class="mono" href="${PATHS.Webhooks}/${webhook_id}/deliveries/${id}">${url}</a>`;
  return row(title, progress(delivery), statusBadge(status));
}

/** What was answered so far, and what comes next. */
export function progress({ attempts, manual, status, next_attempt_at }: DeliveryRecord): Html {
  const answers = attempts.map(({ response_status, error }) => response_status ?? error).join(", ");
  const next = status === "pending" && next_attempt_at !== null && html` · Next attempt: ${time(next_attempt_at)}`;
  return html`${attempts.length} ${attempts.length === 1 ? "attempt" : "attempts"} ${answers && html`<code>${answers}</code>`}${manual ? " · It is about to be sent." : next}`;
}
