// The one clock: timestamps, expiry, rate windows and retries all read it, and it alone starts timers for them.
// It can be frozen, advanced and let run again, so that a test never sleeps. Sockets keep real time: their deadlines
// belong to the sender and the listener, not to this file.

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

/** ISO 8601 UTC with milliseconds, ending in Z: the one form of a timestamp on the wire and in the store. */
export function iso(at: Instant): string {
  if (at !== last.at) last = { at, text: new Date(at)[TIMESTAMP]() };
  return last.text;
}

const TIMESTAMP = decide("2.timestamps", "toISOString", {
  open: "how exact a timestamp is, and which of the forms of ISO 8601 it has",
  why: "always milliseconds and Z: all have one length and compare as text in the order of time",
});

/** A busy server does much within one millisecond, and writing a time costs it half a microsecond. */
let last = { at: 0, text: new Date(0)[TIMESTAMP]() };

export const instant = (text: string): Instant => Date.parse(text);

const UNITS = decide(
  "1.durations",
  { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 },
  {
    open: "how a flag or a test says how long something is",
    why: "a whole number and its unit: a bare number would be taken for seconds by some and milliseconds by others",
  },
);

/** "250ms", "30s", "5m", "2h", "1d" in milliseconds; undefined for anything else. */
export function duration(text: string): number | undefined {
  const [, amount, unit] = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text) ?? [];
  if (unit !== "ms" && unit !== "s" && unit !== "m" && unit !== "h" && unit !== "d") return undefined;
  return Number(amount) * UNITS[unit];
}

interface Entry extends Scheduled {
  readonly at: Instant;
  readonly order: number;
  readonly what: string | null;
  readonly run: () => void | Promise<void>;
  cancelled: boolean;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A clock that follows the system's, or stands still at `startAt` until it is advanced or resumed. */
export class AdjustableClock implements Clock {
  readonly #startAt: Instant | undefined;
  #frozenAt: Instant | undefined;
  #offset_ms = 0;
  #entries: Entry[] = [];
  #scheduled = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(startAt?: Instant) {
    this.#startAt = startAt;
    this.#frozenAt = startAt;
  }

  now(): Instant {
    return this.#frozenAt ?? Date.now() + this.#offset_ms;
  }

  schedule(at: Instant, what: string | null, run: () => void | Promise<void>): Scheduled {
    const entry: Entry = { at, order: this.#scheduled++, what, run, cancelled: false, cancel: () => this.#drop(entry) };
    this.#insert(entry);
    if (this.#entries[0] === entry) this.#arm();
    return entry;
  }

  freeze(): void {
    this.#frozenAt ??= this.now();
    this.#arm();
  }

  resume(): void {
    if (this.#frozenAt === undefined) return;
    this.#offset_ms = this.#frozenAt - Date.now();
    this.#frozenAt = undefined;
    this.#arm();
  }

  /** Back to where the clock stood when it was made: a manual one to its start, a running one to the system's time. */
  rewind(): void {
    this.#frozenAt = this.#startAt;
    this.#offset_ms = 0;
    this.#arm();
  }

  /** Sets the time without running what lies between. */
  set(at: Instant): void {
    if (this.#frozenAt === undefined) this.#offset_ms = at - Date.now();
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
    const [entry] = this.#entries;
    if (entry === undefined || entry.at > until) return undefined;
    this.#entries.shift();
    return entry;
  }

  #insert(entry: Entry): void {
    let at = this.#entries.length;
    while (at > 0 && (this.#entries[at - 1]?.at ?? 0) > entry.at) at -= 1;
    this.#entries.splice(at, 0, entry);
  }

  #drop(entry: Entry): void {
    if (entry.cancelled) return;
    entry.cancelled = true;
    const at = this.#entries.indexOf(entry);
    if (at >= 0) this.#entries.splice(at, 1);
    if (at === 0) this.#arm();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const [first] = this.#entries;
    if (first === undefined || this.#frozenAt !== undefined) return;
    const wait_ms = Math.min(Math.max(first.at - this.now(), 0), LONGEST_TIMER_MS);
    this.#timer = setTimeout(() => this.#fire(), wait_ms);
  }

  #fire(): void {
    const entry = this.#next(this.now());
    this.#arm();
    void entry?.run();
  }
}

/** Real time that passes, in milliseconds from any moment: `performance` says the same, and loads for 0.4 ms at its first use. */
export function realTime(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
}

export interface Deadline {
  readonly over: boolean;
  readonly passed: Promise<void>;
  cancel(): void;
}

/** A moment in real time, whatever the service's clock does: for waits on sockets. */
export function realDeadline(after_ms: number): Deadline {
  let over = false;
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<void>((resolve) => {
    timer = setTimeout(
      () => {
        over = true;
        resolve();
      },
      Math.min(after_ms, LONGEST_TIMER_MS),
    );
  });
  return {
    get over() {
      return over;
    },
    passed,
    cancel: () => clearTimeout(timer),
  };
}
