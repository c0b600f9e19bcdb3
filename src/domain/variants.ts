// Readings on a switch (`--reading ID=NAME`): for the gaps that hurt clients most, a start may ask for the other reading of
// the register, to test a client against what other servers do. What one service was asked for holds for it alone; what
// the specification does say cannot be switched.
import { DECISIONS, type Decision, type DecisionId, decide } from "../decisions.ts";
import { unsafeCast } from "../lib/schema.ts";

type Choice<I extends DecisionId> = (typeof DECISIONS)[I]["choice"];
export type Switched = {
  [I in DecisionId]: Choice<I> extends { readonly named: string } ? I : never;
}[DecisionId];
type Names = { readonly [I in Switched]: Choice<I>["named"] };

/** Rows of the register whose other reading is in force, each with its name. */
export type Variants = Partial<Names>;

const hasVariant = ([id, { choice }]: [string, Decision]) =>
  choice.named === undefined ? [] : [[id, choice.named]];
/** All that can be asked for. A client that has met them all survives any server that keeps to the specification. */
export const ALL_VARIANTS: Names = unsafeCast(
  Object.fromEntries(Object.entries<Decision>(DECISIONS).flatMap(hasVariant)),
);

/** The choice that one service runs on. */
export type Decide = <I extends Switched>(id: I) => Choice<I>["is"] | Choice<I>["or"];

/** Of every service that was asked for no other reading. */
export const DEFAULT_DECIDE: Decide = decide;

export const createDecide = (asked: Variants): Decide =>
  Object.keys(asked).length === 0
    ? DEFAULT_DECIDE
    : (id) => (asked[id] === undefined ? decide(id) : DECISIONS[id].choice.or);
