// Things that are due later, each once, in the order of their time, and the one timer of the clock that stands for the
// earliest of them.
import type { Clock, Instant, Scheduled } from "../kit/clock.ts";

interface Entry<T> {
  readonly at: Instant;
  readonly order: number;
  readonly item: T;
}

export class DueList<T> {
  readonly #clock: Clock;
  readonly #what: string;
  readonly #onDue: (items: readonly T[]) => Promise<void>;
  /** Latest first, so that the earliest is taken from the end. */
  readonly #entries: Entry<T>[] = [];
  readonly #byItem = new Map<T, Entry<T>>();
  #added = 0;
  #timer: { readonly at: Instant; readonly scheduled: Scheduled } | undefined;

  /** `onDue` gets what has come due; the clock waits for its promise before it moves on. */
  constructor(clock: Clock, what: string, onDue: (items: readonly T[]) => Promise<void>) {
    this.#clock = clock;
    this.#what = what;
    this.#onDue = onDue;
  }

  /** The item is due at that time and no other. */
  set(item: T, at: Instant): void {
    if (this.#byItem.get(item)?.at === at) return;
    this.delete(item);
    const entry = { at, order: this.#added++, item };
    this.#byItem.set(item, entry);
    this.#entries.splice(this.#placeOf(entry), 0, entry);
    this.#arm();
  }

  delete(item: T): void {
    const entry = this.#byItem.get(item);
    if (!entry) return;
    this.#byItem.delete(item);
    this.#entries.splice(this.#placeOf(entry), 1);
  }

  close(): void {
    this.#timer?.scheduled.cancel();
    this.#entries.length = 0;
    this.#byItem.clear();
  }

  /** The position of the first entry that is not later than this one: its own, where it is in the list. */
  #placeOf({ at, order }: Entry<T>): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#entries[middle];
      if (other && (other.at > at || (other.at === at && other.order > order))) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #arm(): void {
    const at = this.#entries.at(-1)?.at;
    if (at === undefined || (this.#timer && this.#timer.at <= at)) return;
    this.#timer?.scheduled.cancel();
    this.#timer = { at, scheduled: this.#clock.schedule(at, this.#what, () => this.#fire()) };
  }

  #fire(): Promise<void> {
    this.#timer = undefined;
    const now = this.#clock.now();
    const due: T[] = [];
    for (let last = this.#entries.at(-1); last !== undefined && last.at <= now; last = this.#entries.at(-1)) {
      this.delete(last.item);
      due.push(last.item);
    }
    this.#arm();
    return this.#onDue(due);
  }
}
