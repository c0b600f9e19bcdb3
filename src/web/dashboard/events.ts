// Events (spec part 6), each with the chain that it stands in: the request that caused it, and what was sent because of it.
// And Settings, Webhooks (where spec part 6 wants the delivery log): who is told of what, every delivery with its status and
// response codes, and on its own page every attempt, request and response side by side, and what comes next.
import { deliveriesOf } from "../../domain/events.ts";
import * as model from "../../domain/model.ts";
import { deliveryHeaders } from "../../domain/webhooks.ts";
import { instant } from "../../kit/clock.ts";
import { type Html, html, type Shown } from "../html.ts";
import { badge, link, mono, soft, time } from "../parts.ts";
import { chain, drawn } from "../sequence.ts";
import { facts, listing, type Resource, rowsOf } from "./resource.ts";
import { PATHS, type View } from "./view.ts";

/** As many as a page shows. */
const SHOWN = { offset: 0, limit: 100 };

export const events: Resource<model.EventRecord> = {
  path: "/events/{event_id}",
  place: "Events",
  empty: "Events appear when apps are made, changed, deployed or used, and data processed.",
  name: (event, view) => nameOf(view, event),
  below: facts("created"),
  right: async (event, view) => {
    const { items } = await deliveriesOf(view.store, event, SHOWN);
    return items.length === 0 ? badge("sent to nobody") : [...new Set(items.map(({ status }) => status))].map(badge);
  },
  more: ofOne,
};

/** What happened to what, by its name where it has one. */
async function nameOf(view: View, { type, body }: model.EventRecord): Promise<string> {
  const { object }: { readonly object: Readonly<Record<string, string>> } = JSON.parse(body).data;
  const { title, name, app_id = "", id } = object;
  return `${type} · ${title ?? name ?? (await view.store.get(model.apps, app_id))?.title ?? id ?? app_id}`;
}

/** Drawn are so many deliveries, the first; all are listed. */
const DRAWN = 5;

async function ofOne(view: View, event: model.EventRecord): Promise<Html> {
  const { items } = await deliveriesOf(view.store, event, SHOWN);
  // The deliveries of one event differ in where they went.
  const urls = new Map<string, string>();
  for (const { webhook_id: id } of items) urls.set(id, (await view.store.get(model.webhooks, id))?.url ?? id);
  const name = ({ webhook_id }: model.DeliveryRecord) => urls.get(webhook_id) ?? webhook_id;
  const empty = "No active webhook named its type when it happened.";
  const picture = chain([0, 1, event.request_id ?? "the seed"], [{ event, deliveries: items.slice(0, DRAWN) }], urls);
  return html`<pre>${JSON.stringify(JSON.parse(event.body), null, 2)}</pre>
<h2>From its request on</h2>${drawn(picture)}<h2>Deliveries</h2>${await rowsOf({ ...deliveries, name, empty }, view, items)}`;
}

/** What was answered so far, and what comes next. */
function progress({ attempts, manual, status, next_attempt_at }: model.DeliveryRecord): Shown {
  const answers = attempts.map(({ response_status, error }) => response_status ?? error).join(", ");
  const next = status === "pending" && next_attempt_at !== null && [" · Next attempt: ", time(next_attempt_at)];
  const made = `${attempts.length} ${attempts.length === 1 ? "attempt" : "attempts"} ${answers}`;
  return [made, manual ? " · It is about to be sent." : next];
}

export const webhooks: Resource<model.WebhookRecord> = {
  path: "/webhooks/{webhook_id}",
  place: "Webhooks",
  lost: "Nothing is sent to it any more; what waits is cancelled, and its delivery log is gone. This cannot be undone.",
  once: ["Its secret", "The receiver checks each delivery with it. Copy it now: it is never shown again."],
  hints: {
    secret: "Signs each delivery. Empty, a new webhook gets one made, and another keeps its own.",
    type: "A sample of it is sent once, also while the webhook is off.",
  },
  lead: "This server sends a signed POST to each active webhook when something happens. [How to receive it](/docs/events#receiver).",
  empty: "Register the address that is to be told of events, instead of asking for them again and again.",
  name: ({ url }) => url,
  below: facts("events", "created_at"),
  right: ({ active, disabled_reason, failing_since }) =>
    badge([active ? "active" : "off", disabled_reason ?? (failing_since && "failing")].filter(Boolean).join(", ")),
  more: async (view) => html`<h2 id="log">Delivery log</h2>${await listing(deliveries, view)}`,
};

export const deliveries: Resource<model.DeliveryRecord> = {
  path: "/webhooks/{webhook_id}/deliveries/{delivery_id}",
  place: "Webhooks",
  empty: "They appear here when one of its events happens. Send a test to see one now.",
  name: async ({ event_id, event_type, test }, view) => {
    const event = await view.store.get(model.events, event_id);
    return `${event ? await nameOf(view, event) : event_type}${test ? " · test" : ""}`;
  },
  below: (delivery) => html`${time(delivery.created_at)} · ${progress(delivery)}`,
  more: exchanges,
};

/** What was sent, and beside it what was answered, the last first. */
async function exchanges(view: View, delivery: model.DeliveryRecord): Promise<Shown> {
  const webhook = await view.store.get(model.webhooks, delivery.webhook_id);
  const event = await view.store.get(model.events, delivery.event_id);
  if (webhook === undefined || event === undefined) return null;
  const changed = delivery.attempts.some(({ at }) => at < webhook.updated_at);
  const each = ({ number, at, trigger, duration_ms, response_status, response_body, error }: model.Attempt) => {
    const headers = deliveryHeaders(webhook, event, delivery.id, number, instant(at));
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    return html`<h2>Attempt ${number}${trigger === "manual" && " by hand"}</h2>${soft([time(at), ` · ${duration_ms} ms`])}
<div class="pair"><div><h3>Request</h3><pre>${[`POST ${webhook.url}`, ...lines, "", event.body].join("\n")}</pre></div>
<div><h3>Response</h3><pre>${[response_status ?? error, response_body].filter(Boolean).join("\n\n")}</pre></div></div>`;
  };
  const of = delivery.test ? "a sample" : link(`${PATHS.Events}/${event.id}`, "an event");
  return html`<p>Of ${of}, to ${mono(webhook.url)} · ${progress(delivery)}</p>
${changed && soft("The webhook was changed since: shown is what it would send now.")}
${delivery.attempts.toReversed().map(each)}`;
}
