// Background tasks: concurrent, or one after the other; and long work split into steps, so that it does not block the
// event loop.
import { nextTurn } from "./clock.ts";

/** Tracks each task until it ends, so that a stop can wait for it. Failures are reported, never lost. */
export class TaskTracker {
  readonly #running = new Set<Promise<void>>();

  constructor(private readonly onError: (error: unknown, during: string) => void) {}

  run(what: string, work: () => Promise<void>): Promise<void> {
    const running = work()
      .catch((error: unknown) => this.onError(error, what))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }

  get busy(): boolean {
    return this.#running.size > 0;
  }

  /** Resolves when no task runs, including those that begin in this turn or meanwhile. */
  async idle(): Promise<void> {
    do await Promise.all([...this.#running, nextTurn()]);
    while (this.busy);
  }
}

/** Serializes work that must not overlap: a unit of work, a reset, a jump of the clock. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` after all earlier calls. An error rejects only the promise of its caller. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#last.then(work, work);
    this.#last = run;
    return run;
  }
}

/** Long work that yields after each step; a step is short enough for others to wait. */
export type Chunked<T> = Generator<undefined, T>;

const steps = new Mutex();

/** Yields to the event loop before each step; concurrent calls take turns step by step. */
export async function runCooperatively<T>(work: Chunked<T>): Promise<T> {
  for (;;) {
    // Run the step outside the mutex, which retains its last result and everything created with it.
    await steps.run(nextTurn);
    const step = work.next();
    if (step.done) return step.value;
  }
}
