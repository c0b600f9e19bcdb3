// What goes (contract, part 6): what is over its time, what deleted apps have left, and of each account the events and the
// traces of deleted apps past the number kept. It runs behind the requests, in steps of bounded size. Nothing depends on
// it: whether something has expired is judged at each use.
import { decide } from "../decisions.ts";
import type { Background } from "../kit/background.ts";
import { type Instant, instant, nextTurn, type Scheduled } from "../kit/clock.ts";
import { clearAway } from "./apps.ts";
import { dropIfOver } from "./deliveries.ts";
import type { Passing } from "./model.ts";
import { EVENT_TYPES, events, goneApps, goneDeployments, idempotency, rates, sessions, signIns } from "./model.ts";
import { grants, REFRESH_REMEMBERED_MS, refreshTokens } from "./oauth/grants.ts";
import { type Collection, FIRST, type Store, type Stored, type Tx, type Values } from "./store.ts";
import type { UnitParts } from "./work.ts";

const KEPT = decide("8.bounds").events;

const STEP = 100;
/** An account at its bound has something to sweep after each event, and to look for it costs as much for a hundred. */
const GATHERED_TURNS = 50;
/** How often it is looked for what expires, where nothing is known to. */
const LOOK_AGAIN_MS = 3_600_000;

/** When the next record goes, and what it is; null for a look whether there is one. */
type Going = [at: Instant, what: string | null];

/** The records of `from` may go so long after they have expired. Removes a step of them; answers what goes next. */
const expiring =
  <R extends Passing<string>>(what: string, from: Collection<R, "expiry">, after_ms = 0) =>
  async (tx: Tx, now: Instant): Promise<Going> => {
    const oldest = await tx.page(from, "expiry", [from.name], { offset: 0, limit: STEP + 1 });
    const goesAt = (record?: R) => (record ? instant(record.expires_at) + after_ms : Number.POSITIVE_INFINITY);
    const over = oldest.slice(0, STEP).filter((record) => goesAt(record) <= now);
    for (const { id } of over) await tx.remove(from, id);
    return [goesAt(oldest[over.length]), `expiry of ${what}`];
  };

const EXPIRING = [
  expiring("kept answers", idempotency),
  expiring("rate windows", rates),
  expiring("sign-in links", signIns),
  expiring("sessions", sessions),
  expiring("grants", grants),
  expiring("refresh tokens", refreshTokens, REFRESH_REMEMBERED_MS),
];

/** Removes a step of each kind; answers what goes next. */
async function forgetExpired(tx: Tx, now: Instant): Promise<Going> {
  let next: Going = [now + LOOK_AGAIN_MS, null];
  for (const forget of EXPIRING) {
    const going = await forget(tx, now);
    if (going[0] <= next[0]) next = going;
  }
  return next;
}

export type Forgetting = ReturnType<typeof forgetting>;

