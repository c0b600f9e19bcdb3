// What `startService` takes beside the settings of the command line (contract, part 10), checked before anything starts:
// a misspelt option, a time that is none, options that contradict each other are refused by name.
import type { Store } from "../domain/store.ts";
import { AdjustableClock, type Instant, instant, isDateTime } from "../kit/clock.ts";
import { type GivenSettings, OPTIONS, OptionError } from "../options.ts";

export interface ServiceOptions extends Omit<GivenSettings, "seed"> {
  /** A seed, or the name of its file. */
  readonly seed?: object | string | undefined;
  /** Where to keep everything; memory by default. */
  readonly store?: Store | undefined;
  /** "manual" stands still until it is advanced. */
  readonly clock?: "system" | "manual" | undefined;
  /** ISO 8601 with its zone: where a manual clock starts. */
  readonly startAt?: string | undefined;
}

/** The same moment in every run, so that timestamps can be written into expectations. */
const MANUAL_START = "2026-01-01T00:00:00.000Z";

const OWN = ["store", "clock", "startAt"];

/** The service's clock as these options want it; whatever is wrong with the options is told here. */
export function clockFor(options: ServiceOptions): AdjustableClock {
  refuseUnknown(options);
  const { clock = "system", startAt } = options;
  if (clock !== "system" && clock !== "manual")
    throw new OptionError(`clock must be one of system, manual; it is ${JSON.stringify(clock)}`);
  if (clock === "system" && startAt !== undefined)
    throw new OptionError('startAt is where a manual clock starts; give it together with clock: "manual"');
  return new AdjustableClock(clock === "manual" ? startOf(startAt ?? MANUAL_START) : undefined);
}

function refuseUnknown(options: ServiceOptions): void {
  const known = [...Object.keys(OPTIONS), ...OWN];
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new OptionError(`${unknown} is no option; there are ${known.join(", ")}`);
}

function startOf(startAt: unknown): Instant {
  if (typeof startAt === "string" && startAt.includes("T") && isDateTime(startAt)) return instant(startAt);
  throw new OptionError(
    `startAt must be a time such as 2026-01-01T00:00:00.000Z, with its zone; it is ${JSON.stringify(startAt)}`,
  );
}
