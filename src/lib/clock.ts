// The service clock for timestamps, expiry, rate windows and retries; it alone starts timers for them. A running clock
// follows the machine's clock, even if that is set or the machine slept. It can be frozen, advanced and resumed, so
// that a test never sleeps. Sockets use real time, through `after` and `within`. Node's timers and the real time are
// captured on load, so that a test runner's later fakes change nothing.
import { performance } from "node:perf_hooks";
import * as timers from "node:timers";

const { setTimeout: startTimer, clearTimeout: stopTimer, setImmediate: startImmediate } = timers;
const RealDate = Date;
const realMonotonic = performance.now.bind(performance);

/** Milliseconds since 1970, UTC. */
export type Instant = number;

/** The machine's time, regardless of the service clock and of a test runner's fakes. */
export const systemNow: () => Instant = RealDate.now;

/** Milliseconds of a monotonic clock, for durations in real time. */
export const monotonicNow = (): number => realMonotonic();

export type FiredTimer = { readonly at: string; readonly what: string };

/** The clock without the methods that move it. */
export type Clock = Pick<AdjustableClock, "now" | "schedule" | "onSetBack">;

export type Timer = ReturnType<Clock["schedule"]>;

/** Cached because a busy server formats each millisecond many times. */
const known = new Map<Instant, string>();
const KNOWN_MAX = 100;

/** Formats ISO 8601 UTC with milliseconds and Z; the fixed length makes texts compare in time order. */
export function toIso(at: Instant): string {
  const found = known.get(at);
  if (found !== undefined) return found;
  if (known.size >= KNOWN_MAX) known.clear();
  const text = new RealDate(at).toISOString();
  known.set(at, text);
  return text;
}

export const parseIso = (text: string): Instant => RealDate.parse(text);

/** Formats a date for HTTP headers (RFC 9110 5.6.7). */
export const httpDate = (at: Instant): string => new RealDate(at).toUTCString();

const DATE_TIME =
  /^(\d{4}-\d\d-(\d\d))(?:T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/;

/**
 * Whether a text is an unambiguous point in time (RFC 3339): a date, or a date and time with its zone. Date parses a
 * day outside its month as one of the next month, or as invalid.
 */
export function isDateTime(text: string): boolean {
  const [, date, day] = DATE_TIME.exec(text) ?? [];
  return date !== undefined && new RealDate(date).getUTCDate() === Number(day);
}

export const DURATION_UNITS = new Map(
  Object.entries({ ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }),
);

/**
 * Parses "250ms", "30s", "5m", "2h" or "1d" to ms, else returns undefined. A bare number is ambiguous: seconds or ms.
 */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit = ""] = /^(\d{1,12})([a-z]+)$/.exec(text) ?? [];
  const unit_ms = DURATION_UNITS.get(unit);
  return unit_ms === undefined ? undefined : Number(amount) * unit_ms;
}

/** Whole milliseconds, so that a time that is set is read back unchanged. */
const REAL = { system: systemNow, monotonic: () => Math.floor(monotonicNow()), after };

const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** How often a running clock checks whether the machine's clock was set, which Node's timers do not notice. */
const LOOK_MS = 1_000;
/** The running clock follows the machine's clock beyond this difference; rounding and short pauses stay below it. */
const TOLERANCE_MS = 250;

interface Entry {
  at: Instant;
  readonly what: string | null;
  readonly run: () => void | Promise<void>;
}

/** A clock that runs from the system's time, or stands still at `startAt` until it is advanced or resumed. */
export class AdjustableClock {
  #frozenAt: Instant | undefined;
  /** Current time during `advance`; freeze or set requests made meanwhile take effect when it ends. */
  #movedTo: Instant | undefined;
  /** Offset of the running clock from the monotonic one. */
  #ahead_ms = 0;
  /** Offset of the machine's clock from the monotonic one at the last synchronization. */
  #followed_ms = 0;
  readonly #setBack = new Set<(by_ms: number) => void>();
  /** Sorted by time, then by insertion. */
  #entries: Entry[] = [];
  #timer: Timer | undefined;

  constructor(
    private readonly startAt?: Instant,
    private readonly real = REAL,
  ) {
    this.rewind();
  }

  now(): Instant {
    return this.#movedTo ?? this.#frozenAt ?? this.#running();
  }

  /**
   * Calls `run` once `at` is reached, never synchronously. `what` names the entry in the result of `advance`, which
   * omits null: a check for work to do. `advance` awaits the promise of `run` before time moves on. An entry leaves
   * the list before it runs, and a timer for a cancelled entry finds nothing.
   */
  schedule(at: Instant, what: string | null, run: () => void | Promise<void>) {
    const entry = { at, what, run };
    const place = this.#entries.findLastIndex((other) => other.at <= at) + 1;
    this.#entries.splice(place, 0, entry);
    if (place === 0) this.#arm();
    const cancel = () => {
      const at = this.#entries.indexOf(entry);
      if (at >= 0) this.#entries.splice(at, 1);
    };
    return { cancel };
  }

