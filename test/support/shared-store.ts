// A memory store as several processes on one database see it: each has a handle of its own, and ends by itself.
import { memoryStore, type Store } from "../../src/index.ts";
import { overridden } from "./gated-store.ts";

/** `ways`: what of it is different for this process. */
export type Handle = (ways?: Partial<Store>) => Store;

export function sharedStore(): Handle & { readonly real: Store } {
  const real = memoryStore();
  let opened: Promise<void> | undefined;
  const open: Store["open"] = (collections) => {
    opened ??= real.open(collections);
    return opened;
  };
  const handle: Handle = (ways) =>
    overridden(real, { open, close: async () => {}, now: async () => Date.now(), ...ways });
  return Object.assign(handle, { real });
}
