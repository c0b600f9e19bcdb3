// Events (spec part 6), each with the chain that it stands in: the request that caused it, and what was sent because of it.
import { deliveriesOf } from "../../domain/events.ts";
import { DELIVERY_STATUSES, type DeliveryRecord, type EventRecord, type WebhookRecord } from "../../domain/model.ts";
import { Refusal } from "../../domain/refusal.ts";
import { type Html, html, type Shown } from "../html.ts";
import { DASHBOARD } from "../page.ts";
import { badge, list, row, time } from "../parts.ts";
import { WEBHOOKS } from "./delivery-log.ts";
import { countOf, nameOf, statusBadge } from "./naming.ts";
import type { Resource } from "./resource.ts";
import type { View } from "./view.ts";

/** As many as a page shows. */
const SHOWN = { offset: 0, limit: 100 };

export const events: Resource<EventRecord> = {
  path: `${DASHBOARD}/events`,
  param: "event_id",
  place: "Events",
  title: "Events",
  list: "listEvents",
  get: "getEvent",
  filter: "type",
  empty: [
    "Nothing has happened yet",
    "Events appear here when apps are made, changed, deployed or used, and when data are processed.",
  ],
  name: (event, view) => nameOf(view, event),
  below: ({ created }) => time(created),
  right: (event, view) => sentOf(view, event),
  facts: ({ id, created }) => [
    ["Id", html`<code>${id}</code>`],
    ["Happened", time(created)],
  ],
  more: chain,
};

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
  const { request_id, body, type } = event;
  const { items, total } = await deliveriesOf(view.unit.store, event, SHOWN);
  const rows = await Promise.all(items.map((each) => deliveryRow(view, each)));
  return html`<ol class="chain">
<li><h2>Request</h2><p>${request_id === null ? "None: it came with the data that the server started with." : html`<code>${request_id}</code>`}</p></li>
<li><h2>Event</h2><pre>${JSON.stringify(JSON.parse(body), null, 2)}</pre></li>
<li><h2>Deliveries</h2>${total === 0 ? html`<p class="soft">None: no active webhook named <code>${type}</code> when it happened.</p>` : list(rows)}
${total > items.length && html`<p class="soft">The first ${items.length} of ${total}.</p>`}</li>
</ol>`;
}

async function deliveryRow(
  view: View,
  { id, webhook_id, status, attempts, next_attempt_at }: DeliveryRecord,
): Promise<Html> {
  const hook = await view.ask<WebhookRecord>("getWebhook", { params: { webhook_id } });
  return row({
    title: html`<a class="mono" href="${WEBHOOKS}/${webhook_id}/deliveries/${id}">${hook instanceof Refusal ? webhook_id : hook.url}</a>`,
    below: html`${countOf(attempts)}${status === "pending" && next_attempt_at !== null && html` · next ${time(next_attempt_at)}`}`,
    right: statusBadge(status),
  });
}
