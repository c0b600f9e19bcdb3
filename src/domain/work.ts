// The unit of work: one transaction of the store with one fixed time, the ids made in it and the events it records. A
// refusal answered by the work undoes it. Nothing is sent from here: what has become due is told through the store,
// and whoever hears it looks.
import { type Clock, type Instant, iso } from "../kit/clock.ts";
import type { Ids } from "../kit/ids.ts";
import { trusted } from "../kit/schema.ts";
import type { Decide } from "./readings.ts";
import { Refusal } from "./refusal.ts";
import type { Store, Tx } from "./store.ts";

export interface Work {
  readonly tx: Tx;
  readonly now: Instant;
  /** `now` as it stands in records. */
  readonly at: string;
  readonly ids: Ids;
  readonly decide: Decide;
  /** The id of the request that caused the work; null when none did. */
  readonly cause: string | null;
}

/** What is made of a draft may bring its own id where a seed says so. */
export type Seeded<D> = D & { readonly id?: string | undefined };

export interface UnitParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly decide: Decide;
}

export class Unit {
  readonly store: Store;

  constructor(
    private readonly parts: UnitParts,
    private readonly cause: string | null = null,
    /** Called last in each transaction that is about to commit, with what the work answered. */
    private readonly finish?: (w: Work, value: unknown) => Promise<void>,
  ) {
    this.store = parts.store;
  }

  /** Runs `work` in one transaction; where it answers a refusal nothing is kept. */
  async transact<T>(work: (w: Work) => Promise<T>): Promise<T> {
    const { cause, finish } = this;
    const { store, clock, ids, decide } = this.parts;
    try {
      return await store.transact(async (tx) => {
        const now = clock.now();
        const w: Work = { tx, now, at: iso(now), ids, decide, cause };
        const value = await work(w);
        if (value instanceof Refusal) throw value; // on its way through the store, which undoes everything
        if (finish) await finish(w, value);
        return value;
      });
    } catch (error) {
      if (error instanceof Refusal) return trusted(error); // it is what `work` answered
      throw error;
    }
  }
}
