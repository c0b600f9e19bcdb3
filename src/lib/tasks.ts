// Background tasks: concurrent, or one after the other.
import { nextTurn } from "./clock.ts";

/** Tracks each task until it ends, so that a stop can wait for it. Failures are reported, never lost. */
export class TaskTracker {
  readonly #running = new Set<Promise<void>>();

  constructor(private readonly onError: (error: unknown, during: string) => void) {}

  run(what: string, work: () => Promise<void>): Promise<void> {
    const task = work()
      .catch((error: unknown) => this.onError(error, what))
      .finally(() => this.#running.delete(task));
    this.#running.add(task);
    return task;
  }

  /** Resolves when no task runs, including those that begin in this turn or meanwhile. */
  async idle(): Promise<void> {
    do await Promise.all([...this.#running, nextTurn()]);
    while (this.#running.size > 0);
  }
}

/** Serializes work that must not overlap: a unit of work, a reset, a jump of the clock. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` after all earlier calls. An error rejects only the promise of its caller. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work, work);
    this.#last = result;
    return result;
  }
}
