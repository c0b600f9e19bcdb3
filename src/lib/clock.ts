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

export interface Timer {
  cancel(): void;
}

/** Formats ISO 8601 UTC with milliseconds and Z; the fixed length makes texts compare in time order. */
export const toIso = (at: Instant): string => new RealDate(at).toISOString();

export const parseIso = (text: string): Instant => RealDate.parse(text);

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

export const DURATION_UNITS = new Map([
  ["ms", 1],
  ["s", 1_000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
]);

/**
 * Parses "250ms", "30s", "5m", "2h" or "1d" to ms, else returns undefined. A bare number is ambiguous: seconds or ms.
 */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit = ""] = /^(\d{1,12})([a-z]+)$/.exec(text) ?? [];
  const unit_ms = DURATION_UNITS.get(unit);
  return unit_ms === undefined ? undefined : Number(amount) * unit_ms;
}

/** Real time in whole milliseconds, so that a time that is set is read back unchanged. */
const MACHINE = { system: systemNow, monotonic: () => Math.floor(monotonicNow()), after };

const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** How often a running clock checks whether the machine's clock was set, which Node's timers do not notice. */
const CHECK_INTERVAL_MS = 1_000;
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
  #advancedTo: Instant | undefined;
  /** The running clock's time less the monotonic clock's. */
  #offset_ms = 0;
  /** The machine's time less the monotonic clock's when the running clock last followed it. */
  #machineOffset_ms = 0;
  readonly #setBackListeners = new Set<(by_ms: number) => void>();
  /** Sorted by time, then by insertion. */
  #entries: Entry[] = [];
  #timer: Timer | undefined;

  constructor(
    private readonly startAt?: Instant,
    private readonly machine = MACHINE,
  ) {
    this.rewind();
  }

  now(): Instant {
    return this.#advancedTo ?? this.#frozenAt ?? this.#runningTime();
  }

  /**
   * Calls `run` once `at` is reached, never synchronously. `what` names the entry in the result of `advance`, which
   * omits null: a check for work to do. `advance` awaits the promise of `run` before time moves on.
   */
  schedule(at: Instant, what: string | null, run: () => void | Promise<void>): Timer {
    const entry = { at, what, run };
    const index = this.#entries.findLastIndex((other) => other.at <= at) + 1;
    this.#entries.splice(index, 0, entry);
    if (index === 0) this.#startTimer();
    return {
      cancel: () => {
        this.#entries = this.#entries.filter((other) => other !== entry);
      },
    };
  }

  freeze(): void {
    this.#frozenAt ??= this.now();
    this.#startTimer();
  }

  resume(): void {
    const now = this.now();
    this.#frozenAt = undefined;
    this.set(now);
  }

  /** Returns to the initial state: a manual clock to its start, a running one to the system's time. */
  rewind(): void {
    this.#frozenAt = this.startAt;
    this.set(this.startAt ?? this.machine.system());
  }

  /** Sets the time without running the entries in between. */
  set(at: Instant): void {
    if (this.#frozenAt !== undefined) this.#frozenAt = at;
    else {
      this.#offset_ms = at - this.machine.monotonic();
      this.#machineOffset_ms = this.#readMachineOffset();
    }
    this.#startTimer();
  }

  /**
   * Calls `listener` with the distance when the machine's clock is set back while this one runs. Scheduled entries have
   * moved back by then; the listener moves times stored elsewhere, so that a wait keeps its length. Returns a function
   * that unsubscribes.
   */
  onSetBack(listener: (by_ms: number) => void): () => void {
    this.#setBackListeners.add(listener);
    return () => void this.#setBackListeners.delete(listener);
  }

  /**
   * Advances time by `by_ms` and runs all due entries in time order, awaiting each and then `idle`. Entries scheduled
   * meanwhile within the span run too. A running clock continues from the new time.
   */
  async advance(by_ms: number, idle?: () => Promise<void>): Promise<FiredTimer[]> {
    const until = this.now() + by_ms;
    const fired: FiredTimer[] = [];
    this.#advancedTo = this.now();
    this.#startTimer();
    for (let entry = this.#takeDue(until); entry !== undefined; entry = this.#takeDue(until)) {
      this.#advancedTo = Math.max(this.now(), entry.at);
      if (entry.what !== null) fired.push({ at: toIso(this.now()), what: entry.what });
      await entry.run();
      await idle?.();
    }
    this.#advancedTo = undefined;
    this.set(until);
    return fired;
  }

  /** Drops all timers, so that none keeps the process alive. */
  close(): void {
    this.#entries = [];
    this.#startTimer();
  }

  /** Removes and returns the first entry that is due. */
  #takeDue(until: Instant): Entry | undefined {
    const [first] = this.#entries;
    return first !== undefined && first.at <= until ? this.#entries.shift() : undefined;
  }

  #readMachineOffset(): number {
    return this.machine.system() - this.machine.monotonic();
  }

  #runningTime(): Instant {
    // The process may pause between two readings, so a difference counts only if a second look confirms it.
    if (this.#hasMachineMoved() && this.#hasMachineMoved()) this.#follow();
    return this.machine.monotonic() + this.#offset_ms;
  }

  #hasMachineMoved(): boolean {
    return Math.abs(this.#readMachineOffset() - this.#machineOffset_ms) > TOLERANCE_MS;
  }

  #follow(): void {
    const machineOffset_ms = this.#readMachineOffset();
    const step_ms = machineOffset_ms - this.#machineOffset_ms;
    this.#machineOffset_ms = machineOffset_ms;
    this.#offset_ms += step_ms;
    if (step_ms < 0) {
      for (const entry of this.#entries) entry.at += step_ms;
      for (const listener of this.#setBackListeners) listener(-step_ms);
    }
    this.#startTimer();
  }

  #startTimer(): void {
    this.#timer?.cancel();
    const [first] = this.#entries;
    const isStopped = this.#advancedTo !== undefined || this.#frozenAt !== undefined;
    if (first === undefined || isStopped) return;
    const wait_ms = Math.min(Math.max(first.at - this.now(), 0), CHECK_INTERVAL_MS);
    this.#timer = this.machine.after(wait_ms, () => this.#fire());
  }

  /** Starts all due entries at once: thousands may be due together, and a timer takes at least 1 ms. */
  #fire(): void {
    const now = this.now();
    for (let entry = this.#takeDue(now); entry !== undefined; entry = this.#takeDue(now))
      void entry.run();
    this.#startTimer();
  }
}

/** Calls `run` after this much real time, regardless of the service clock: for waits on sockets and processes. */
export function after(by_ms: number, run: () => void): Timer {
  const timer = startTimer(run, by_ms);
  return { cancel: () => stopTimer(timer) };
}

/** Like `after`, but the timer does not keep the process alive. */
export function afterUnlessEnded(by_ms: number, run: () => void): Timer {
  const timer = startTimer(run, by_ms).unref();
  return { cancel: () => stopTimer(timer) };
}

/** Whether `promise` resolves within this much real time. The wait does not keep the process alive. */
export async function within(for_ms: number, promise: Promise<unknown>): Promise<boolean> {
  let timer: Timer | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    const wait_ms = Math.min(Math.ceil(for_ms), LONGEST_TIMER_MS);
    timer = afterUnlessEnded(wait_ms, () => resolve(false));
  });
  return Promise.race([promise.then(() => true), timeout]).finally(() => timer?.cancel());
}

/** Resolves in the next turn of the event loop, so that pending work runs first. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void startImmediate(resolve));
