// The store that keeps everything in memory and nothing beyond its process. A commit is one synchronous step: the reads
// are asked again, and if they hold the writes are made, so no other transaction can come between.
import type { AnyCollection, Lease, Store, StoreData, Tx } from "../domain/store.ts";
import { dataOf, tablesOf } from "./data.ts";
import { Ears } from "./ears.ts";
import { Leases } from "./leases.ts";
import { type Rules, rulesOf } from "./rules.ts";
import { Tables } from "./tables.ts";
import { Reading, runWork, Transaction } from "./transaction.ts";
import type { Change } from "./view.ts";

export const memoryStore = (): Store => new MemoryStore();

interface State {
  readonly rules: Rules;
  view: Tables;
  version: number;
}

class MemoryStore extends Reading implements Store {
  #state: State | "new" | "closed" = "new";
  readonly #leases = new Leases();
  readonly #ears = new Ears();

  constructor() {
    super(() => this.#open());
  }

  async open(collections: readonly AnyCollection[]): Promise<void> {
    if (this.#state !== "new") throw new Error("A store is opened once");
    const rules = rulesOf(collections);
    this.#state = { rules, view: new Tables(rules), version: 0 };
  }

  transact<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return runWork(
      this.#ears,
      work,
      () => new Transaction(this.#open()),
      (_, changes) => this.#commit(changes),
    );
  }

  async lease(name: string, for_ms: number): Promise<Lease | undefined> {
    this.#open();
    return this.#leases.take(name, for_ms);
  }

  hear(topic: string, heard: (subject: string) => void): () => void {
    return this.#ears.hear(topic, heard);
  }

  async snapshot(): Promise<StoreData> {
    const { rules, view } = this.#open();
    return dataOf(rules, view);
  }

  async restore(data: StoreData): Promise<void> {
    const state = this.#open();
    state.view = tablesOf(state.rules, data);
    state.version += 1;
  }

  async close(): Promise<void> {
    this.#state = "closed";
  }

  #commit(changes: readonly Change[]): boolean {
    const state = this.#open();
    if (changes.length > 0) state.version += 1;
    state.view.apply(changes);
    return true;
  }

  #open(): State {
    if (typeof this.#state === "string") throw new Error(`The store is ${this.#state}, not open`);
    return this.#state;
  }
}
