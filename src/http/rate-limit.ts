// Rate limit (spec part 8: there is one, exceeding it is a 403; contract part 8: its values). Requests are counted per
// account, in memory, in fixed windows that start with the account's first request. A restart starts a new window.
import { decide } from "../former-decisions.ts";
import type { Clock, Instant } from "../lib/clock.ts";

export const { requests: RATE_LIMIT, window_s: RATE_WINDOW_S } = decide("8.rate-limit");
const WINDOW_MS = RATE_WINDOW_S * 1_000;

export interface Rate {
  readonly remaining: number;
  readonly reset_s: number;
  readonly exceeded: boolean;
}

interface Window {
  ends: number;
  /** Requests left, negative if exceeded. */
  left: number;
}

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/** `limit` is requests per window, null for none. */
export function createRateLimiter(clock: Clock, limit: number | null) {
  const windows = new Map<string, Window>();
  clock.onSetBack((by_ms) => {
    for (const window of windows.values()) window.ends -= by_ms;
  });

  function openWindow(id: string, now: Instant): Window | undefined {
    // Windows end in creation order, unless a snapshot set the time back; one that lies ahead is not open.
    for (const [known, { ends }] of windows)
      if (now >= ends) windows.delete(known);
      else break;
    const window = windows.get(id);
    return window && now < window.ends && window.ends <= now + WINDOW_MS ? window : undefined;
  }

  return {
    limit,

    /** Counts a request, or only reads the window at cost 0. Returns undefined without a limit. */
    async count(id: string, cost: 0 | 1 = 1): Promise<Rate | undefined> {
      if (limit === null) return undefined;
      const now = clock.now();
      const window = openWindow(id, now) ?? { ends: now + WINDOW_MS, left: limit };
      windows.set(id, window);
      window.left -= cost;
      const reset_s = Math.min(Math.ceil((window.ends - now) / 1_000), RATE_WINDOW_S);
      return {
        remaining: Math.max(window.left, 0),
        reset_s,
        exceeded: window.left < 0,
      };
    },

    clear: () => windows.clear(),
  };
}
