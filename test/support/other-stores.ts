// Stores that are as a test needs them: different in some of their ways, refusing or slow to write, or shared by several.
import type { Store, Tx } from "../../src/domain/store.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { promised } from "./wait.ts";

/** The store, but for some of its ways. */
export const overridden = (store: Store, ways: Partial<Store>): Store =>
  new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(name in ways ? ways : target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });

/**
 * A memory store whose writes can be made to fail or to wait: for what happens when storage refuses, and for two requests
 * that have to be under way at the same moment. Reads always go through.
 */
export class Gate {
  readonly store: Store;
  /** What the writes reject with after the next `spared` ones; undefined lets them through. */
  fault: Error | undefined;
  spared = 0;
  #waiting: Promise<void> = Promise.resolve();
  #begun: () => void = () => {};

  constructor() {
    const real = memoryStore();
    const transact = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
      this.#begun();
      await this.#waiting;
      if (this.fault && this.spared === 0) throw this.fault;
      this.spared = Math.max(this.spared - 1, 0);
      return real.transact(work);
    };
    this.store = overridden(real, { transact });
  }

  /** Makes writes wait. `begun` resolves when the first one does; `release` lets all of them go on. */
  hold(): { readonly begun: Promise<void>; readonly release: () => void } {
    const [begun, waiting] = [promised(), promised()];
    [this.#begun, this.#waiting] = [begun.keep, waiting.kept];
    return { begun: begun.kept, release: waiting.keep };
  }
}

/** A memory store as several processes on one database see it: each has a handle of its own, and ends by itself. */
export function sharedStore() {
  const real = memoryStore();
  let opened: Promise<void> | undefined;
  const open: Store["open"] = (collections) => {
    opened ??= real.open(collections);
    return opened;
  };
  /** `ways`: what of it is different for this process. */
  const handle = (ways?: Partial<Store>): Store =>
    overridden(real, { open, close: async () => {}, now: async () => Date.now(), ...ways });
  return Object.assign(handle, { real });
}