  freeze(): void {
    this.#frozenAt ??= this.now();
    this.#arm();
  }

  resume(): void {
    const at = this.now();
    this.#frozenAt = undefined;
    this.set(at);
  }

  /** Returns to the initial state: a manual clock to its start, a running one to the system's time. */
  rewind(): void {
    this.#frozenAt = this.startAt;
    this.set(this.startAt ?? this.real.system());
  }

  /** Sets the time without running the entries in between. */
  set(at: Instant): void {
    if (this.#frozenAt === undefined) {
      this.#ahead_ms = at - this.real.monotonic();
      this.#followed_ms = this.#systemAhead();
    } else this.#frozenAt = at;
    this.#arm();
  }

  /**
   * Calls `listener` with the distance when the machine's clock is set back while this one runs. Returns a function
   * that unsubscribes. Scheduled entries have moved back by then. The listener moves times stored elsewhere, so that
   * a wait keeps its length.
   */
  onSetBack(listener: (by_ms: number) => void): () => void {
    this.#setBack.add(listener);
    return () => void this.#setBack.delete(listener);
  }

  /**
   * Advances time by `by_ms` and runs all due entries in time order, awaiting each and then `idle`. Entries scheduled
   * meanwhile within the span run too. A running clock continues from the new time.
   */
  async advance(by_ms: number, idle?: () => Promise<void>): Promise<FiredTimer[]> {
    const until = this.now() + by_ms;
    const ran: FiredTimer[] = [];
    this.#movedTo = this.now();
    this.#arm();
    for (let entry = this.#next(until); entry !== undefined; entry = this.#next(until)) {
      this.#movedTo = Math.max(this.now(), entry.at);
      if (entry.what !== null) ran.push({ at: toIso(this.now()), what: entry.what });
      await entry.run();
      await idle?.();
    }
    this.#movedTo = undefined;
    this.set(until);
    return ran;
  }

  /** Drops all timers, so that none keeps the process alive. */
  close(): void {
    this.#entries = [];
    this.#arm();
  }

  #next(until: Instant): Entry | undefined {
    const [first] = this.#entries;
    return first !== undefined && first.at <= until ? this.#entries.shift() : undefined;
  }

  #systemAhead(): number {
    return this.real.system() - this.real.monotonic();
  }

  #running(): Instant {
    const monotonic = this.real.monotonic();
    if (Math.abs(this.real.system() - monotonic - this.#followed_ms) <= TOLERANCE_MS)
      return monotonic + this.#ahead_ms;
    this.#follow();
    return this.real.monotonic() + this.#ahead_ms;
  }

  #follow(): void {
    // Read again, because the process may have paused between the two readings.
    const systemAhead_ms = this.#systemAhead();
    const step_ms = systemAhead_ms - this.#followed_ms;
    if (Math.abs(step_ms) <= TOLERANCE_MS) return;
    this.#followed_ms = systemAhead_ms;
    this.#ahead_ms += step_ms;
    if (step_ms < 0) {
      for (const entry of this.#entries) entry.at += step_ms;
      for (const listener of this.#setBack) listener(-step_ms);
    }
    this.#arm();
  }

  #arm(): void {
    this.#timer?.cancel();
    const [first] = this.#entries;
    if (first === undefined || (this.#movedTo ?? this.#frozenAt) !== undefined) return;
    const wait_ms = Math.min(Math.max(first.at - this.now(), 0), LOOK_MS);
    this.#timer = this.real.after(wait_ms, () => this.#fire());
  }

  /** Starts all due entries at once: thousands may be due together, and a timer takes at least 1 ms. */
  #fire(): void {
    const now = this.now();
    for (let entry = this.#next(now); entry !== undefined; entry = this.#next(now))
      void entry.run();
    this.#arm();
  }
}

/** Calls `run` after this much real time, regardless of the service clock: for waits on sockets and processes. */
export function after(by_ms: number, run: () => void): { cancel(): void } {
  const timer = startTimer(run, by_ms);
  return { cancel: () => stopTimer(timer) };
}

/** Like `after`, but the timer does not keep the process alive. */
export function afterUnlessEnded(by_ms: number, run: () => void): { cancel(): void } {
  const timer = startTimer(run, by_ms).unref();
  return { cancel: () => stopTimer(timer) };
}

/** Whether `happens` resolves within this much real time. The wait does not keep the process alive. */
export async function within(for_ms: number, happens: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<boolean>((resolve) => {
    timer = startTimer(resolve, Math.min(Math.ceil(for_ms), LONGEST_TIMER_MS), false).unref();
  });
  return Promise.race([happens.then(() => true), passed]).finally(() => stopTimer(timer));
}

/** Resolves in the next turn of the event loop, so that pending work runs first. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void startImmediate(resolve));
