// Which events stay (contract, part 6): an account's newest, and every one that still has something to send. It runs
// behind the requests and removes a bounded number in each transaction, so that no answer waits for it.
import type { Background } from "../kit/background.ts";
import { dropIfOver } from "./deliveries.ts";
import { EVENTS_KEPT } from "./events.ts";
import { type EventRecord, events } from "./model.ts";
import type { Store, Tx } from "./store.ts";

const SWEPT_AT_ONCE = 100;

/** Sweeps the accounts that it is told of, one at a time; what is told within one turn of the event loop is one sweep. */
export class Sweeper {
  readonly #store: Store;
  readonly #background: Background;
  readonly #told = new Set<string>();
  #running = false;

  constructor(store: Store, background: Background) {
    this.#store = store;
    this.#background = background;
  }

  notify(accountId: string): void {
    this.#told.add(accountId);
    if (this.#running) return;
    this.#running = true;
    this.#background.run("forgetting old events", () =>
      this.#sweep().finally(() => {
        this.#running = false;
      }),
    );
  }

  async #sweep(): Promise<void> {
    do {
      await new Promise(setImmediate);
      const ids = [...this.#told];
      this.#told.clear();
      for (const id of ids) await sweepEvents(this.#store, id);
    } while (this.#told.size > 0);
  }
}

/**
 * Removes the account's oldest events past the number kept, with their deliveries. One that still has something to send
 * only leaves the list and goes when that is settled: a sweep never looks at an event twice, however many wait.
 * The lists are read outside the transactions: inside, every new event of the account would make them run again.
 */
export async function sweepEvents(store: Store, accountId: string): Promise<void> {
  for (const index of ["account", "sample"] as const)
    for (let past = await pastKept(store, index, accountId); past > 0; past = await pastKept(store, index, accountId)) {
      const span = { offset: 0, limit: Math.min(past, SWEPT_AT_ONCE) };
      const oldest = await store.page(events, index, [accountId], span);
      await store.transact((tx) => sweepAll(tx, oldest));
    }
}

const pastKept = async (store: Store, index: "account" | "sample", accountId: string): Promise<number> =>
  (await store.count(events, index, [accountId])) - EVENTS_KEPT;

async function sweepAll(tx: Tx, oldest: readonly EventRecord[]): Promise<void> {
  for (const event of oldest) {
    if (await dropIfOver(tx, event)) continue;
    const waiting = await tx.get(events, event.id);
    if (waiting) await tx.put(events, { ...waiting, listed_in: null, sample_of: null });
  }
}
