// One thing after another: what changes everything at once (a reset, a jump of the clock) must not run beside another
// such thing. What fails is its caller's to hear of; the next turn comes all the same.

export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` after everything that was asked for before. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => undefined);
    return mine;
  }
}
