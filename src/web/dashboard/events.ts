// Events (spec part 6), each with the chain that it stands in: the request that caused it, and what was sent because of it.
import { deliveriesOf, getEvent, listEvents } from "../../domain/events.ts";
import { LIMIT_MAX } from "../../domain/lists.ts";
import { type DeliveryRecord, EVENT_TYPES, type EventRecord } from "../../domain/model.ts";
import { Refusal } from "../../domain/refusal.ts";
import type { Reply } from "../../http/call.ts";
import { DASHBOARD } from "../addresses.ts";
import { type Html, html } from "../html.ts";
import { badge, head, list, nothingYet, pager, row, time } from "../parts.ts";
import { TONES } from "./delivery-log.ts";
import { framed, refusedPage } from "./frame.ts";
import { type DashboardRow, newest, type View } from "./view.ts";
import { webhookPath } from "./webhooks.ts";

const PATH = `${DASHBOARD}/events`;
const SECTION = { section: "Events" } as const;

async function eventsPage(view: View): Promise<Reply> {
  const type = EVENT_TYPES.find((each) => each === view.query("type"));
  const events = await newest(view, (span) => listEvents(view.unit.store, view.caller, type, span));
  if (events instanceof Refusal) return refusedPage(view, events, "Events");
  const filter = [undefined, ...EVENT_TYPES].map(
    (each) =>
      html`<a href="${PATH}${each && html`?type=${each}`}"${each === type && html` aria-current="page"`}>${each ?? "all"}</a>`,
  );
  return framed(view, {
    title: "Events",
    ...SECTION,
    body: html`${head("Events")}<nav class="tabs small" aria-label="Events by type">${filter}</nav>
${events.total === 0 ? nothingYet(type === undefined ? "Nothing has happened yet" : `No ${type} yet`, "Events appear here when apps are made, changed, deployed or used, and when data are processed.") : list(events.items.map(eventRow))}
${pager(events, type === undefined ? PATH : `${PATH}?type=${type}`)}`,
  });
}

export const eventRow = (event: EventRecord): Html =>
  row(
    html`<a href="${PATH}/${event.id}">${event.type}</a>`,
    html`<span class="mono">${event.id}</span>`,
    html`<span class="soft">${time(event.created)}</span>`,
  );

async function eventPage(view: View): Promise<Reply> {
  const { store } = view.unit;
  const all = { offset: 0, limit: LIMIT_MAX };
  const event = await getEvent(store, view.caller, view.param("event_id"));
  if (event instanceof Refusal) return refusedPage(view, event, "Events");
  const sent = await deliveriesOf(store, event, all);
  return framed(view, {
    title: event.type,
    ...SECTION,
    body: html`<p class="crumb"><a href="${PATH}">Events</a></p>${head(event.type)}
<ol class="chain">
<li><h2>Request</h2>${requestOf(event)}</li>
<li><h2>Event</h2><p><code>${event.id}</code> <span class="soft">${time(event.created)}</span></p>
<pre>${JSON.stringify(JSON.parse(event.body), null, 2)}</pre></li>
<li><h2>Deliveries</h2>${sent.total === 0 ? html`<p class="soft">None: no active webhook named <code>${event.type}</code> when it happened.</p>` : list(sent.items.map(deliveryRow))}
${sent.total > sent.items.length && html`<p class="soft">The first ${sent.items.length} of ${sent.total}.</p>`}</li>
</ol>`,
  });
}

function requestOf({ request_id }: EventRecord): Html {
  if (request_id === null) return html`<p class="soft">None: it came with the data that the server started with.</p>`;
  return html`<p><code>${request_id}</code></p>`;
}

const deliveryRow = ({ id, webhook_id, status, attempts, next_attempt_at }: DeliveryRecord): Html =>
  row(
    html`<a class="mono" href="${webhookPath(webhook_id)}#${id}">${id}</a>`,
    html`to <span class="mono">${webhook_id}</span> · ${attempts.length} ${attempts.length === 1 ? "attempt" : "attempts"}${status === "pending" && next_attempt_at !== null && html` · next ${time(next_attempt_at)}`}`,
    badge(status, TONES[status]),
  );

export const eventRows: readonly DashboardRow[] = [
  { method: "GET", path: PATH, operation: "listEvents", run: eventsPage },
  { method: "GET", path: `${PATH}/{event_id}`, operation: "getEvent", run: eventPage },
];
