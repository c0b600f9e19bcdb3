// Events (spec part 6): each is written in the transaction of its change, with one delivery for every active webhook
// subscribed to its type. Test deliveries get sample events. This module only writes rows; the outbox sends them.
import { decide } from "../former-decisions.ts";
import { type Infer, object, optional } from "../lib/schema.ts";
import { paginate, paginationParameters } from "./crud.ts";
import { createDelivery, putDelivery } from "./deliveries.ts";
import { notFound } from "./errors.ts";
import type { AccountRecord, EventRecord, EventType } from "./model.ts";
import { deliveries, events, eventType, webhooks } from "./model.ts";
import { ALL_RECORDS, type Range, type Reader } from "./store.ts";
import type { TxContext } from "./unit-of-work.ts";

export const EVENTS_WITHOUT_ACCOUNT: ReadonlySet<EventType> = new Set(
  decide("6.events-without-account"),
);

/** Records an event about `object` and queues it for every webhook subscribed to its type. */
export async function recordEvent(
  ctx: TxContext,
  account: AccountRecord,
  type: EventType,
  object: object,
) {
  const event = await putEvent(ctx, account, type, object, false);
  for (const webhook of await ctx.tx.page(webhooks, "account", [account.id], ALL_RECORDS))
    if (webhook.active && webhook.events.includes(type))
      await putDelivery(ctx, createDelivery(ctx, webhook, event));
  return event;
}

/** Records the sample event of a test delivery: real in form, but in no list. */
export const recordSample = (ctx: TxContext, account: AccountRecord, type: EventType) =>
  putEvent(ctx, account, type, sampleObject(ctx, type), true);

/** Builds the envelope that webhooks receive; the type determines the payload. */
export function buildEnvelope(
  { ids, timestamp: at, decide }: Pick<TxContext, "ids" | "timestamp" | "decide">,
  owner: AccountRecord,
  type: EventType,
  object: object,
) {
  const { id, name } = owner;
  const deletedPayload = () =>
    Object.fromEntries(
      decide("6.event-objects").map((field) => [field, Reflect.get(object, field)]),
    );
  const data = { object: type === "app.deleted" ? deletedPayload() : object };
  return {
    id: ids.next("evt_"),
    type,
    created: at,
    data,
    account: EVENTS_WITHOUT_ACCOUNT.has(type) ? undefined : { id, name },
  };
}

async function putEvent(
  ctx: TxContext,
  owner: AccountRecord,
  type: EventType,
  object: object,
  isSample: boolean,
) {
  const account_id = owner.id;
  const envelope = buildEnvelope(ctx, owner, type, object);
  const { id, created } = envelope;
  const [list_key, sample_account_id] = isSample ? [null, account_id] : [account_id, null];
  const body = JSON.stringify(envelope);
  const event: EventRecord = {
    id,
    type,
    created,
    body,
    account_id,
    list_key,
    sample_account_id,
    request_id: ctx.requestId,
  };
  await ctx.tx.put(events, event);
  ctx.publish("event", id);
  ctx.publish("account", account_id);
  return event;
}

export const eventQuery = object({ ...paginationParameters, type: optional(eventType) });

export const listEvents = (
  reader: Reader,
  account: AccountRecord,
  query: Infer<typeof eventQuery>,
) =>
  paginate(
    reader,
    events,
    query.type ? "account_type" : "account",
    [account.id, query.type],
    query,
  );

export async function getEvent(reader: Reader, account: AccountRecord, id: string) {
  const event = await reader.get(events, id);
  return event?.account_id === account.id && event.sample_account_id === null
    ? event
    : notFound("event");
}

export const listDeliveriesOfEvent = (reader: Reader, event: EventRecord, range: Range) =>
  paginate(reader, deliveries, "event", [event.id], range);

/** Returns a sample `data.object` in the exact form of a real one. Its ids are new and belong to nothing. */
export function sampleObject(
  { ids, timestamp: at }: Pick<TxContext, "ids" | "timestamp">,
  type: EventType,
): object {
  const [id, title] = [ids.next("app_"), "Sales overview"];
  const times = { created_at: at, updated_at: at };
  switch (type) {
    case "app.created":
    case "app.updated":
    case "app.deleted":
      return {
        id,
        title,
        description: "Revenue by region and month",
        theme: "light",
        public: false,
        ...times,
      };
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
