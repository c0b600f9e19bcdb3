// The unit of work: one transaction of the store with one fixed time, the ids made in it and the events it records. A
// refusal answered by the work undoes it. Nothing is sent from here: after the commit the outbox and the processing of
// data sources are only told that something is due.
import { type Clock, type Instant, iso } from "../kit/clock.ts";
import type { Ids } from "../kit/ids.ts";
import { Refusal } from "./refusal.ts";
import type { Store, Tx } from "./store.ts";

/** What became due by a commit; whoever is told does not mind hearing of one twice. */
export interface Due {
  /** Webhooks whose queue changed. */
  readonly webhooks: string[];
  /** Data sources to be processed. */
  readonly dataSources: string[];
  /** Accounts that have new events, and may have more than are kept. */
  readonly sweeps: string[];
}

const nothingDue = (): Due => ({ webhooks: [], dataSources: [], sweeps: [] });
const NOTHING_DUE = nothingDue();

/** What the work of one transaction may use. */
export interface Work {
  readonly tx: Tx;
  readonly now: Instant;
  /** `now` as it stands in records. */
  readonly at: string;
  readonly ids: Ids;
  /** The id of the request that caused the work; null when none did. */
  readonly cause: string | null;
  readonly due: Due;
}

export interface UnitParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly onDue: (due: Due) => void;
}

export class Unit {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly cause: string | null;
  readonly #onDue: (due: Due) => void;

  constructor(parts: UnitParts, cause: string | null = null) {
    this.store = parts.store;
    this.clock = parts.clock;
    this.ids = parts.ids;
    this.cause = cause;
    this.#onDue = parts.onDue;
  }

  /** Runs `work` in one transaction; where it answers a refusal nothing is kept. `finish` may write last in it. */
  async transact<T>(work: (w: Work) => Promise<T | Refusal>): Promise<T | Refusal> {
    let due = NOTHING_DUE;
    try {
      const result = await this.store.transact(async (tx) => {
        due = nothingDue();
        const now = this.clock.now();
        const w: Work = { tx, now, at: iso(now), ids: this.ids, cause: this.cause, due };
        const value = await work(w);
        if (value instanceof Refusal) throw new Undo(value);
        if (this.finish !== undefined) await this.finish(w, value);
        return value;
      });
      if (due.webhooks.length + due.dataSources.length + due.sweeps.length > 0) this.#onDue(due);
      return result;
    } catch (error) {
      if (error instanceof Undo) return error.refusal;
      throw error;
    }
  }

  /** Called last in each transaction that is about to commit. */
  protected finish?(w: Work, value: unknown): Promise<void>;
}

/** Carries a refusal out of the store's transaction, so that the store rolls back. */
class Undo extends Error {
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super("refused");
    this.refusal = refusal;
  }
}
