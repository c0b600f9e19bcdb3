// Rate limit (spec part 8: there is one, exceeding it is a 403; contract part 8: its values). Requests are counted per
// account, in memory, in fixed windows that start with the account's first request. A restart starts a new window.
// Processes that share a store share the windows: each takes its requests from a record in portions. Together they
// never exceed the limit, and few requests write. A portion is a twentieth of what is left, at least one request, so
// that the limit is exact near its end. Before that, another process may hold an unused portion.
import { decide } from "../former-decisions.ts";
import { rateWindows } from "../domain/model.ts";
import type { Store } from "../domain/store.ts";
import { type Clock, type Instant, parseIso, toIso } from "../lib/clock.ts";

export const { requests: RATE_LIMIT, window_s: RATE_WINDOW_S } = decide("8.rate-limit");
const WINDOW_MS = RATE_WINDOW_S * 1_000;
const PORTIONS = 20;
const DIFFER_MS = 60_000;

export interface Rate {
  readonly remaining: number;
  readonly reset_s: number;
  readonly exceeded: boolean;
}

interface Window {
  ends: number;
  /** Requests left to this process (negative if exceeded), and those left for any process. */
  own: number;
  readonly left: number;
}

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/** `limit` is requests per window, null for none. `shared` is the store if other processes count too. */
export function createRateLimiter(clock: Clock, limit: number | null, shared?: Store) {
  const windows = new Map<string, Window>();
  /** Pending portions by account; concurrent requests wait for the same one. */
  const taking = new Map<string, Promise<void>>();
  /** A window of another process may end later than a new one here, by the difference of their clocks. */
  const isOpen = (ends: number, now: number) =>
    now < ends && ends <= now + WINDOW_MS + (shared ? DIFFER_MS : 0);

  clock.onSetBack((by_ms) => {
    for (const window of windows.values()) window.ends -= by_ms;
  });

  function openWindow(id: string, now: Instant): Window | undefined {
    // Windows end in creation order, unless a snapshot set the time back; one that lies ahead is not open.
    for (const [known, { ends }] of windows)
      if (now >= ends) windows.delete(known);
      else break;
    const window = windows.get(id);
    return window && isOpen(window.ends, now) ? window : undefined;
  }

  /** Takes a portion when this process has nothing left. */
  async function take(store: Store, id: string, limit: number): Promise<void> {
    const portion = await store.transact(async (tx) => {
      const now = clock.now();
      const known = await tx.get(rateWindows, id);
      const open = known && isOpen(parseIso(known.expires_at), now) ? known : undefined;
      const { expires_at, taken } = open ?? { expires_at: toIso(now + WINDOW_MS), taken: 0 };
      const left = limit - taken;
      const own = Math.min(left, Math.max(Math.floor(left / PORTIONS), 1));
      if (own > 0)
        await tx.put(rateWindows, { id, expires_at, partition: "rates", taken: taken + own });
      return { ends: parseIso(expires_at), own, left: left - own };
    });
    windows.set(id, portion);
  }

  /** A process that shares windows starts without a portion. */
  function begin(id: string, now: Instant, most: number): Window {
    const window = {
      ends: now + WINDOW_MS,
      ...(shared ? { own: 0, left: most } : { own: most, left: 0 }),
    };
    windows.set(id, window);
    return window;
  }

  return {
    limit,

    /** Counts a request, or only reads the window at cost 0. Returns undefined without a limit. */
    async count(id: string, cost: 0 | 1 = 1): Promise<Rate | undefined> {
      if (limit === null) return undefined;
      const now = clock.now();
      const window = openWindow(id, now) ?? begin(id, now, limit);
      if (shared && window.own < cost && window.left > 0) {
        const portion = taking.get(id) ?? take(shared, id, limit).finally(() => taking.delete(id));
        taking.set(id, portion);
        await portion;
        return this.count(id, cost);
      }
      window.own -= cost;
      const reset_s = Math.min(Math.ceil((window.ends - now) / 1_000), RATE_WINDOW_S);
      return {
        remaining: Math.max(window.own + window.left, 0),
        reset_s,
        exceeded: window.own < 0,
      };
    },

    clear: () => windows.clear(),
  };
}
