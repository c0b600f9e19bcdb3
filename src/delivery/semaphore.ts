// A limit on concurrent calls.

/** Runs at most a fixed number of calls at a time; the others wait in order. */
export class Semaphore {
  readonly #waiting: (() => void)[] = [];

  constructor(private free: number) {}

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.free += 1;
    }
  }
}
