// One thing after another. What is run in a turn may wait only for what answers at once: it is over when the turn of the
// event loop is, and one that still runs then waits for something else, maybe for its own turn to end. It is given up.

/** What came of a piece of work. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown };

const GIVEN_UP =
  "A unit of work may only await its own transaction; this one waited for something else (the store from outside, a timer, a request), so it was given up and nothing of it is kept";

export class Turns {
  isFree = true;
  readonly #waiting: (() => void)[] = [];
  #isWatching = false;
  /** Ends what is run. */
  #end: ((outcome: { readonly error: unknown }) => void) | undefined;

  /** A turn that takes as long as it takes. */
  take<T>(task: () => Promise<T>): Promise<T> {
    return new Promise((resolve) => {
      this.#enter(() => resolve(task().finally(() => this.#leave())));
    });
  }

  /** `end` is called with what came of the work before anything else is, and has the last word on it. */
  run<T>(work: () => Promise<T>, end: (outcome: Outcome<T>) => Outcome<T>): Promise<Outcome<T>> {
    return new Promise((resolve) => {
      const over = (outcome: Outcome<T>) => {
        if (this.#end !== over) return;
        this.#end = undefined;
        resolve(end(outcome));
        this.#leave();
      };
      this.#enter(() => {
        this.#end = over;
        this.#watch();
        new Promise<T>((begin) => begin(work())).then(
          (value) => over({ value }),
          (error) => over({ error }),
        );
      });
    });
  }

  /** Gives up what is run, if anything is. */
  giveUp(): void {
    this.#end?.({ error: new Error(GIVEN_UP) });
  }

  #enter(begin: () => void): void {
    const isFirst = this.isFree;
    this.isFree = false;
    if (isFirst) begin();
    else this.#waiting.push(begin);
  }

  /** The next one begins in a moment, when whoever has left has put everything in order. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.isFree = true;
    else Promise.resolve().then(next);
  }

  #watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    setImmediate(() => {
      this.#isWatching = false;
      this.giveUp();
    });
  }
}
