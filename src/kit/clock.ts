// The one clock: timestamps, expiry, rate windows and retries all read it, and it alone starts timers for them. While it
// runs it follows the monotonic clock, from the system's time at its start on: a system clock that is set back or
// forward later, or a machine that slept, is not followed. It can be frozen, advanced and let run again, so that a test
// never sleeps. Sockets keep real time: their deadlines belong to the sender and the listener, not to this file.

import { decide } from "./decisions.ts";

/** Milliseconds since 1970, UTC. */
export type Instant = number;

export interface Ran {
  readonly at: string;
  readonly what: string;
}

export interface Clock {
  now(): Instant;
  /**
   * Calls `run` once `at` is reached, never inside the call itself. `what` names it in the answer of `advance`, which passes over
   * what is called null: a look whether there is anything to do.
   * The promise that `run` answers is awaited by `advance` before time moves on.
   */
  schedule(at: Instant, what: string | null, run: () => void | Promise<void>): Scheduled;
}

export interface Scheduled {
  cancel(): void;
}

const TIMESTAMP = decide("2.timestamps", "toISOString", {
  open: "how exact a timestamp is, and which of the forms of ISO 8601 it has",
  why: "always milliseconds and Z: all have one length and compare as text in the order of time",
});

/** ISO 8601 UTC with milliseconds, ending in Z: the one form of a timestamp on the wire and in the store. */
export const iso = (at: Instant): string => new Date(at)[TIMESTAMP]();

export const instant = (text: string): Instant => Date.parse(text);

const UNITS = new Map(
  Object.entries(
    decide(
      "1.durations",
      { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 },
      {
        open: "how a flag or a test says how long something is",
        why: "a whole number and its unit: a bare number would be taken for seconds by some and milliseconds by others",
      },
    ),
  ),
);

/**
 * "250ms", "30s", "5m", "2h", "1d" in milliseconds; undefined for anything else. A bare number is refused: some would
 * take it for seconds and others for milliseconds.
 */
export function duration(text: string): number | undefined {
  const [, amount, unit = ""] = /^(\d{1,12})([a-z]+)$/.exec(text) ?? [];
  const unit_ms = UNITS.get(unit);
  return unit_ms === undefined ? undefined : Number(amount) * unit_ms;
}

/** Real time that passes, in milliseconds from any moment. */
export const realTime = (): number => performance.now();

/** In whole milliseconds, so that times that are set and read again are the same. */
const monotonicTime = (): number => Math.floor(realTime());

interface Entry {
  readonly at: Instant;
  readonly order: number;
  readonly what: string | null;
  readonly run: () => void | Promise<void>;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A clock that runs from the system's time on, or stands still at `startAt` until it is advanced or resumed. */
export class AdjustableClock implements Clock {
  readonly #startAt: Instant | undefined;
  readonly #system: () => Instant;
  readonly #monotonic: () => number;
  #frozenAt: Instant | undefined;
  /** How far the running clock is ahead of the monotonic one. */
  #ahead_ms = 0;
  /** In the order of their time, and those of one time in the order in which they came. */
  #entries: Entry[] = [];
  #scheduled = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(startAt?: Instant, system: () => Instant = Date.now, monotonic: () => number = monotonicTime) {
    this.#startAt = startAt;
    this.#system = system;
    this.#monotonic = monotonic;
    this.rewind();
  }

  now(): Instant {
    return this.#frozenAt ?? this.#monotonic() + this.#ahead_ms;
  }

  schedule(at: Instant, what: string | null, run: () => void | Promise<void>): Scheduled {
    const entry = { at, order: this.#scheduled++, what, run };
    const place = this.#placeOf(entry);
    this.#entries.splice(place, 0, entry);
    if (place === 0) this.#arm();
    return { cancel: () => this.#drop(entry) };
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
    this.#frozenAt = this.#startAt;
    this.set(this.#startAt ?? this.#system());
  }

  /** Sets the time without running what lies between. */
  set(at: Instant): void {
    if (this.#frozenAt === undefined) this.#ahead_ms = at - this.#monotonic();
    else this.#frozenAt = at;
    this.#arm();
  }

  /**
   * Moves time on by `by_ms` and runs everything that falls due, in time order, each awaited before the next; what
   * those schedule within the span runs too. A running clock runs on from the new time.
   */
  async advance(by_ms: number): Promise<Ran[]> {
    const wasRunning = this.#frozenAt === undefined;
    const until = this.now() + by_ms;
    const ran: Ran[] = [];
    this.freeze();
    for (let entry = this.#next(until); entry !== undefined; entry = this.#next(until)) {
      this.#frozenAt = Math.max(this.now(), entry.at);
      if (entry.what !== null) ran.push({ at: iso(this.now()), what: entry.what });
      await entry.run();
    }
    this.#frozenAt = Math.max(this.now(), until);
    if (wasRunning) this.resume();
    return ran;
  }

  /** Forgets all timers; none may keep the process alive afterwards. */
  close(): void {
    this.#entries = [];
    clearTimeout(this.#timer);
  }

  #next(until: Instant): Entry | undefined {
    const [first] = this.#entries;
    return first !== undefined && first.at <= until ? this.#entries.shift() : undefined;
  }

  /** Where the entry stands, or is to stand. */
  #placeOf({ at, order }: Entry): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#entries[middle];
      if (other && (other.at < at || (other.at === at && other.order < order))) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #drop(entry: Entry): void {
    const place = this.#placeOf(entry);
    if (this.#entries[place] !== entry) return; // it has run, or is cancelled already
    this.#entries.splice(place, 1);
    if (place === 0) this.#arm();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const [first] = this.#entries;
    if (first === undefined || this.#frozenAt !== undefined) return;
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

/** A moment in real time, whatever the service's clock does: for waits on sockets. */
export function realDeadline(after_ms: number) {
  let over = false;
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(after_ms, LONGEST_TIMER_MS));
  }).then(() => {
    over = true;
  });
  return {
    passed,
    get over() {
      return over;
    },
    cancel: () => clearTimeout(timer),
  };
}
