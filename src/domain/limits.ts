// The rate limit (spec part 8: there is one, exceeding it is a 403; contract part 8: its values). Counted per account in
// fixed windows that start with the account's first request, in memory: a restart begins a new window.
import { decide } from "../decisions.ts";
import type { Clock } from "../kit/clock.ts";

export const { requests: RATE_LIMIT, window_s: RATE_WINDOW_S } = decide("8.rate-limit");

export type RateLimiter = ReturnType<typeof rateLimiter>;
export type Rate = NonNullable<ReturnType<RateLimiter["count"]>>;

/** `limit` requests per window; null for no limit. */
export function rateLimiter(clock: Clock, limit: number | null) {
  const windows = new Map<string, { readonly ends: number; count: number }>();
  return {
    limit,

    /** Counts a request, or only looks where it costs nothing. Undefined where there is no limit. */
    count(accountId: string, cost: 0 | 1 = 1) {
      if (limit === null) return undefined;
      const now = clock.now();
      // They end in the order in which they began, unless the clock was set back: then one that lies ahead is none.
      for (const [id, { ends }] of windows)
        if (now >= ends) windows.delete(id);
        else break;
      const latest = now + RATE_WINDOW_S * 1_000;
      const known = windows.get(accountId);
      const window = known && now < known.ends && known.ends <= latest ? known : { ends: latest, count: 0 };
      windows.set(accountId, window);
      window.count += cost;
      const { ends, count } = window;
      const remaining = Math.max(limit - count, 0);
      return { remaining, reset_s: Math.ceil((ends - now) / 1_000), exceeded: count > limit };
    },

    clear: () => windows.clear(),
  };
}
