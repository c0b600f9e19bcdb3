// Rate limit (spec part 8: there is one, exceeding it is a 403; contract part 8: its values). Requests are counted per
// account, in memory, in fixed windows that start with the account's first request. A restart starts a new window.
import type { Clock } from "../lib/clock.ts";

export const RATE_LIMIT = 6_000;
export const RATE_WINDOW_S = 60;
const WINDOW_MS = RATE_WINDOW_S * 1_000;

export interface Rate {
  readonly limit: number;
  readonly remaining: number;
  readonly reset_s: number;
  readonly exceeded: boolean;
}

interface Window {
  ends: number;
  requests: number;
}

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/** `limit` is requests per window, null for none. */
export function createRateLimiter(clock: Clock, limit: number | null) {
  const windows = new Map<string, Window>();
  clock.onSetBack((by_ms) => {
    for (const window of windows.values()) window.ends -= by_ms;
  });

  /** A window that lies ahead was left by a time from which a snapshot went back. */
  function openWindow(accountId: string, now: number): Window {
    const window = windows.get(accountId);
    if (window && now < window.ends && window.ends <= now + WINDOW_MS) return window;
    const newWindow = { ends: now + WINDOW_MS, requests: 0 };
    windows.set(accountId, newWindow);
    return newWindow;
  }

  return {
    /** Counts a request, or only reads the window at cost 0. Returns undefined without a limit. */
    count(accountId: string, cost: 0 | 1 = 1): Rate | undefined {
      if (limit === null) return undefined;
      const now = clock.now();
      const window = openWindow(accountId, now);
      window.requests += cost;
      return {
        limit,
        remaining: Math.max(limit - window.requests, 0),
        reset_s: Math.ceil((window.ends - now) / 1_000),
        exceeded: window.requests > limit,
      };
    },

    clear: () => windows.clear(),
  };
}

/** Headers of draft-ietf-httpapi-ratelimit-headers. */
export const rateLimitHeaders = ({ limit, remaining, reset_s }: Rate): Record<string, string> => ({
  "ratelimit-policy": `"default";q=${limit};w=${RATE_WINDOW_S}`,
  ratelimit: `"default";r=${remaining};t=${reset_s}`,
});
