// Events (spec part 6): each is written in the transaction of its change, with one delivery for every active webhook
// subscribed to its type. Test deliveries get sample events. This module only writes rows; the outbox sends them.
import { type Infer, object, optional } from "../lib/schema.ts";
import { paginate, paginationParameters } from "./crud.ts";
import { createDelivery, putDelivery } from "./deliveries.ts";
import { notFound } from "./errors.ts";
import type { AccountRecord, EventRecord, EventType } from "./model.ts";
import { deliveries, events, eventType, webhooks } from "./model.ts";
import { ALL_RECORDS, type Range, type Reader, type Tx, type Values } from "./store.ts";
import type { AccountContext } from "./unit-of-work.ts";

/** The specification's example of this type has no account; that of app.deployed has one (spec part 6). */
export const EVENTS_WITHOUT_ACCOUNT: ReadonlySet<EventType> = new Set(["user.interaction"]);

/** Events kept per account, and sample events besides. */
const EVENTS_KEPT = 10_000;

/** Records an event about `object` and creates a delivery for every webhook subscribed to its type. */
export async function recordEvent(
  ctx: AccountContext,
  type: EventType,
  object: object,
): Promise<EventRecord> {
  const event = await putEvent(ctx, type, object, false);
  for (const webhook of await ctx.tx.page(webhooks, "account", [ctx.account.id], ALL_RECORDS))
    if (webhook.active && webhook.events.includes(type))
      await putDelivery(ctx, createDelivery(ctx, webhook, event));
  return event;
}

/** Records the sample event of a test delivery: real in form, but in no list. */
export const recordSample = (ctx: AccountContext, type: EventType) =>
  putEvent(ctx, type, sampleObject(ctx, type), true);

/** Stores the event with the envelope that webhooks receive. */
async function putEvent(
  ctx: AccountContext,
  type: EventType,
  object: object,
  is_sample: boolean,
): Promise<EventRecord> {
  const { id: account_id, name } = ctx.account;
  const envelope = {
    id: ctx.ids.next("evt_"),
    type,
    created: ctx.timestamp,
    data: { object },
    account: EVENTS_WITHOUT_ACCOUNT.has(type) ? undefined : { id: account_id, name },
  };
  const event: EventRecord = {
    id: envelope.id,
    type,
    created: ctx.timestamp,
    body: JSON.stringify(envelope),
    account_id,
    is_sample,
    request_id: ctx.requestId,
  };
  await ctx.tx.put(events, event);
  ctx.publish("event", event.id);
  await deleteOldest(ctx.tx, [account_id, is_sample]);
  return event;
}

/** Deletes the oldest events beyond the limit with their deliveries, unless one of these is pending. */
async function deleteOldest(tx: Tx, list: Values): Promise<void> {
  const limit = (await tx.count(events, "account", list)) - EVENTS_KEPT;
  if (limit <= 0) return;
  for (const { id } of await tx.page(events, "account", list, { offset: 0, limit })) {
    const deliveriesOfEvent = await tx.page(deliveries, "event", [id], ALL_RECORDS);
    if (deliveriesOfEvent.some(({ status }) => status === "pending")) continue;
    for (const delivery of deliveriesOfEvent) await tx.remove(deliveries, delivery.id);
    await tx.remove(events, id);
  }
}

export const eventQuery = object({ ...paginationParameters, type: optional(eventType) });

export const listEvents = (
  reader: Reader,
  { id }: AccountRecord,
  { type, ...range }: Infer<typeof eventQuery>,
) => paginate(reader, events, type ? "account_type" : "account", [id, false, type], range);

export async function getEvent(reader: Reader, account: AccountRecord, id: string) {
  const event = await reader.get(events, id);
  return event?.account_id === account.id && !event.is_sample ? event : notFound("event");
}

export const listDeliveriesOfEvent = (reader: Reader, event: EventRecord, range: Range) =>
  paginate(reader, deliveries, "event", [event.id], range);

/** Returns a sample `data.object` in the exact form of a real one. Its ids are new and belong to nothing. */
export function sampleObject(
  { ids, timestamp }: Pick<AccountContext, "ids" | "timestamp">,
  type: EventType,
): object {
  const app = { id: ids.next("app_"), title: "Sales overview" };
  const times = { created_at: timestamp, updated_at: timestamp };
  switch (type) {
    case "app.created":
    case "app.updated":
    case "app.deleted":
      return {
        ...app,
        description: "Revenue by region and month",
        theme: "light",
        public: false,
        ...times,
      };
    case "app.deployed": {
      const id = ids.next("dep_");
      const url = `https://sales.example.com/sites/${id}/`;
      return { ...app, deployment: { id, url, status: "live", deployed_at: timestamp } };
    }
    case "data.processed":
      return {
        id: ids.next("ds_"),
        name: "Orders",
        type: "csv",
        app_id: null,
        status: "ready",
        columns: [
          { name: "region", type: "string" },
          { name: "revenue", type: "number" },
          { name: "ordered_at", type: "datetime" },
        ],
        row_count: 1_284,
        error: null,
        ...times,
      };
    case "user.interaction":
      return {
        app_id: app.id,
        user_id: ids.next("usr_"),
        interaction_type: "chart_click",
        chart_id: "revenue-by-month",
        data_point: { x: "2026-03", y: 48_250, category: "North" },
      };
  }
}
