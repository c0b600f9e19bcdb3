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

export const KEPT = decide("8.bounds").events;

const STEP = 100;
/** How often it is looked for what expires, where nothing is known to. */
const LOOK_AGAIN_MS = 3_600_000;

/** A list of records that may go at the time in one of their fields. */
interface Expiring {
  readonly what: string;
  /** When its oldest record goes. */
  next(reader: Reader): Promise<string | undefined>;
  /** Removes the oldest that are over. */
  forget(tx: Tx, at: string): Promise<void>;
}

/** `from` has an index `expiry` by its field `all`, in the order of the time that `goes` reads. */
function expiring<R extends Stored & { readonly all: string }, U extends string>(
  what: string,
  from: Collection<R, "expiry", U>,
  all: R["all"],
  goes: (record: R) => string,
): Expiring {
  const oldest = (reader: Reader, limit: number) => reader.page(from, "expiry", [all], { offset: 0, limit });
  return {
    what: `expiry of ${what}`,
    next: async (reader) => (await oldest(reader, 1)).map(goes)[0],
    forget: async (tx, at) => {
      for (const record of await oldest(tx, STEP)) if (goes(record) <= at) await tx.remove(from, record.id);
    },
  };
}

const EXPIRING: readonly Expiring[] = [
  expiring("kept answers", idempotency, "idempotency", ({ expires_at }) => expires_at),
  expiring("sign-in links", signIns, "sign_ins", ({ expires_at }) => expires_at),
  expiring("sessions", sessions, "sessions", ({ expires_at }) => expires_at),
  expiring("grants", grants, "grants", ({ expires_at }) => expires_at),
  expiring("refresh tokens", refreshTokens, "refresh_tokens", ({ forget_at }) => forget_at),
];

export interface ForgettingParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly background: Background;
  readonly onError: (error: unknown, during: string) => void;
}

export class Forgetting {
  readonly #parts: ForgettingParts;
  readonly #told = new Set<string>();
  #timer: Scheduled | undefined;
  #stopped = false;

  constructor(parts: ForgettingParts) {
    this.#parts = parts;
  }

  /** Finds out what expires next. Called at the start and before the clock is moved by hand. */
  async look(): Promise<void> {
    const { store, clock } = this.#parts;
    let [next, what]: [Instant, string | null] = [clock.now() + LOOK_AGAIN_MS, null];
    for (const list of EXPIRING) {
      const at = await list.next(store);
      if (at !== undefined && instant(at) < next) [next, what] = [instant(at), list.what];
    }
    this.#arm(next, what);
  }

  /** The account has new events. What is told within one turn of the event loop is one sweep. */
  notify(accountId: string): void {
    if (this.#told.size === 0) this.#parts.background.run("forgetting old events", () => this.#sweepTold());
    this.#told.add(accountId);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #arm(at: Instant, what: string | null): void {
    this.#timer?.cancel();
    if (!this.#stopped) this.#timer = this.#parts.clock.schedule(at, what, () => this.#expire());
  }

  async #expire(): Promise<void> {
    const { store, clock, onError } = this.#parts;
    try {
      const at = iso(clock.now());
      for (const list of EXPIRING)
        for (let next = await list.next(store); next !== undefined && next <= at; next = await list.next(store))
          await store.transact((tx) => list.forget(tx, at));
      await this.look();
    } catch (error) {
      onError(error, "forgetting what has expired");
      this.#arm(clock.now() + LOOK_AGAIN_MS, null);
    }
  }

  async #sweepTold(): Promise<void> {
    const { store, onError } = this.#parts;
    await new Promise(setImmediate);
    for (const id of this.#told) {
      this.#told.delete(id);
      await sweep(store, id).catch((error: unknown) => onError(error, "forgetting old events"));
    }
  }
}

/** Removes what the account has past the number kept. */
export async function sweep(store: Store, accountId: string): Promise<void> {
  for (;;) {
    const past = await surplus(store, accountId);
    if (past.events.length + past.gone.length === 0) return;
    await store.transact((tx) => drop(tx, accountId));
  }
}

/** An event that still has something to send only leaves the list, and goes when that is settled. */
async function drop(tx: Tx, accountId: string): Promise<void> {
  const past = await surplus(tx, accountId);
  for (const event of past.events)
    if (!(await dropIfOver(tx, event))) await tx.put(events, { ...event, listed_in: null, sample_of: null });
  for (const { id } of past.gone) await tx.remove(goneDeployments, id);
}

const CLICKS: readonly EventType[] = ["user.interaction"];
const OTHERS = EVENT_TYPES.filter((type) => !CLICKS.includes(type));

/** The oldest of what may go: visitors' events never push out the account's others, nor test events either. */
async function surplus(reader: Reader, accountId: string) {
  const of = (types: readonly EventType[]) => types.map((type) => [accountId, type]);
  const clicks = await oldestOf(reader, events, "account_type", of(CLICKS));
  const others = await oldestOf(reader, events, "account_type", of(OTHERS));
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
