// Work that goes on behind the answers: beside them, or one piece after the other; and work too long for one turn of the
// event loop, in which everybody else would wait for it.
import { nextTurn } from "./clock.ts";

/** Each piece is known until it ends, so that a stop can wait for it, and what fails is reported, never lost. */
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

  /** Resolves when nothing runs any more, what begins in this turn or was started meanwhile included. */
  async idle(): Promise<void> {
    do await Promise.all([...this.#running, nextTurn()]);
    while (this.busy);
  }
}

/** For work that must not run beside other such work: a unit of work, a reset, a jump of the clock. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` after everything that was asked for before. What fails is its caller's to hear of. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#last.then(work, work);
    this.#last = run;
    return run;
  }
}

/** Long work, which yields after each step that is short enough for others to wait for. */
export type Chunked<T> = Generator<undefined, T>;

const steps = new Mutex();

/** Does it with a turn of the event loop for others before each step, and all such works take a step by turns. */
export async function runCooperatively<T>(work: Chunked<T>): Promise<T> {
  for (;;) {
    // The step comes behind the turn: the last turn is kept, and all that was made would be with it.
    await steps.run(nextTurn);
    const step = work.next();
    if (step.done) return step.value;
  }
}
