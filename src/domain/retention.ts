// Which events stay (contract, part 6): an account's newest, and every one that still has something to send. It runs
// behind the requests and removes a bounded number in each transaction, so that no answer waits for it.
import { dropIfOver } from "./deliveries.ts";
import { EVENTS_KEPT } from "./events.ts";
import { events } from "./model.ts";
import type { Store, Tx } from "./store.ts";

const SWEPT_AT_ONCE = 100;

/**
 * Removes the account's oldest events past the number kept, with their deliveries. One that still has something to send
 * only leaves the list and goes when that is settled: a sweep never looks at an event twice, however many wait.
 */
export async function sweepEvents(store: Store, accountId: string): Promise<void> {
  for (const index of ["account", "sample"] as const)
    for (let past = SWEPT_AT_ONCE; past >= SWEPT_AT_ONCE; )
      past = await store.transact((tx) => sweepSome(tx, index, accountId));
}

/** Answers how many there were to sweep. */
async function sweepSome(tx: Tx, index: "account" | "sample", accountId: string): Promise<number> {
  const past = (await tx.count(events, index, [accountId])) - EVENTS_KEPT;
  if (past <= 0) return 0;
  const oldest = await tx.page(events, index, [accountId], { offset: 0, limit: Math.min(past, SWEPT_AT_ONCE) });
  for (const event of oldest)
    if (!(await dropIfOver(tx, event))) await tx.put(events, { ...event, listed_in: null, sample_of: null });
  return past;
}
