// The one clock: timestamps, expiry, rate windows and retries all read it, and it alone starts timers for them. While it
// runs it follows the machine's clock, also where that is set forward or back or the machine slept. It can be frozen,
// advanced and resumed, so that a test never sleeps. Sockets keep real time: `after` and `within` are for them. This file
// takes Node's timers and the real time once, when it is loaded, so that a test runner that fakes them later changes nothing.
import { performance } from "node:perf_hooks";
import * as timers from "node:timers";

const { setTimeout: startTimer, clearTimeout: stopTimer, setImmediate: startImmediate } = timers;
const RealDate = Date;
const realMonotonic = performance.now.bind(performance);

/** Milliseconds since 1970, UTC. */
export type Instant = number;

/** The machine's time, whatever the service's clock shows and whatever a test runner fakes. */
export const systemNow: () => Instant = RealDate.now;

/** Milliseconds of a clock that is never set: for durations in real time. */
export const monotonicNow = (): number => realMonotonic();

export type FiredTimer = { readonly at: string; readonly what: string };

/** The clock as everything sees it that does not move it. */
export type Clock = Pick<AdjustableClock, "now" | "schedule" | "onSetBack">;

export type Timer = ReturnType<Clock["schedule"]>;

/** A busy server asks for each millisecond many times. */
const known = new Map<Instant, string>();
const KNOWN_MAX = 100;

/** ISO 8601 UTC with milliseconds, ending in Z: all have one length and compare as text in the order of time. */
export function toIso(at: Instant): string {
  const found = known.get(at);
  if (found !== undefined) return found;
  if (known.size >= KNOWN_MAX) known.clear();
  const text = new RealDate(at).toISOString();
  known.set(at, text);
  return text;
}

export const parseIso = (text: string): Instant => RealDate.parse(text);

/** The form of HTTP headers (RFC 9110 5.6.7). */
export const httpDate = (at: Instant): string => new RealDate(at).toUTCString();

const DATE_TIME =
  /^(\d{4}-\d\d-(\d\d))(?:T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/;

/**
 * Whether a text is a point in time that needs no guessing (RFC 3339): a date, or a date and time with its zone. A day
 * that its month does not have is read as one of the next month, or as none.
 */
export function isDateTime(text: string): boolean {
  const [, date, day] = DATE_TIME.exec(text) ?? [];
  return date !== undefined && new RealDate(date).getUTCDate() === Number(day);
}

export const DURATION_UNITS = new Map(
  Object.entries({ ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }),
);

/** "250ms", "30s", "5m", "2h", "1d" in ms; undefined for all else: a bare number would be seconds to some, ms to others. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit = ""] = /^(\d{1,12})([a-z]+)$/.exec(text) ?? [];
  const unit_ms = DURATION_UNITS.get(unit);
  return unit_ms === undefined ? undefined : Number(amount) * unit_ms;
}

/** In whole milliseconds, so that a time that is set is the one that is read. */
const REAL = { system: systemNow, monotonic: () => Math.floor(monotonicNow()), after };

const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** How often a running clock looks whether the machine's clock was set: a timer of Node's does not notice. */
const LOOK_MS = 1_000;
/** The running clock follows the machine's when they differ by more: rounding and short pauses are no correction. */
const TOLERANCE_MS = 250;

interface Entry {
  at: Instant;
  readonly what: string | null;
  readonly run: () => void | Promise<void>;
}

/** A clock that runs from the system's time on, or stands still at `startAt` until it is advanced or resumed. */
export class AdjustableClock {
  #frozenAt: Instant | undefined;
  /** Where an advance has come to; what is asked of the clock meanwhile holds from its end on. */
  #movedTo: Instant | undefined;
  /** How far the running clock is ahead of the monotonic one. */
  #ahead_ms = 0;
  /** How far the machine's clock was ahead of the monotonic one when this clock last followed it. */
  #followed_ms = 0;
  readonly #setBack = new Set<(by_ms: number) => void>();
  /** In the order of their time, and those of one time in the order in which they came. */
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
   * Calls `run` once `at` is reached, never inside the call itself. `what` names it in the answer of `advance`, which
   * passes over what is called null: a look whether there is anything to do. The promise that `run` answers is awaited
   * by `advance` before time moves on. What has run is in the list no more, and a timer for what is cancelled finds nothing.
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

  /** Back to where the clock stood when it was made: a manual one to its start, a running one to the system's time. */
  rewind(): void {
    this.#frozenAt = this.startAt;
    this.set(this.startAt ?? this.real.system());
  }

  /** Sets the time without running what lies between. */
  set(at: Instant): void {
    if (this.#frozenAt === undefined) {
      this.#ahead_ms = at - this.real.monotonic();
      this.#followed_ms = this.#systemAhead();
    } else this.#frozenAt = at;
    this.#arm();
  }

  /**
   * Calls `listener` when the machine's clock was set back while this one runs, with how far, until the returned function
   * is called. What is scheduled here has moved back by then; who keeps a time elsewhere moves it, so that a wait keeps its
   * length.
   */
  onSetBack(listener: (by_ms: number) => void): () => void {
    this.#setBack.add(listener);
    return () => void this.#setBack.delete(listener);
  }

  /**
   * Moves time on by `by_ms` and runs everything that falls due, in time order, each awaited before the next with all that
   * follows (`idle`); what those schedule within the span runs too. A running clock runs on from the new time.
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

  /** Forgets all timers; none may keep the process alive afterwards. */
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
    // Read again: the process may have stood still between the two readings.
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

  /** Begins all that is due: thousands may be due at one time, and a timer takes a millisecond at least. */
  #fire(): void {
    const now = this.now();
    for (let entry = this.#next(now); entry !== undefined; entry = this.#next(now))
      void entry.run();
    this.#arm();
  }
}

/** Calls `run` after so much real time, whatever the service's clock does: for waits on sockets and processes. */
export function after(by_ms: number, run: () => void): { cancel(): void } {
  const timer = startTimer(run, by_ms);
  return { cancel: () => stopTimer(timer) };
}

/** As `after`, but the process may end before: this timer alone does not keep it alive. */
export function afterUnlessEnded(by_ms: number, run: () => void): { cancel(): void } {
  const timer = startTimer(run, by_ms).unref();
  return { cancel: () => stopTimer(timer) };
}

/** Whether `happens` resolves within so much real time. The wait does not keep the process alive. */
export async function within(for_ms: number, happens: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<boolean>((resolve) => {
    timer = startTimer(resolve, Math.min(Math.ceil(for_ms), LONGEST_TIMER_MS), false).unref();
  });
  return Promise.race([happens.then(() => true), passed]).finally(() => stopTimer(timer));
}

/** Resolves in the next turn of the event loop, so that others have their turn before. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void startImmediate(resolve));
