// Events (spec part 6): the envelope, written in the commit of the change that it tells of, with one delivery for each
// active webhook that asked for its type; and samples for test deliveries. Sending is the outbox's; here only rows are
// written.
import { decide } from "../decisions.ts";
import { type Infer, object, optional } from "../kit/schema.ts";
import { newDelivery, putDelivery } from "./deliveries.ts";
import { pageOf, spanParameters } from "./lists.ts";
import type { AccountRecord, EventRecord, EventType } from "./model.ts";
import { deliveries, events, eventType, TOPIC, webhooks } from "./model.ts";
import { notFound } from "./refusal.ts";
import { ALL, type Reader, type Span } from "./store.ts";
import type { Work } from "./work.ts";

export const EVENTS_WITHOUT_ACCOUNT: ReadonlySet<EventType> = new Set(decide("6.events-without-account"));

/** Records that `object` became what it is, and queues the event for every webhook that asked for it. */
export async function recordEvent(w: Work, account: AccountRecord, type: EventType, object: object) {
  const event = await putEvent(w, account, type, object, false);
  for (const webhook of await w.tx.page(webhooks, "account", [account.id], ALL))
    if (webhook.active && webhook.events.includes(type)) await putDelivery(w.tx, newDelivery(w, webhook, event));
  return event;
}

/** The event of a test delivery: real in form, listed nowhere. */
export const recordSample = (w: Work, account: AccountRecord, type: EventType) =>
  putEvent(w, account, type, sampleObject(w, type), true);

/** The event as it is sent, with what its type tells of an object. */
export function envelope(
  { ids, at, decide }: Pick<Work, "ids" | "at" | "decide">,
  owner: AccountRecord,
  type: EventType,
  object: object,
) {
  const { id, name } = owner;
  const told = () => Object.fromEntries(decide("6.event-objects").map((field) => [field, Reflect.get(object, field)]));
  const data = { object: type === "app.deleted" ? told() : object };
  return {
    id: ids.next("evt_"),
    type,
    created: at,
    data,
    account: EVENTS_WITHOUT_ACCOUNT.has(type) ? undefined : { id, name },
  };
}

async function putEvent(w: Work, owner: AccountRecord, type: EventType, object: object, isSample: boolean) {
  const account_id = owner.id;
  const sent = envelope(w, owner, type, object);
  const { id, created } = sent;
  const [listed_in, sample_of] = isSample ? [null, account_id] : [account_id, null];
  const body = JSON.stringify(sent);
  const event: EventRecord = { id, type, created, body, account_id, listed_in, sample_of, request_id: w.cause };
  await w.tx.put(events, event);
  w.tx.tell(TOPIC.event, id);
  w.tx.tell(TOPIC.events, account_id);
  return event;
}

export const eventQuery = object({ ...spanParameters, type: optional(eventType) });

export const listEvents = (reader: Reader, account: AccountRecord, asked: Infer<typeof eventQuery>) =>
  pageOf(reader, events, asked.type ? "account_type" : "account", [account.id, asked.type], asked);

export async function getEvent(reader: Reader, account: AccountRecord, id: string) {
  const event = await reader.get(events, id);
  return event?.account_id === account.id && event.sample_of === null ? event : notFound("event");
}

export const deliveriesOf = (reader: Reader, event: EventRecord, span: Span) =>
  pageOf(reader, deliveries, "event", [event.id], span);

/** A realistic `data.object` of the type, in exactly the form of a real one; its ids are new and belong to nothing. */
export function sampleObject({ ids, at }: Pick<Work, "ids" | "at">, type: EventType): object {
  const [id, title] = [ids.next("app_"), "Sales overview"];
  const times = { created_at: at, updated_at: at };
  switch (type) {
    case "app.created":
    case "app.updated":
    case "app.deleted":
      return { id, title, description: "Revenue by region and month", theme: "light", public: false, ...times };
    case "app.deployed": {
      const deployed = ids.next("dep_");
      const url = `https://sales.example.com/sites/${deployed}/`;
      return { id, title, deployment: { id: deployed, url, status: "live", deployed_at: at } };
    }
    case "data.processed": {
      const columns = [
        { name: "region", type: "string" },
        { name: "revenue", type: "number" },
        { name: "ordered_at", type: "datetime" },
      ];
      const source = { id: ids.next("ds_"), name: "Orders", type: "csv", app_id: null };
      return { ...source, status: "ready", columns, row_count: 1_284, error: null, ...times };
    }
    case "user.interaction": {
      const data_point = { x: "2026-03", y: 48_250, category: "North" };
      const what = { interaction_type: "chart_click", chart_id: "revenue-by-month", data_point };
      return { app_id: id, user_id: ids.next("usr_"), ...what };
    }
  }
}
