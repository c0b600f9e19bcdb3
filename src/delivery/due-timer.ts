// The timer for the next due delivery of all webhooks.
import { dueDeliveries, dueTime } from "../domain/deliveries.ts";
import { type DeliveryRecord, deliveries } from "../domain/model.ts";
import type { Store } from "../domain/store.ts";
import type { Clock, Instant, Timer } from "../lib/clock.ts";

/** `task` names the timer in the result of `clock.advance`. */
export function createDueTimer(
  store: Store,
  clock: Clock,
  task: string,
  onDue: () => Promise<void>,
) {
  let timer: (Timer & { readonly due: Instant; readonly webhookId: string }) | undefined;
  let stopped = false;

  /** Finds the next delivery anew. With a webhook, only if the timer is set for a delivery of it. */
  async function reset(webhookId = timer?.webhookId): Promise<void> {
    if (timer?.webhookId !== webhookId) return;
    timer?.cancel();
    timer = undefined;
    const { length } = await dueDeliveries(store, clock.now());
    const range = { offset: length, limit: 1 };
    for (const next of await store.page(deliveries, "pending", ["pending"], range)) set(next);
  }

  /** Sets the timer for a delivery, unless another one is due earlier. */
  function set(delivery: DeliveryRecord): undefined {
    const due = dueTime(delivery);
    if (stopped || (timer && timer.due <= due)) return;
    timer?.cancel();
    const { cancel } = clock.schedule(due, task, () => {
      timer = undefined;
      return onDue();
    });
    timer = { due, webhookId: delivery.webhook_id, cancel };
  }

  function stop(): void {
    stopped = true;
    timer?.cancel();
  }

  return { reset, set, stop };
}
