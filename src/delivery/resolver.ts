// From a host name to its addresses, for the sender to judge (contract, part 6). What is allowed is not known here.
import type { LookupAddress } from "node:dns";
import { isLoopbackHost } from "../kit/loopback.ts";

export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

const LOOKUPS_AT_ONCE = 2;
const LOOPBACK: readonly LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/**
 * The system's resolver, asked once at a time for a name and for two names at once: a lookup holds one of the process's
 * four worker threads until it ends, and dead name servers must not keep them all from the files.
 */
export function systemResolver(): Resolve {
  const running = new Map<string, Promise<readonly LookupAddress[]>>();
  const waiting: (() => void)[] = [];
  let free = LOOKUPS_AT_ONCE;
  const ask = async (host: string): Promise<readonly LookupAddress[]> => {
    while (free === 0) await new Promise<void>((resume) => waiting.push(resume));
    free -= 1;
    try {
      return await process.getBuiltinModule("node:dns/promises").lookup(host, { all: true });
    } finally {
      free += 1;
      waiting.shift()?.();
      running.delete(host);
    }
  };
  return (host) => {
    if (isLoopbackHost(host)) return Promise.resolve(LOOPBACK);
    const asked = running.get(host) ?? ask(host);
    running.set(host, asked);
    return asked;
  };
}
