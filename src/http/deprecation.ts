// How the end of an operation is announced (spec part 9: not shown; contract, part 9): on each of its answers, long before,
// and in the OpenAPI document. Nothing is deprecated yet, so that nothing is announced.
import { instant } from "../kit/clock.ts";
import { decide } from "../kit/decisions.ts";

export interface Retirement {
  /** Both are timestamps as everywhere. */
  readonly deprecated_at: string;
  readonly gone_at: string;
}

/** By the operation's name. */
export type Retirements = { readonly [operation: string]: Retirement };

export const RETIREMENTS: Retirements = decide(
  "9.deprecation",
  {},
  {
    open: "the deprecation policy, and how the end of an operation or a further version is announced",
    why: "what is listed here says so in Deprecation (RFC 9745) and Sunset (RFC 8594) and goes on working until then",
  },
);

/** The headers that the operation's answers carry for it. */
export function announced(operation: string, retirements = RETIREMENTS): Record<string, string> {
  const end = retirements[operation];
  if (end === undefined) return {};
  const since_s = Math.floor(instant(end.deprecated_at) / 1_000);
  return { deprecation: `@${since_s}`, sunset: new Date(instant(end.gone_at)).toUTCString() };
}
