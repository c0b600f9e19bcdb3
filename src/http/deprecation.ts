// How the end of an operation is announced (spec part 9: not shown; contract, part 9): on each of its answers, long before,
// and in the OpenAPI document. Nothing is deprecated yet, so that nothing is announced.
import { decide } from "../decisions.ts";
import { instant } from "../kit/clock.ts";

export interface Retirement {
  /** Both are timestamps as everywhere. */
  readonly deprecated_at: string;
  readonly gone_at: string;
}

/** By the operation's name. */
export type Retirements = { readonly [operation: string]: Retirement };

export const RETIREMENTS: Retirements = {};

const [SINCE, UNTIL] = decide("9.deprecation");

/** The headers that the operation's answers carry for it. */
export function announced(operation: string, retirements = RETIREMENTS): Record<string, string> {
  const end = retirements[operation];
  if (end === undefined) return {};
  const since_s = Math.floor(instant(end.deprecated_at) / 1_000);
  return { [SINCE]: `@${since_s}`, [UNTIL]: new Date(instant(end.gone_at)).toUTCString() };
}
