// Retention: deletes expired records at their time on the service's clock. No request depends on it, because expiry is
// checked at each use. Events beyond their limit are deleted when a new one is recorded (domain/events.ts).
import { type Clock, type Instant, parseIso, type Timer } from "../lib/clock.ts";
import type { TaskTracker } from "../lib/tasks.ts";
import { collections } from "./collections.ts";
import type { Expiring } from "./model.ts";
import type { AnyCollection, Collection, Store, Tx } from "./store.ts";

const TASK = "deleting expired records";
/** Records deleted in one transaction. */
const BATCH_SIZE = 100;
/** The longest time between two runs. */
const INTERVAL_MS = 3_600_000;

const isExpiring = (each: AnyCollection): each is Collection<Expiring<string>, "expiry"> =>
  "expiry" in each.indexes;
const expiringCollections = collections.filter(isExpiring);

interface NextExpiry {
  readonly at: Instant;
  /** Names the expiry in the result of `clock.advance`; null for a run at the interval. */
  readonly what: string | null;
}

export interface RetentionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly tasks: TaskTracker;
}

export type Retention = ReturnType<typeof createRetention>;

export function createRetention({ store, clock, tasks }: RetentionDeps) {
  let timer: Timer | undefined;
  let stopped = false;

  function schedule({ at, what }: NextExpiry): void {
    timer?.cancel();
    if (!stopped) timer = clock.schedule(at, what, deleteExpired);
  }

  /** Deletes the expired records and schedules the next run. */
  function deleteExpired(): Promise<void> {
    return tasks.run(TASK, async () => {
      const now = clock.now();
      schedule({ at: now + INTERVAL_MS, what: null }); // for a store that is unavailable now
      let next: NextExpiry;
      do next = await store.transact((tx) => deleteBatch(tx, now));
      while (next.at <= now);
      schedule(next);
    });
  }

  function stop(): void {
    stopped = true;
    timer?.cancel();
  }

  return { deleteExpired, stop };
}

/** Deletes at most one batch of each collection and returns the next expiry, which is past if more are left. */
async function deleteBatch(tx: Tx, now: Instant): Promise<NextExpiry> {
  let next: NextExpiry = { at: now + INTERVAL_MS, what: null };
  for (const collection of expiringCollections) {
    const { name } = collection;
    const range = { offset: 0, limit: BATCH_SIZE + 1 };
    const oldest = await tx.page(collection, "expiry", [name], range);
    for (const [index, { id, expires_at }] of oldest.entries()) {
      const at = parseIso(expires_at);
      if (at <= now && index < BATCH_SIZE) await tx.remove(collection, id);
      else if (at <= next.at) next = { at, what: `expiry of ${name.replaceAll("_", " ")}` };
    }
  }
  return next;
}
