// The one clock: timestamps, expiry, rate windows and retries all read it, and it alone starts timers for them. While it
// runs it follows the monotonic clock, from the system's time at its start on: a system clock that is set back or
// forward later, or a machine that slept, is not followed. It can be frozen, advanced and let run again, so that a test
// never sleeps. Sockets keep real time: their deadlines belong to the sender and the listener, not to this file.

/** Milliseconds since 1970, UTC. */
export type Instant = number;

export type Ran = { readonly at: string; readonly what: string };

/** The clock as everything sees it that does not move it. */
export type Clock = Pick<AdjustableClock, "now" | "schedule">;

export type Scheduled = ReturnType<Clock["schedule"]>;

/** A busy server asks for each millisecond many times. */
const known = new Map<Instant, string>();
const KNOWN_MAX = 100;

/** ISO 8601 UTC with milliseconds, ending in Z: all have one length and compare as text in the order of time. */
export function iso(at: Instant): string {
  const found = known.get(at);
  if (found !== undefined) return found;
  if (known.size >= KNOWN_MAX) known.clear();
  const text = new Date(at).toISOString();
  known.set(at, text);
  return text;
}

export const instant = (text: string): Instant => Date.parse(text);

const DATE_TIME =
  /^(\d{4}-\d\d-(\d\d))(?:T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/;

/**
 * Whether a text is a point in time that needs no guessing (RFC 3339): a date, or a date and time with its zone. A day
 * that its month does not have is read as one of the next month, or as none.
 */
export function isDateTime(text: string): boolean {
  const [, date, day] = DATE_TIME.exec(text) ?? [];
  return date !== undefined && new Date(date).getUTCDate() === Number(day);
}

export const UNITS = new Map(Object.entries({ ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }));

/** "250ms", "30s", "5m", "2h", "1d" in ms; undefined for all else: a bare number would be seconds to some, ms to others. */
export function duration(text: string): number | undefined {
  const [, amount, unit = ""] = /^(\d{1,12})([a-z]+)$/.exec(text) ?? [];
  const unit_ms = UNITS.get(unit);
  return unit_ms === undefined ? undefined : Number(amount) * unit_ms;
}

/** In whole milliseconds, so that a time that is set is the one that is read. */
const REAL = { system: Date.now, monotonic: () => Math.floor(performance.now()) };

/** The machine's time, whatever the service's clock says. */
export const systemNow: () => Instant = Date.now;

const LONGEST_TIMER_MS = 2 ** 31 - 1;

interface Entry {
  readonly at: Instant;
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
  /** In the order of their time, and those of one time in the order in which they came. */
  #entries: Entry[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly startAt?: Instant,
    private readonly real = REAL,
  ) {
    this.rewind();
  }

  now(): Instant {
    return this.#movedTo ?? this.#frozenAt ?? this.real.monotonic() + this.#ahead_ms;
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
    if (this.#frozenAt === undefined) this.#ahead_ms = at - this.real.monotonic();
    else this.#frozenAt = at;
    this.#arm();
  }

  /**
   * Moves time on by `by_ms` and runs everything that falls due, in time order, each awaited before the next with all that
   * follows (`idle`); what those schedule within the span runs too. A running clock runs on from the new time.
   */
  async advance(by_ms: number, idle?: () => Promise<void>): Promise<Ran[]> {
    const until = this.now() + by_ms;
    const ran: Ran[] = [];
    this.#movedTo = this.now();
    this.#arm();
    for (let entry = this.#next(until); entry !== undefined; entry = this.#next(until)) {
      this.#movedTo = Math.max(this.now(), entry.at);
      if (entry.what !== null) ran.push({ at: iso(this.now()), what: entry.what });
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

  #arm(): void {
    clearTimeout(this.#timer);
    const [first] = this.#entries;
    if (first === undefined || (this.#movedTo ?? this.#frozenAt) !== undefined) return;
    const wait_ms = Math.min(Math.max(first.at - this.now(), 0), LONGEST_TIMER_MS);
    this.#timer = setTimeout(() => this.#fire(), wait_ms);
  }

  /** Begins all that is due: thousands may be due at one time, and a timer takes a millisecond at least. */
  #fire(): void {
    const now = this.now();
    for (let entry = this.#next(now); entry !== undefined; entry = this.#next(now)) void entry.run();
    this.#arm();
  }
}

/** Calls `run` after so much real time, whatever the service's clock does: for waits on sockets and processes. */
export function after(by_ms: number, run: () => void): Scheduled {
  const timer = setTimeout(run, by_ms);
  return { cancel: () => clearTimeout(timer) };
}

/** As `after`, but the process may end before: this timer alone does not keep it alive. */
export function afterUnlessEnded(by_ms: number, run: () => void): Scheduled {
  const timer = setTimeout(run, by_ms).unref();
  return { cancel: () => clearTimeout(timer) };
}

/** Aborted after so much real time: at once where none is left, and no later than a timer can be. */
export const patience = (for_ms: number): AbortSignal =>
  AbortSignal.timeout(Math.min(Math.max(Math.ceil(for_ms), 0), LONGEST_TIMER_MS));
