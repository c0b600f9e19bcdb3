// Variants (`--reading ID=NAME`) switch a decision to its other reading, to test a client against the behaviour of
// other servers. A variant applies to one service only. Requirements of the specification cannot be switched.
import { DECISIONS, type Decision, type DecisionId, decide } from "../former-decisions.ts";
import { unsafeCast } from "../lib/schema.ts";

type Choice<I extends DecisionId> = (typeof DECISIONS)[I]["choice"];
export type Switched = {
  [I in DecisionId]: Choice<I> extends { readonly named: string } ? I : never;
}[DecisionId];
type Names = { readonly [I in Switched]: Choice<I>["named"] };

/** Decisions whose other reading is in force, each with its name. */
export type Variants = Partial<Names>;

const hasVariant = ([id, { choice }]: [string, Decision]) =>
  choice.named === undefined ? [] : [[id, choice.named]];
/**
 * Every available variant. A client that works with all of them works with any server that follows the specification.
 */
export const ALL_VARIANTS: Names = unsafeCast(
  Object.fromEntries(Object.entries<Decision>(DECISIONS).flatMap(hasVariant)),
);

/** Returns a decision's value in one service. */
export type Decide = <I extends Switched>(id: I) => Choice<I>["is"] | Choice<I>["or"];

/** The default, without variants. */
export const DEFAULT_DECIDE: Decide = decide;

export const createDecide = (asked: Variants): Decide =>
  Object.keys(asked).length === 0
    ? DEFAULT_DECIDE
    : (id) => (asked[id] === undefined ? decide(id) : DECISIONS[id].choice.or);
