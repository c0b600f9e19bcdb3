// Retention (contract, part 6): deletes expired records, leftovers of deleted apps, and each account's oldest events
// and tombstones beyond the limit. It runs in the background, in transactions of bounded size. No request depends on
// it, because expiry is checked at each use.
import { decide } from "../former-decisions.ts";
import { type Instant, nextTurn, parseIso, type Timer } from "../lib/clock.ts";
import type { TaskTracker } from "../lib/tasks.ts";
import { deleteIfSettled } from "./deliveries.ts";
import type { Expiring } from "./model.ts";
import { EVENT_TYPES, events, idempotency, sessions, signInTokens } from "./model.ts";
import { grants, REFRESH_TOKEN_RETENTION_MS, refreshTokens } from "./oauth/grants.ts";
import type { Collection, Entity, Store, Tx, Values } from "./store.ts";
import type { UnitOfWorkDeps } from "./unit-of-work.ts";

const EVENTS_KEPT = decide("8.bounds").events;

const BATCH_SIZE = 100;
/**
 * Event-loop turns to wait before pruning. An account at its limit has one record to delete per event, and a query for
 * 100 costs the same.
 */
const GATHERED_TURNS = 50;
/** Interval between expiry runs if no expiry is known. */
const LOOK_AGAIN_MS = 3_600_000;

/** Time and description of the next expiry; the description is null for a routine check. */
type NextExpiry = [at: Instant, what: string | null];

/** Returns a function that deletes one batch of records expired for at least `after_ms` and returns the next expiry. */
const expiryOf =
  <R extends Expiring<string>>(what: string, from: Collection<R, "expiry">, after_ms = 0) =>
  async (tx: Tx, now: Instant): Promise<NextExpiry> => {
    const oldest = await tx.page(from, "expiry", [from.name], { offset: 0, limit: BATCH_SIZE + 1 });
    const goesAt = (record?: R) =>
      record ? parseIso(record.expires_at) + after_ms : Number.POSITIVE_INFINITY;
    const over = oldest.slice(0, BATCH_SIZE).filter((record) => goesAt(record) <= now);
    for (const { id } of over) await tx.remove(from, id);
    return [goesAt(oldest[over.length]), `expiry of ${what}`];
  };

const EXPIRING_COLLECTIONS = [
  expiryOf("kept answers", idempotency),
  expiryOf("sign-in links", signInTokens),
  expiryOf("sessions", sessions),
  expiryOf("grants", grants),
  expiryOf("refresh tokens", refreshTokens, REFRESH_TOKEN_RETENTION_MS),
];

/** Deletes one batch of each collection and returns the earliest next expiry. */
async function deleteExpired(tx: Tx, now: Instant): Promise<NextExpiry> {
  let next: NextExpiry = [now + LOOK_AGAIN_MS, null];
  for (const prune of EXPIRING_COLLECTIONS) {
    const going = await prune(tx, now);
    if (going[0] <= next[0]) next = going;
  }
  return next;
}

export type RetentionWorker = ReturnType<typeof createRetentionWorker>;

export function createRetentionWorker(
  { store, clock }: Pick<UnitOfWorkDeps, "store" | "clock">,
  background: TaskTracker,
) {
  /** Remaining event quota by account id; negative means unknown. Cached because counting costs more than an insert. */
  const remainingQuota = new Map<string, number>();
  const pruning = new Set<string>();
  let timer: Timer | undefined;
  let stopped = false;

  function arm(at: Instant, what: string | null): void {
    timer?.cancel();
    if (!stopped) timer = clock.schedule(at, what, runExpiry);
  }

  /**
   * Deletes expired records and schedules the next run. Called at startup, by the clock, and before the clock is moved
   * manually.
   */
  const runExpiry = () =>
    background.run("forgetting what has expired", async () => {
      const now = clock.now();
      arm(now + LOOK_AGAIN_MS, null); // if the store is unavailable
      let next: NextExpiry;
      do next = await inTransaction(store, (tx) => deleteExpired(tx, now));
      while (next[0] <= now);
      arm(...next);
    });

  /**
   * Reports a new event of the account, or with "" a deleted app with leftovers. Calls within a few event-loop turns
   * share one sweep.
   */
  function notify(accountId: string): void {
    const room = (remainingQuota.get(accountId) ?? 0) - 1;
    remainingQuota.set(accountId, room);
    if (room < 0 && !pruning.has(accountId))
      background.run("forgetting old events", () => prune(accountId));
  }

  /** Repeats the sweep until the quota covers the events reported during the last one. */
  async function prune(accountId: string): Promise<void> {
    pruning.add(accountId);
    try {
      let room: number;
      do {
        for (let turn = 0; turn < GATHERED_TURNS; turn += 1) await nextTurn();
        remainingQuota.set(accountId, 0); // events reported meanwhile are subtracted
        room = (await pruneAccount(store, accountId)) + (remainingQuota.get(accountId) ?? 0);
        remainingQuota.set(accountId, room);
      } while (room < 0);
    } finally {
      pruning.delete(accountId);
    }
  }

  return {
    runExpiry: runExpiry,
    notify,
    stop(): void {
      stopped = true;
      timer?.cancel();
    },
  };
}

/**
 * Deletes leftovers of deleted apps and the account's records beyond the limit. Returns the account's remaining quota.
 */
export async function pruneAccount(store: Store, accountId: string): Promise<number> {
  let past: number;
  do past = await inTransaction(store, (tx) => deleteBatch(tx, accountId));
  while (past > BATCH_SIZE);
  return Math.max(-past, 0);
}

/** Runs one transaction, after an event-loop turn that lets other work proceed. */
async function inTransaction<T>(store: Store, work: (tx: Tx) => Promise<T>): Promise<T> {
  await nextTurn();
  return store.transact(work);
}

const INTERACTION = "user.interaction";
const OTHER_TYPES = EVENT_TYPES.filter((type) => type !== INTERACTION);

/**
 * Deletes one batch of the oldest records. Visitors' events, test events and all other events have separate limits. An
 * event with a pending delivery only leaves the list and is deleted when that is settled. Returns the largest excess
 * over a limit, negative if there is room.
 */
async function deleteBatch(tx: Tx, accountId: string): Promise<number> {
  if (accountId === "") return 0; // skip the limits: "" in the index of samples holds events that already left the list
  const others = OTHER_TYPES.map((type) => [accountId, type]);
  const found = [
    await findOldest(tx, events, "sample", [[accountId]]),
    await findOldest(tx, events, "account_type", [[accountId, INTERACTION]]),
    await findOldest(tx, events, "account_type", others),
  ];
  for (const event of found.flatMap(({ oldest }) => oldest))
    if (!(await deleteIfSettled(tx, event)))
      await tx.put(events, {
        ...event,
        list_key: null,
        sample_account_id: event.sample_account_id && "",
      });
  return Math.max(...found.map(({ past }) => past));
}

/** Returns the oldest records beyond the limit across several lists. Ids sort in creation order. */
async function findOldest<R extends Entity, I extends string>(
  tx: Tx,
  from: Collection<R, I>,
  index: I,
  lists: Values[],
) {
  let past = -EVENTS_KEPT;
  for (const values of lists) past += await tx.count(from, index, values);
  if (past <= 0) return { past, oldest: [] };
  const range = { offset: 0, limit: Math.min(past, BATCH_SIZE) };
  const oldest = await Promise.all(lists.map((values) => tx.page(from, index, values, range)));
  const inOrder = oldest.flat().sort((a, b) => (a.id < b.id ? -1 : 1));
  return { past, oldest: inOrder.slice(0, range.limit) };
}
