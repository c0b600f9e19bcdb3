// Resolves the host names of webhooks and checks every address before a connection is made (contract, part 6).
import type { LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { isLoopbackHost } from "../lib/loopback.ts";
import { BlockedAddressError, UnknownHostError } from "./failures.ts";
import { Semaphore } from "./semaphore.ts";

/** Resolves a host name to its addresses. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

/** Returns the rule that forbids a connection to the address. */
export type AddressCheck = (address: string) => string | undefined;

/** A lookup holds one of the process's four worker threads, which file operations need too. */
const LOOKUPS_MAX = 2;
const LOOPBACK: readonly LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/** The system's resolver, with one lookup at a time per name. */
export function createResolver(): Resolve {
  const slots = new Semaphore(LOOKUPS_MAX);
  const running = new Map<string, Promise<readonly LookupAddress[]>>();
  return async (host) => {
    if (isLoopbackHost(host)) return LOOPBACK;
    const { lookup } = process.getBuiltinModule("node:dns/promises");
    const addresses =
      running.get(host) ??
      slots.run(() => lookup(host, { all: true })).finally(() => running.delete(host));
    running.set(host, addresses);
    return addresses;
  };
}

/** A lookup for Node's agents that fails if any address of the name is forbidden. */
export function createLookup(resolve: Resolve, check: AddressCheck): LookupFunction {
  return async (host, _, callback) => {
    const addresses = await resolve(host).catch(() => []);
    const rule = addresses.map(({ address }) => check(address)).find(Boolean);
    if (rule !== undefined) callback(new BlockedAddressError(rule), []);
    else if (addresses.length === 0) callback(new UnknownHostError(), []);
    else callback(null, [...addresses]);
  };
}
