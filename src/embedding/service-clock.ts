// The clock in the hands of a test (contract, part 10). The service itself reads the clock behind it, and cannot tell
// whether time passed or was moved.
import { type AdjustableClock, duration, type Instant, type Ran } from "../kit/clock.ts";
import { OptionError } from "../options.ts";

/** The last moment whose ISO 8601 form has a year of four digits. */
const LAST: Instant = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export class ServiceClock {
  readonly #clock: AdjustableClock;
  readonly #advance: (by_ms: number) => Promise<Ran[]>;

  /** `advance` moves the time and waits for what that set going. */
  constructor(clock: AdjustableClock, advance: (by_ms: number) => Promise<Ran[]>) {
    this.#clock = clock;
    this.#advance = advance;
  }

  /** Milliseconds since 1970, as Date.now(). */
  readonly now = (): Instant => this.#clock.now();
  readonly freeze = (): void => this.#clock.freeze();
  readonly resume = (): void => this.#clock.resume();

  /** Moves time on by "250ms", "30s", "5m", "2h" or "1d". All that falls due runs in the order of its time; answers what. */
  async advance(by: string): Promise<Ran[]> {
    const by_ms = typeof by === "string" ? duration(by) : undefined;
    if (by_ms === undefined)
      throw new OptionError(`advance must be given a duration such as 250ms, 30s, 5m, 2h or 1d; it is ${String(by)}`);
    if (this.#clock.now() + by_ms > LAST) throw new OptionError("advance must not go beyond the year 9999");
    return this.#advance(by_ms);
  }
}
