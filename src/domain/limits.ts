// The rate limit (spec part 8: there is one, exceeding it is a 403; contract part 8: its values). Counted per account in
// fixed windows that start with the account's first request, in memory: a restart begins a new window.
import { decide } from "../decisions.ts";
import type { Clock } from "../kit/clock.ts";

export const { requests: RATE_LIMIT, window_s: RATE_WINDOW_S } = decide("8.rate-limit");

export interface Rate {
  readonly remaining: number;
  /** Seconds until the window ends, rounded up. */
  readonly reset_s: number;
  readonly exceeded: boolean;
}

export class RateLimiter {
  readonly #clock: Clock;
  /** Requests per window; null for no limit. */
  readonly limit: number | null;
  readonly #windows = new Map<string, { readonly ends: number; count: number }>();

  constructor(clock: Clock, limit: number | null) {
    this.#clock = clock;
    this.limit = limit;
  }

  /** Counts a request, or only looks where it costs nothing. Undefined where there is no limit. */
  count(accountId: string, cost: 0 | 1 = 1): Rate | undefined {
    if (this.limit === null) return undefined;
    const now = this.#clock.now();
    let window = this.#windows.get(accountId);
    if (window === undefined || now >= window.ends) {
      window = { ends: now + RATE_WINDOW_S * 1_000, count: 0 };
      this.#windows.set(accountId, window);
    }
    window.count += cost;
    const { ends, count } = window;
    const remaining = Math.max(this.limit - count, 0);
    return { remaining, reset_s: Math.ceil((ends - now) / 1_000), exceeded: count > this.limit };
  }

  reset(): void {
    this.#windows.clear();
  }
}
