// What goes (contract, part 6): what is over its time, what deleted apps have left, and of each account the events and the
// traces of deleted apps past the number kept. It runs behind the requests, in steps of bounded size. Nothing depends on
// it: whether something has expired is judged at each use.
import { decide } from "../decisions.ts";
import { type Instant, nextTurn, parseIso, type Timer } from "../lib/clock.ts";
import type { TaskTracker } from "../lib/tasks.ts";
import { deleteDependents } from "./apps.ts";
import { deleteIfSettled } from "./deliveries.ts";
import type { Expiring } from "./model.ts";
import {
  appTombstones,
  deploymentTombstones,
  EVENT_TYPES,
  events,
  idempotency,
  rateWindows,
  sessions,
  signInTokens,
} from "./model.ts";
import { grants, REFRESH_TOKEN_RETENTION_MS, refreshTokens } from "./oauth/grants.ts";
import {
  type Collection,
  type Entity,
  FIRST_RECORD,
  type Store,
  type Tx,
  type Values,
} from "./store.ts";
import type { UnitOfWorkDeps } from "./unit-of-work.ts";

const EVENTS_KEPT = decide("8.bounds").events;

const BATCH_SIZE = 100;
/** An account at its bound has something to sweep after each event, and to look for it costs as much for a hundred. */
const GATHERED_TURNS = 50;
/** How often it is looked for what expires, where nothing is known to. */
const LOOK_AGAIN_MS = 3_600_000;

/** When the next record goes, and what it is; null for a look whether there is one. */
type NextExpiry = [at: Instant, what: string | null];

/** The records of `from` may go so long after they have expired. Removes a step of them; answers what goes next. */
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
  expiryOf("rate windows", rateWindows),
  expiryOf("sign-in links", signInTokens),
  expiryOf("sessions", sessions),
  expiryOf("grants", grants),
  expiryOf("refresh tokens", refreshTokens, REFRESH_TOKEN_RETENTION_MS),
];

/** Removes a step of each kind; answers what goes next. */
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
  /** How many more events an account may have, below 0 until it was looked: to count them costs more than to write one. */
  const remainingQuota = new Map<string, number>();
  const pruning = new Set<string>();
  let timer: Timer | undefined;
  let stopped = false;

  function arm(at: Instant, what: string | null): void {
    timer?.cancel();
    if (!stopped) timer = clock.schedule(at, what, runExpiry);
  }

  /** Forgets what has expired and finds out what goes next: at a start, by the clock, and before that is moved by hand. */
  const runExpiry = () =>
    background.run("forgetting what has expired", async () => {
      const now = clock.now();
      arm(now + LOOK_AGAIN_MS, null); // where the store is out of reach
      // Whose they ever were: where the store was out of reach, or the process ended, as deleted apps were to be swept.
      if ((await store.count(appTombstones, "all", ["gone_apps"])) > 0) notify("");
      let next: NextExpiry;
      do next = await inTransaction(store, (tx) => deleteExpired(tx, now));
      while (next[0] <= now);
      arm(...next);
    });

  /**
   * The account has a new event; "", which is none: a deleted app has left something. What is told within some turns of the
   * event loop is one sweep.
   */
  function notify(accountId: string): void {
    const room = (remainingQuota.get(accountId) ?? 0) - 1;
    remainingQuota.set(accountId, room);
    if (room < 0 && !pruning.has(accountId))
      background.run("forgetting old events", () => prune(accountId));
  }

  /** One sweep after the other, until nothing was told during the last that there was no room for. */
  async function prune(accountId: string): Promise<void> {
    pruning.add(accountId);
    try {
      let room: number;
      do {
        for (let turn = 0; turn < GATHERED_TURNS; turn += 1) await nextTurn();
        remainingQuota.set(accountId, 0); // what is told meanwhile takes from it
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

/** Removes what deleted apps have left, and what the account has past the number kept. Answers how many more it may have. */
export async function pruneAccount(store: Store, accountId: string): Promise<number> {
  let past: number;
  do past = await inTransaction(store, (tx) => deleteBatch(tx, accountId));
  while (past > BATCH_SIZE);
  return Math.max(-past, 0);
}

/** A unit of work among many, with a turn of the event loop for others before it. */
async function inTransaction<T>(store: Store, work: (tx: Tx) => Promise<T>): Promise<T> {
  await nextTurn();
  return store.transact(work);
}

const INTERACTION = "user.interaction";
const OTHER_TYPES = EVENT_TYPES.filter((type) => type !== INTERACTION);

/**
 * A step of the oldest of what may go: visitors' events never push out the account's others, nor test events either. An
 * event that still has something to send only leaves the list, and goes when that is settled. Answers how many were past
 * the number kept, of whatever had most; below 0 where there is room.
 */
async function deleteBatch(tx: Tx, accountId: string): Promise<number> {
  const [app] = await tx.page(appTombstones, "all", ["gone_apps"], FIRST_RECORD);
  if (app !== undefined) {
    if (!(await deleteDependents(tx, app))) await tx.remove(appTombstones, app.id);
    return Number.POSITIVE_INFINITY;
  }
  if (accountId === "") return 0; // not those that are past the number kept: in the index of samples they stand under ""
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
  const gone = await findOldest(tx, deploymentTombstones, "account", [[accountId]]);
  for (const { id } of gone.oldest) await tx.remove(deploymentTombstones, id);
  return Math.max(gone.past, ...found.map(({ past }) => past));
}

/** Of several lists taken as one, the oldest past the number kept; ids compare as text in creation order. */
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
