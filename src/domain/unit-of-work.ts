// The unit of work: one store transaction with a fixed time, id generation and recorded events. An error returned by
// the work rolls it back. This module sends nothing: it publishes through the store, and subscribers then query for due
// work.
import { type Clock, type Instant, toIso } from "../lib/clock.ts";
import type { Ids } from "../lib/ids.ts";
import { unsafeCast } from "../lib/schema.ts";
import { AppError } from "./errors.ts";
import type { Store, Tx } from "./store.ts";
import type { Decide } from "./variants.ts";

export interface TxContext {
  readonly tx: Tx;
  readonly now: Instant;
  /** `now` as an ISO 8601 string. */
  readonly timestamp: string;
  readonly ids: Ids;
  readonly decide: Decide;
  /** The id of the request that caused the work; null when none did. */
  readonly requestId: string | null;
}

/** A draft with an optional id, which a seed may set. */
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
    /** Called at the end of each transaction, before the commit, with the value that the work returned. */
    private readonly beforeCommit?: (w: TxContext, value: unknown) => Promise<void>,
  ) {
    this.store = deps.store;
  }

  /** Runs `work` in one transaction and rolls back if it returns an error. */
  async run<T>(work: (ctx: TxContext) => Promise<T>): Promise<T> {
    const { requestId, beforeCommit } = this;
    const { store, clock, ids, decide } = this.deps;
    try {
      return await store.transact(async (tx) => {
        const now = clock.now();
        const ctx: TxContext = { tx, now, timestamp: toIso(now), ids, decide, requestId };
        const value = await work(ctx);
        if (value instanceof AppError) throw value; // thrown so that the store rolls back
        if (beforeCommit) await beforeCommit(ctx, value);
        return value;
      });
    } catch (error) {
      if (error instanceof AppError) return unsafeCast(error); // the value that `work` returned
      throw error;
    }
  }
}
