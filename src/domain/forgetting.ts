// What goes (contract, part 6): what is over its time, and of each account the events and the traces of deleted apps past
// the number kept. It runs behind the requests and in steps of bounded size. Nothing depends on it: whether something has
// expired is judged at each use.
import { decide } from "../decisions.ts";
import type { Background } from "../kit/background.ts";
import { type Clock, type Instant, instant, iso, type Scheduled } from "../kit/clock.ts";
import { dropIfOver } from "./deliveries.ts";
import { EVENT_TYPES, type EventType, events, goneDeployments, idempotency, signIns } from "./model.ts";
import { grants, refreshTokens, sessions } from "./oauth/model.ts";
import type { Collection, Reader, Scalar, Store, Stored, Tx } from "./store.ts";

const KEPT = decide("8.bounds").events;

const STEP = 100;
/** An account at its bound has something to sweep after each event, and to look for it costs as much for a hundred. */
const GATHERED_TURNS = 50;
/** How often it is looked for what expires, where nothing is known to. */
const LOOK_AGAIN_MS = 3_600_000;

interface Expiring {
  readonly what: string;
  /** Removes a step of what is over at that time; answers when the next record goes. */
  forget(tx: Tx, at: string): Promise<string | undefined>;
}

/** The records of `from` may go at the time that `goes` reads, in whose order its index `expiry` has them. */
const expiring = <R extends Stored & { readonly all: string }, U extends string>(
  what: string,
  from: Collection<R, "expiry", U>,
  goes: (record: R) => string,
): Expiring => ({
  what: `expiry of ${what}`,
  async forget(tx, at) {
    const oldest = await tx.page(from, "expiry", [from.name], { offset: 0, limit: STEP + 1 });
    const over = oldest.slice(0, STEP).filter((record) => goes(record) <= at);
    for (const { id } of over) await tx.remove(from, id);
    return oldest.slice(over.length).map(goes)[0];
  },
});

const EXPIRING: readonly Expiring[] = [
  expiring("kept answers", idempotency, ({ expires_at }) => expires_at),
  expiring("sign-in links", signIns, ({ expires_at }) => expires_at),
  expiring("sessions", sessions, ({ expires_at }) => expires_at),
  expiring("grants", grants, ({ expires_at }) => expires_at),
  expiring("refresh tokens", refreshTokens, ({ forget_at }) => forget_at),
];

interface Parts {
  readonly store: Store;
  readonly clock: Clock;
  readonly background: Background;
  readonly onError: (error: unknown, during: string) => void;
}

export class Forgetting {
  readonly #parts: Parts;
  readonly #told = new Set<string>();
  #timer: Scheduled | undefined;
  #stopped = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Looks at once, by the clock, and from then on. */
  start(): void {
    this.#arm(this.#parts.clock.now(), null);
  }

  /** Forgets what has expired and finds out what goes next. Called also before the clock is moved by hand. */
  async look(): Promise<void> {
    const { store, clock, onError } = this.#parts;
    const now = clock.now();
    let [next, what]: [Instant, string | null] = [now + LOOK_AGAIN_MS, null];
    try {
      for (const list of EXPIRING) {
        let goes: string | undefined;
        do goes = await store.transact((tx) => list.forget(tx, iso(now)));
        while (goes !== undefined && instant(goes) <= now);
        if (goes !== undefined && instant(goes) < next) [next, what] = [instant(goes), list.what];
      }
    } catch (error) {
      onError(error, "forgetting what has expired");
      [next, what] = [now + LOOK_AGAIN_MS, null];
    }
    this.#arm(next, what);
  }

  /** The account has new events. What is told within some turns of the event loop is one sweep. */
  notify(accountId: string): void {
    if (this.#told.size === 0) this.#parts.background.run(OLD_EVENTS, () => this.#sweepTold());
    this.#told.add(accountId);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #arm(at: Instant, what: string | null): void {
    this.#timer?.cancel();
    if (!this.#stopped) this.#timer = this.#parts.clock.schedule(at, what, () => this.look());
  }

  async #sweepTold(): Promise<void> {
    const { store, onError } = this.#parts;
    for (let turn = 0; turn < GATHERED_TURNS; turn += 1) await new Promise(setImmediate);
    for (const id of this.#told) {
      this.#told.delete(id);
      await sweep(store, id).catch((error: unknown) => onError(error, OLD_EVENTS));
    }
  }
}

const OLD_EVENTS = "forgetting old events";

/** Removes what the account has past the number kept. */
export async function sweep(store: Store, accountId: string): Promise<void> {
  let dropped: number;
  do dropped = await store.transact((tx) => drop(tx, accountId));
  while (dropped >= STEP);
}

/** An event that still has something to send only leaves the list, and goes when that is settled. */
async function drop(tx: Tx, accountId: string): Promise<number> {
  const past = await surplus(tx, accountId);
  for (const event of past.events)
    if (!(await dropIfOver(tx, event))) await tx.put(events, { ...event, listed_in: null, sample_of: null });
  for (const { id } of past.gone) await tx.remove(goneDeployments, id);
  return past.events.length + past.gone.length;
}

const CLICKS: readonly EventType[] = ["user.interaction"];
const OTHERS = EVENT_TYPES.filter((type) => !CLICKS.includes(type));

/** The oldest of what may go: visitors' events never push out the account's others, nor test events either. */
async function surplus(reader: Reader, accountId: string) {
  const of = (types: readonly EventType[]) => types.map((type) => [accountId, type]);
  // This is asked after every event, and nearly always all kinds together are fewer than one of them may be.
  const few = (await reader.count(events, "account", [accountId])) <= KEPT;
  const clicks = few ? [] : await oldestOf(reader, events, "account_type", of(CLICKS));
  const others = few ? [] : await oldestOf(reader, events, "account_type", of(OTHERS));
  const samples = await oldestOf(reader, events, "sample", [[accountId]]);
  const gone = await oldestOf(reader, goneDeployments, "account", [[accountId]]);
  return { events: [...clicks, ...others, ...samples], gone };
}

/** Of several lists taken as one, the oldest past the number kept; ids compare as text in creation order. */
async function oldestOf<R extends Stored, I extends string, U extends string>(
  reader: Reader,
  from: Collection<R, I, U>,
  index: I,
  lists: readonly (readonly Scalar[])[],
): Promise<readonly R[]> {
  let past = -KEPT;
  for (const values of lists) past += await reader.count(from, index, values);
  if (past <= 0) return [];
  const span = { offset: 0, limit: Math.min(past, STEP) };
  const oldest = await Promise.all(lists.map((values) => reader.page(from, index, values, span)));
  return oldest
    .flat()
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .slice(0, span.limit);
}
