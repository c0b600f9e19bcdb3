// Waiting for deliveries (contract, part 10): not a guess and no sleep. It answers when every delivery that is due now has
// been attempted, or at the time-out which have not. The time-out is in real time, because sockets are.
import { once } from "node:events";
import type { DeliveryRecord } from "../domain/model.ts";
import type { Workers } from "../workers.ts";

export type PendingDelivery = Pick<DeliveryRecord, "id" | "webhook_id" | "event_id" | "event_type" | "created_at">;

export interface Settled {
  readonly settled: boolean;
  readonly pending: readonly PendingDelivery[];
}

const PATIENCE_MS = 5_000;

export async function settle(workers: Workers, timeout_ms = PATIENCE_MS): Promise<Settled> {
  const patience = AbortSignal.timeout(timeout_ms);
  const passed = once(patience, "abort");
  for (;;) {
    await Promise.race([workers.idle(), passed]);
    const rows = await workers.pending();
    const settled = rows.length === 0 && !workers.busy;
    if (settled || patience.aborted) return { settled, pending: rows.map(named) };
    if (!workers.busy) await Promise.race([workers.stirred(), passed]);
  }
}

const named = ({ id, webhook_id, event_id, event_type, created_at }: DeliveryRecord): PendingDelivery => ({
  ...{ id, webhook_id, event_id, event_type, created_at },
});
