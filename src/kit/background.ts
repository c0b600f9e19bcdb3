// Work that goes on behind the answers: beside them, or one piece after the other.

/** Each piece is known until it ends, so that a stop can wait for it, and what fails is reported, never lost. */
export class Background {
  readonly #running = new Set<Promise<void>>();
  readonly #onError: (error: unknown, during: string) => void;

  constructor(onError: (error: unknown, during: string) => void) {
    this.#onError = onError;
  }

  run(what: string, work: () => Promise<void>): Promise<void> {
    const running = work()
      .catch((error: unknown) => this.#onError(error, what))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }

  get busy(): boolean {
    return this.#running.size > 0;
  }

  /** Resolves when nothing runs any more, what was started meanwhile included. */
  async idle(): Promise<void> {
    while (this.busy) await Promise.all(this.#running);
  }
}

/** For work that must not run beside other such work: a unit of work, a reset, a jump of the clock. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #isTaken = false;

  /** Runs `work` after everything that was asked for before. What fails is its caller's to hear of. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isTaken) await new Promise<void>((begin) => this.#waiting.push(begin));
    this.#isTaken = true;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#isTaken = false;
    }
  }
}
