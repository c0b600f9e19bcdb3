// What holds for deliveries unless a flag says otherwise. It stands apart from what sends them, because every start reads
// these values and only some starts are followed by a delivery. The waits between attempts are schedule's.
import { decide } from "../kit/decisions.ts";

/** Spec part 8: the time that an endpoint has to answer a delivery. */
export const ANSWER_MS = 30_000;

/** Attempts at once for one webhook, unless a flag says otherwise. */
export const WEBHOOK_CONCURRENCY = decide("6.webhook-concurrency", 1, {
  open: "ordering guarantees between events",
  why: "one at a time keeps a webhook's first attempts in order until one fails; the event's id and created order all",
});
