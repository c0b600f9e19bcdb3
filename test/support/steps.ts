// Long work, done in one turn of the event loop or in the turns of others, and what is waited for until a test says so.
import type { Steps } from "../../src/kit/background.ts";

/** What it comes to. */
export function atOnce<T>(work: Steps<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

/** What it comes to, and how many turns of the event loop others had meanwhile. */
export async function withTurns<T>(work: () => Promise<T>): Promise<{ value: T; turns: number }> {
  let turns = 0;
  const count = () => {
    turns += 1;
    turn = setImmediate(count);
  };
  let turn = setImmediate(count);
  const value = await work().finally(() => clearImmediate(turn));
  return { value, turns };
}

/** A promise, and the way to keep it. */
export function promised<T = void>() {
  let keep: (value: T) => void = () => {};
  const kept = new Promise<T>((resolve) => {
    keep = resolve;
  });
  return { kept, keep };
}