export function forgetting({ store, clock }: Pick<UnitParts, "store" | "clock">, background: Background) {
  /** How many more events an account may have, below 0 until it was looked: to count them costs more than to write one. */
  const rooms = new Map<string, number>();
  const sweeping = new Set<string>();
  let timer: Scheduled | undefined;
  let stopped = false;

  function arm(at: Instant, what: string | null): void {
    timer?.cancel();
    if (!stopped) timer = clock.schedule(at, what, look);
  }

  /** Forgets what has expired and finds out what goes next: at a start, by the clock, and before that is moved by hand. */
  const look = () =>
    background.run("forgetting what has expired", async () => {
      const now = clock.now();
      arm(now + LOOK_AGAIN_MS, null); // where the store is out of reach
      // Whose they ever were: where the store was out of reach, or the process ended, as deleted apps were to be swept.
      if ((await store.count(goneApps, "all", ["gone_apps"])) > 0) notify("");
      let next: Going;
      do next = await step(store, (tx) => forgetExpired(tx, now));
      while (next[0] <= now);
      arm(...next);
    });

  /**
   * The account has a new event; "", which is none: a deleted app has left something. What is told within some turns of the
   * event loop is one sweep.
   */
  function notify(accountId: string): void {
    const room = (rooms.get(accountId) ?? 0) - 1;
    rooms.set(accountId, room);
    if (room < 0 && !sweeping.has(accountId)) background.run("forgetting old events", () => tidy(accountId));
  }

  /** One sweep after the other, until nothing was told during the last that there was no room for. */
  async function tidy(accountId: string): Promise<void> {
    sweeping.add(accountId);
    try {
      let room: number;
      do {
        for (let turn = 0; turn < GATHERED_TURNS; turn += 1) await nextTurn();
        rooms.set(accountId, 0); // what is told meanwhile takes from it
        room = (await sweep(store, accountId)) + (rooms.get(accountId) ?? 0);
        rooms.set(accountId, room);
      } while (room < 0);
    } finally {
      sweeping.delete(accountId);
    }
  }

  return {
    look,
    notify,
    stop(): void {
      stopped = true;
      timer?.cancel();
    },
  };
}

/** Removes what deleted apps have left, and what the account has past the number kept. Answers how many more it may have. */
export async function sweep(store: Store, accountId: string): Promise<number> {
  let past: number;
  do past = await step(store, (tx) => drop(tx, accountId));
  while (past > STEP);
  return Math.max(-past, 0);
}

/** A unit of work among many, with a turn of the event loop for others before it. */
async function step<T>(store: Store, work: (tx: Tx) => Promise<T>): Promise<T> {
  await nextTurn();
  return store.transact(work);
}

const CLICK = "user.interaction";
const OTHERS = EVENT_TYPES.filter((type) => type !== CLICK);

/**
 * A step of the oldest of what may go: visitors' events never push out the account's others, nor test events either. An
 * event that still has something to send only leaves the list, and goes when that is settled. Answers how many were past
 * the number kept, of whatever had most; below 0 where there is room.
 */
async function drop(tx: Tx, accountId: string): Promise<number> {
  const [app] = await tx.page(goneApps, "all", ["gone_apps"], FIRST);
  if (app !== undefined) {
    if (!(await clearAway(tx, app))) await tx.remove(goneApps, app.id);
    return Number.POSITIVE_INFINITY;
  }
  if (accountId === "") return 0; // not those that are past the number kept: in the index of samples they stand under ""
  const others = OTHERS.map((type) => [accountId, type]);
  const found = [
    await oldestOf(tx, events, "sample", [[accountId]]),
    await oldestOf(tx, events, "account_type", [[accountId, CLICK]]),
    await oldestOf(tx, events, "account_type", others),
  ];
  for (const event of found.flatMap(({ oldest }) => oldest))
    if (!(await dropIfOver(tx, event)))
      await tx.put(events, { ...event, listed_in: null, sample_of: event.sample_of && "" });
  const gone = await oldestOf(tx, goneDeployments, "account", [[accountId]]);
  for (const { id } of gone.oldest) await tx.remove(goneDeployments, id);
  return Math.max(gone.past, ...found.map(({ past }) => past));
}

/** Of several lists taken as one, the oldest past the number kept; ids compare as text in creation order. */
async function oldestOf<R extends Stored, I extends string>(tx: Tx, from: Collection<R, I>, index: I, lists: Values[]) {
  let past = -KEPT;
  for (const values of lists) past += await tx.count(from, index, values);
  if (past <= 0) return { past, oldest: [] };
  const span = { offset: 0, limit: Math.min(past, STEP) };
  const oldest = await Promise.all(lists.map((values) => tx.page(from, index, values, span)));
  const inOrder = oldest.flat().sort((a, b) => (a.id < b.id ? -1 : 1));
  return { past, oldest: inOrder.slice(0, span.limit) };
}
