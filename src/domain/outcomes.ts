// What an attempt changes (contract, part 6): the delivery's log and state, and whether its webhook still works. The one
// place where a webhook is switched off by what its receiver answers.
import { type Instant, instant, iso } from "../kit/clock.ts";
import { afterAttempt, GONE, leavingQueue, putDelivery, settle, succeeded } from "./deliveries.ts";
import { type Attempt, deliveries, type WebhookRecord, webhooks } from "./model.ts";
import type { Tx } from "./store.ts";

/** Five days without one success: the webhook is switched off, says so, and can be switched on again. */
const FAILING_MS = 5 * 86_400_000;

export interface Made {
  readonly deliveryId: string;
  /** Where it was sent: what the answer says is about this address only. */
  readonly url: string;
  readonly attempt: Attempt;
  /** When the schedule would go on after a failure. */
  readonly retryAt: string | null;
}

/** Writes the attempt and all that follows from it; nothing where the delivery is no longer kept. */
export async function recordAttempt(tx: Tx, made: Made, now: Instant): Promise<void> {
  const delivery = await tx.get(deliveries, made.deliveryId);
  if (!delivery) return;
  const after = afterAttempt(delivery, made.attempt, made.retryAt);
  if (after.queue === null) await settle(tx, after);
  else await putDelivery(tx, after);
  const webhook = await tx.get(webhooks, delivery.webhook_id);
  if (webhook?.url !== made.url) return;
  const judged = judge(webhook, made.attempt, now);
  if (judged === webhook) return;
  await tx.put(webhooks, judged.active === webhook.active ? judged : leavingQueue(tx, judged));
}

/** The webhook in the light of an attempt; the same object where nothing changes. */
function judge(webhook: WebhookRecord, attempt: Attempt, now: Instant): WebhookRecord {
  const { active, failing_since } = webhook;
  if (succeeded(attempt)) return failing_since === null ? webhook : { ...webhook, failing_since: null };
  const at = iso(now);
  const off = { active: false, updated_at: at, failing_since: failing_since ?? at };
  if (active && attempt.response_status === GONE) return { ...webhook, ...off, disabled_reason: "gone" };
  if (failing_since === null) return { ...webhook, failing_since: at };
  const expired = now - instant(failing_since) >= FAILING_MS;
  return active && expired ? { ...webhook, ...off, disabled_reason: "failing" } : webhook;
}
