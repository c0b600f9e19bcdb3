// Forgets what is over its time: kept answers, sign-in links, sessions, grants, refresh tokens. Each list is ordered by
// that time, so one timer stands for its oldest record and a sweep costs what it removes. Nothing depends on it: whether
// something has expired is judged at each use.
import { type Clock, type Instant, instant, type Scheduled } from "../kit/clock.ts";
import type { Collection, Store, Stored } from "./store.ts";

/** A list whose records may go at the time in one of their fields; all records of the list have `all` in common. */
export interface Expiring {
  readonly what: string;
  /** The times of the `limit` oldest records, with their ids. */
  oldest(store: Store, limit: number): Promise<readonly { readonly id: string; readonly at: string }[]>;
  /** Removes those that are still over at `now`: one may have been given more time since it was read. */
  forget(store: Store, ids: readonly string[], now: Instant): Promise<void>;
}

/** `from` has an index `expiry` by its field `all`, ordered by `field`. */
export function expiring<R extends Stored & { readonly all: string }, U extends string>(
  what: string,
  from: Collection<R, "expiry", U>,
  all: R["all"],
  at: (record: R) => string,
): Expiring {
  return {
    what: `expiry of ${what}`,
    async oldest(store, limit) {
      const records = await store.page(from, "expiry", [all], { offset: 0, limit });
      return records.map((record) => ({ id: record.id, at: at(record) }));
    },
    forget: (store, ids, now) =>
      store.transact(async (tx) => {
        for (const id of ids) {
          const record = await tx.get(from, id);
          if (record && instant(at(record)) <= now) await tx.remove(from, id);
        }
      }),
  };
}

const CHUNK = 500;
/** How often a list without a record is looked at again. */
const LOOK_AGAIN_MS = 3_600_000;

export class Expiry {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #lists: readonly Expiring[];
  readonly #onError: (error: unknown, during: string) => void;
  readonly #timers = new Map<Expiring, Scheduled>();
  #stopped = false;

  constructor(parts: {
    store: Store;
    clock: Clock;
    lists: readonly Expiring[];
    onError: (error: unknown, during: string) => void;
  }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#lists = parts.lists;
    this.#onError = parts.onError;
  }

  /** Finds out when the oldest record of each list goes. Called at the start and before the clock is moved by hand. */
  async look(): Promise<void> {
    for (const list of this.#lists) {
      const [oldest] = await list.oldest(this.#store, 1);
      this.#arm(list, oldest?.at);
    }
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers.values()) timer.cancel();
  }

  /** `next`: when the oldest record goes; without one the list is only looked at again. */
  #arm(list: Expiring, next: string | undefined): void {
    this.#timers.get(list)?.cancel();
    if (this.#stopped) return;
    const at = next === undefined ? this.#clock.now() + LOOK_AGAIN_MS : instant(next);
    const what = next === undefined ? null : list.what;
    this.#timers.set(
      list,
      this.#clock.schedule(at, what, () => this.#sweep(list)),
    );
  }

  async #sweep(list: Expiring): Promise<void> {
    let next: string | undefined;
    try {
      const oldest = await list.oldest(this.#store, CHUNK);
      const over = oldest.filter(({ at }) => instant(at) <= this.#clock.now());
      if (over.length > 0)
        await list.forget(
          this.#store,
          over.map(({ id }) => id),
          this.#clock.now(),
        );
      const [following] = over.length < oldest.length ? oldest.slice(over.length) : await list.oldest(this.#store, 1);
      next = following?.at;
    } catch (error) {
      this.#onError(error, list.what);
    }
    this.#arm(list, next);
  }
}
