// Events (spec part 6): the envelope, written in the commit of the change that it tells of, with one delivery for each
// active webhook that asked for its type. Sending is the outbox's; here only rows are written.
import { decide } from "../decisions.ts";
import { object, optional } from "../kit/schema.ts";
import type { Caller } from "./access.ts";
import { newDelivery, putDelivery } from "./deliveries.ts";
import { everyPage, pageOf, spanParameters } from "./lists.ts";
import type { AccountRecord, EventRecord, EventType } from "./model.ts";
import { deliveries, events, eventType, TOPIC, webhooks } from "./model.ts";
import { notFound, type Refusal } from "./refusal.ts";
import type { Reader, Span } from "./store.ts";
import type { Work } from "./work.ts";

type Owner = Pick<AccountRecord, "id" | "name">;

const WITHOUT_ACCOUNT: ReadonlySet<EventType> = new Set(decide("6.events-without-account"));

/** Records that `object` became what it is, and queues the event for every webhook that asked for it. */
export async function recordEvent(w: Work, account: Owner, type: EventType, object: object): Promise<EventRecord> {
  const event = await putEvent(w, account, type, object, { listed_in: account.id, sample_of: null });
  for (const webhook of await everyPage((span) => w.tx.page(webhooks, "account", [account.id], span)))
    if (webhook.active && webhook.events.includes(type)) await putDelivery(w.tx, newDelivery(w, webhook, event));
  return event;
}

/** The event of a test delivery: real in form, listed nowhere. */
export const recordSample = (w: Work, account: Owner, type: EventType, object: object): Promise<EventRecord> =>
  putEvent(w, account, type, object, { listed_in: null, sample_of: account.id });

async function putEvent(
  w: Work,
  { id: account_id, name }: Owner,
  type: EventType,
  object: object,
  shown: Pick<EventRecord, "listed_in" | "sample_of">,
): Promise<EventRecord> {
  const id = w.ids.next("evt_");
  const account = WITHOUT_ACCOUNT.has(type) ? undefined : { id: account_id, name };
  const body = JSON.stringify({ id, type, created: w.at, data: { object }, account });
  const { listed_in, sample_of } = shown;
  const event = { id, type, created: w.at, body, account_id, listed_in, sample_of, request_id: w.cause };
  await w.tx.put(events, event);
  w.tx.tell(TOPIC.event, id);
  w.tx.tell(TOPIC.events, account_id);
  return event;
}

/** The query of GET /events. */
export const eventQuery = object({ ...spanParameters, type: optional(eventType) });

/** A page of the account's events, of one type or of all. */
export const listEvents = (reader: Reader, caller: Caller, type: EventType | undefined, span: Span) =>
  type === undefined
    ? pageOf(reader, events, "account", [caller.account.id], span)
    : pageOf(reader, events, "account_type", [caller.account.id, type], span);

export async function getEvent(reader: Reader, caller: Caller, id: string): Promise<EventRecord | Refusal> {
  const event = await reader.get(events, id);
  return event?.account_id === caller.account.id && event.sample_of === null ? event : notFound("event");
}

/** What was sent of an event, or is to be. */
export const deliveriesOf = (reader: Reader, event: EventRecord, span: Span) =>
  pageOf(reader, deliveries, "event", [event.id], span);
