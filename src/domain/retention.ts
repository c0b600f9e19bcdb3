// Retention: deletes expired records at their time on the service's clock. No request depends on it, because expiry is
// checked at each use. Events beyond their limit are deleted when a new one is recorded (domain/events.ts).
import { type Clock, type Instant, parseIso, type Timer } from "../lib/clock.ts";
import type { TaskTracker } from "../lib/tasks.ts";
import { collections, type Expiring } from "./collections.ts";
import { type AnyCollection, type Collection, FIRST_RECORD, type Store, type Tx } from "./store.ts";

/** The longest time between two runs. */
const INTERVAL_MS = 3_600_000;

type ExpiringCollection = Collection<Expiring, "expiry">;
const isExpiring = (each: AnyCollection): each is ExpiringCollection => "expiry" in each.indexes;
const expiringCollections = collections.filter(isExpiring);

interface RetentionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly tasks: TaskTracker;
}

export type Retention = ReturnType<typeof createRetention>;

export function createRetention({ store, clock, tasks }: RetentionDeps) {
  let timer: Timer | undefined;
  let stopped = false;

  /** `what` names the timer in the result of `clock.advance`; null for a run at the interval. */
  function schedule(at: Instant, what: string | null): void {
    timer?.cancel();
    if (!stopped) timer = clock.schedule(at, what, run);
  }

  /** Deletes the expired records and schedules the next run. */
  function run(): Promise<void> {
    return tasks.run("deleting expired records", async () => {
      const now = clock.now();
      let nextRun = now + INTERVAL_MS;
      schedule(nextRun, null);
      for (const collection of expiringCollections) {
        const expiry = await store.transact((tx) => deleteExpired(tx, collection, now));
        if (expiry > nextRun) continue;
        nextRun = expiry;
        schedule(expiry, `expiry of ${collection.name.replaceAll("_", " ")}`);
      }
    });
  }

  function stop(): void {
    stopped = true;
    timer?.cancel();
  }

  return { run, stop };
}

/** Deletes the collection's expired records and returns its next expiry. */
async function deleteExpired(tx: Tx, collection: ExpiringCollection, now: Instant) {
  for (;;) {
    const [oldest] = await tx.page(collection, "expiry", [], FIRST_RECORD);
    if (oldest === undefined) return Number.POSITIVE_INFINITY;
    const expiry = parseIso(oldest.expires_at);
    if (expiry > now) return expiry;
    await tx.remove(collection, oldest.id);
  }
}
