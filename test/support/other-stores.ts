// Stores for tests: with some methods replaced, or with failing or slow writes.
import type { Store, Tx } from "../../src/domain/store.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { promised } from "./wait.ts";

/** The store with some methods replaced. */
export const overridden = (store: Store, methods: Partial<Store>) =>
  new Proxy(store, {
    get(target, name) {
      const method: unknown = (name in methods ? methods : target)[name as keyof Store];
      return typeof method === "function" ? method.bind(target) : method;
    },
  });

/**
 * A memory store whose writes can be made to fail or to wait: for storage failures, and for two requests
 * that must be in progress at the same moment. Reads are never affected.
 */
export class Gate {
  store: Store;
  /** The error of every write after the next `spared` ones; undefined lets writes succeed. */
  fault: Error | undefined;
  spared = 0;
  #waiting: Promise<void> = Promise.resolve();
  #begun: () => void = () => {};

  constructor() {
    const inner = memoryStore();
    const transact = async <T>(work: (tx: Tx) => Promise<T>) => {
      this.#begun();
      await this.#waiting;
      if (this.fault && this.spared === 0) throw this.fault;
      this.spared = Math.max(this.spared - 1, 0);
      return inner.transact(work);
    };
    this.store = overridden(inner, { transact });
  }

  /** Makes writes wait. `begun` resolves when the first one starts; `release` lets all of them continue. */
  hold() {
    const [begun, waiting] = [promised(), promised()];
    [this.#begun, this.#waiting] = [begun.keep, waiting.kept];
    return { begun: begun.kept, release: waiting.keep };
  }
}
