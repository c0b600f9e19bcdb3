// Tracks background tasks, and runs tasks that must not overlap one after the other.
import { nextTurn } from "./clock.ts";

/** Tracks each task until it ends, so that a stop can wait for it. */
export class TaskTracker {
  readonly #running = new Set<Promise<unknown>>();

  constructor(private readonly onError: (error: unknown, during: string) => void) {}

  /** Runs `work` and reports its failure. */
  run(what: string, work: () => Promise<void>): Promise<void> {
    return this.track(work().catch((error: unknown) => this.onError(error, what)));
  }

  /** Tracks a task whose caller handles its failure. */
  track<T>(task: Promise<T>): Promise<T> {
    const untrack = () => this.#running.delete(task);
    this.#running.add(task);
    task.then(untrack, untrack);
    return task;
  }

  /** Resolves when no task runs, including those that begin in this turn or meanwhile. */
  async idle(): Promise<void> {
    do await Promise.allSettled([...this.#running, nextTurn()]);
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
