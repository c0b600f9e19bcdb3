// A delivery's life (spec part 6; contract, parts 3 and 6): pure steps from one record to the next, and where it stands
// in its webhook's queue. Nothing is sent here and nothing waits here.
import { decide } from "../decisions.ts";
import type { Attempt, DeliveryRecord, EventRecord, WebhookRecord } from "./model.ts";
import { deliveries, events, TOPIC } from "./model.ts";
import type { Tx } from "./store.ts";
import type { Work } from "./work.ts";

/** A person who asks looks on; new events are not held up by old ones that failed before. */
const TURNS = ["manual", "first", "retry"] as const;
export type Turn = (typeof TURNS)[number];

/** A place in a queue, compared as text: its turn's number, then since when it is due. */
const place = (turn: Turn, due: string): string => TURNS.indexOf(turn) + due;

export const turnOf = (queue: string): { readonly turn: Turn; readonly due: string } => ({
  turn: TURNS[Number(queue[0])] ?? "retry",
  due: queue.slice(1),
});

/** The delivery of an event, to be attempted at once. */
export function newDelivery(w: Work, webhook: WebhookRecord, event: EventRecord): DeliveryRecord {
  return {
    id: w.ids.next("dlv_"),
    webhook_id: webhook.id,
    event_id: event.id,
    event_type: event.type,
    status: "pending",
    attempts: [],
    next_attempt_at: w.at,
    created_at: w.at,
    account_id: webhook.account_id,
    manual: false,
    test: false,
    queue: place("first", w.at),
    queue_of: webhook.id,
  };
}

/** The delivery of a sample event: once, ahead of what waits, and whatever the webhook subscribes to. */
export const testDelivery = (w: Work, webhook: WebhookRecord, sample: EventRecord): DeliveryRecord => ({
  ...newDelivery(w, webhook, sample),
  test: true,
  manual: true,
  queue: place("manual", w.at),
});

/** Asked for by hand: one attempt at once. What the schedule still has in store for the delivery is kept beside it. */
export function askedAgain(delivery: DeliveryRecord, at: string): DeliveryRecord {
  if (delivery.manual) return delivery;
  const scheduled = delivery.status === "pending" ? delivery.next_attempt_at : null;
  return {
    ...delivery,
    status: "pending",
    next_attempt_at: scheduled,
    manual: true,
    queue: place("manual", at),
    queue_of: delivery.webhook_id,
  };
}

/** RFC 9110 15.5.11: the receiver wants nothing more, so its webhook is switched off and nothing is tried again. */
export const GONE = 410;

const over = { next_attempt_at: null, manual: false, queue: null, queue_of: null } as const;

/** What arrived once stays a success, although somebody had asked for it again. */
export const cancelled = (delivery: DeliveryRecord): DeliveryRecord => ({
  ...delivery,
  ...over,
  status: delivery.attempts.some(succeeded) ? "succeeded" : UNWANTED,
});

const UNWANTED = decide("3.delivery-cancelled");

export const succeeded = (attempt: Attempt): boolean =>
  attempt.response_status !== null && attempt.response_status >= 200 && attempt.response_status < 300;

/**
 * The delivery after an attempt. `retryAt` is when the schedule goes on after a failure, null where it has ended.
 * What happened while the attempt ran stands: a delivery cancelled meanwhile is not revived by a failure, and one asked
 * for by hand meanwhile is still sent once more.
 */
export function afterAttempt(delivery: DeliveryRecord, attempt: Attempt, retryAt: string | null): DeliveryRecord {
  const logged = { ...delivery, attempts: [...delivery.attempts, attempt] };
  if (attempt.trigger === "schedule" && delivery.manual)
    return { ...logged, next_attempt_at: succeeded(attempt) ? null : retryAt };
  if (succeeded(attempt)) return { ...logged, ...over, status: "succeeded" };
  if (delivery.queue === null) return logged;
  const next = attempt.trigger === "manual" ? delivery.next_attempt_at : retryAt;
  if (next !== null && !delivery.test && attempt.response_status !== GONE) {
    const turn = logged.attempts.some((each) => each.trigger === "schedule") ? "retry" : "first";
    return { ...logged, manual: false, next_attempt_at: next, queue: place(turn, next) };
  }
  return { ...logged, ...over, status: logged.attempts.some(succeeded) ? "succeeded" : "failed" };
}

/** Writes a delivery and tells that it has changed. */
export async function putDelivery(tx: Tx, delivery: DeliveryRecord): Promise<void> {
  await tx.put(deliveries, delivery);
  tx.tell(TOPIC.queue, delivery.webhook_id);
  tx.tell(TOPIC.delivery, delivery.id);
}

/** Writes a delivery that is over. An event that was kept only for it goes with its last one. */
export async function settle(tx: Tx, delivery: DeliveryRecord): Promise<void> {
  await putDelivery(tx, delivery);
  const event = await tx.get(events, delivery.event_id);
  if (event && event.listed_in === null && event.sample_of === null) await dropIfOver(tx, event);
}

/** Removes the event and its deliveries unless one of them is still to be sent; true if removed. */
export async function dropIfOver(tx: Tx, event: EventRecord): Promise<boolean> {
  const all: DeliveryRecord[] = [];
  for (;;) {
    const page = await tx.page(deliveries, "event", [event.id], { offset: all.length, limit: 100 });
    if (page.some(({ queue }) => queue !== null)) return false;
    all.push(...page);
    if (page.length < 100) break;
  }
  for (const { id } of all) await tx.remove(deliveries, id);
  await tx.remove(events, event.id);
  return true;
}

/** Cancels everything that waits for the webhook. */
export async function cancelPending(tx: Tx, webhookId: string): Promise<void> {
  for (;;) {
    const page = await tx.page(deliveries, "queue", [webhookId], { offset: 0, limit: 100 });
    for (const delivery of page) await settle(tx, cancelled(delivery));
    if (page.length < 100) return;
  }
}
