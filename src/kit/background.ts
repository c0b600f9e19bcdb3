// Work that goes on behind the answers: beside them, or one piece after the other.

/** Each piece is known until it ends, so that a stop can wait for it, and what fails is reported, never lost. */
export class Background {
  readonly #onError: (error: unknown, during: string) => void;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(onError: (error: unknown, during: string) => void) {
    this.#onError = onError;
  }

  async run(what: string, work: () => Promise<void>): Promise<void> {
    this.#running += 1;
    try {
      await work();
    } catch (error) {
      this.#onError(error, what);
    }
    this.#running -= 1;
    if (!this.busy) for (const resolve of this.#waiting.splice(0)) resolve();
  }

  get busy(): boolean {
    return this.#running > 0;
  }

  /** Resolves when nothing runs any more, what was started meanwhile included. */
  async idle(): Promise<void> {
    while (this.busy) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

/** For what changes everything at once, a reset or a jump of the clock: it must not run beside another such thing. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` after everything that was asked for before. What fails is its caller's to hear of. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => undefined);
    return mine;
  }
}
