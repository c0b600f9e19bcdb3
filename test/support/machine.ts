// A machine whose two clocks and timers are moved by hand, and the service clock that runs on it.
import { AdjustableClock } from "../../src/lib/clock.ts";

export const START = Date.UTC(2026, 0, 1);
export const HOUR_MS = 3_600_000;

export function createMachine() {
  const time = { system: START, monotonic: 5_000 };
  const timers = new Set<{ at: number; run: () => void }>();
  const after = (by_ms: number, run: () => void) => {
    const timer = { at: time.monotonic + Math.max(by_ms, 1), run };
    timers.add(timer);
    return { cancel: () => void timers.delete(timer) };
  };
  /** Passes time and runs each due timer at its time. */
  const pass = (by_ms: number) => {
    const until = time.monotonic + by_ms;
    for (;;) {
      const due = [...timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
      const passed_ms = (due[0]?.at ?? until) - time.monotonic;
      time.monotonic += passed_ms;
      time.system += passed_ms;
      if (due[0] === undefined) return;
      timers.delete(due[0]);
      due[0].run();
    }
  };
  /** Sets the machine's clock forward or back. */
  const step = (by_ms: number) => {
    time.system += by_ms;
  };
  const clock = new AdjustableClock(undefined, {
    system: () => time.system,
    monotonic: () => time.monotonic,
    after,
  });
  return { clock, time, timers, pass, step };
}
