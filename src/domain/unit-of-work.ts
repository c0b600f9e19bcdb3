// The unit of work: one transaction of the store with one fixed time, the ids made in it and the events it records. A
// refusal answered by the work undoes it. Nothing is sent from here: what has become due is told through the store,
// and whoever hears it looks.
import { type Clock, type Instant, toIso } from "../lib/clock.ts";
import type { Ids } from "../lib/ids.ts";
import { unsafeCast } from "../lib/schema.ts";
import { AppError } from "./errors.ts";
import type { Store, Tx } from "./store.ts";
import type { Decide } from "./variants.ts";

export interface TxContext {
  readonly tx: Tx;
  readonly now: Instant;
  /** `now` as it stands in records. */
  readonly timestamp: string;
  readonly ids: Ids;
  readonly decide: Decide;
  /** The id of the request that caused the work; null when none did. */
  readonly requestId: string | null;
}

/** What is made of a draft may bring its own id where a seed says so. */
export type WithOptionalId<D> = D & { readonly id?: string | undefined };

export interface UnitOfWorkDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly decide: Decide;
}

export class UnitOfWork {
  readonly store: Store;

  constructor(
    private readonly deps: UnitOfWorkDeps,
    private readonly requestId: string | null = null,
    /** Called last in each transaction that is about to commit, with what the work answered. */
    private readonly beforeCommit?: (w: TxContext, value: unknown) => Promise<void>,
  ) {
    this.store = deps.store;
  }

  /** Runs `work` in one transaction; where it answers a refusal nothing is kept. */
  async run<T>(work: (ctx: TxContext) => Promise<T>): Promise<T> {
    const { requestId, beforeCommit } = this;
    const { store, clock, ids, decide } = this.deps;
    try {
      return await store.transact(async (tx) => {
        const now = clock.now();
        const ctx: TxContext = { tx, now, timestamp: toIso(now), ids, decide, requestId };
        const value = await work(ctx);
        if (value instanceof AppError) throw value; // on its way through the store, which undoes everything
        if (beforeCommit) await beforeCommit(ctx, value);
        return value;
      });
    } catch (error) {
      if (error instanceof AppError) return unsafeCast(error); // it is what `work` answered
      throw error;
    }
  }
}
