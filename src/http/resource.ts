// The rows that nearly every resource has, in one form each: list, read, remove (contract, part 4).
import { decide } from "../decisions.ts";
import type { Caller } from "../domain/access.ts";
import { listQuery, type Page } from "../domain/lists.ts";
import type { Expect, Refusal } from "../domain/refusal.ts";
import type { Reader, Span } from "../domain/store.ts";
import type { Unit } from "../domain/work.ts";
import { nothing, one, page } from "./answers.ts";
import { type Base, type Operation, route, type Target } from "./route.ts";
import type { View } from "./view.ts";

type Heading = readonly [scope: Operation["scope"], operation: string, summary: string];
type Get<T> = (reader: Reader, caller: Caller, id: string) => Promise<T | Refusal>;
type List<T> = (reader: Reader, caller: Caller, span: Span) => Promise<Page<T> | Refusal>;
type Remove<T> = (unit: Unit, caller: Caller, id: string, expect: Expect<T>) => Promise<null | Refusal>;

/** Which scope each kind of operation takes (spec part 5 names them, not where they apply): `manage` is for all that no line
 * of the table of scopes names. */
export const SCOPE = {
  readApps: "read:apps",
  writeApps: "write:apps",
  deleteApps: "delete:apps",
  readData: "read:data",
  manage: decide("5.scope-per-endpoint"),
  any: null,
} as const;

/** The id that the path ends with. */
function idAt(path: string): (base: Base) => string {
  const name = path.slice(path.lastIndexOf("{") + 1, -1);
  return ({ params }) => params[name] ?? "";
}

/** The resource at a path, for whatever is to be done with it. */
export function target<T extends object>(path: string, view: View<T>, get: Get<T>): Target<T> {
  const id = idAt(path);
  return { path, view, id, find: (base) => get(base.unit.store, base.caller, id(base)) };
}

export const listing = <T extends object>(path: string, heading: Heading, view: View<T>, list: List<T>): Operation =>
  route(`GET ${path}`, ...heading, {
    query: listQuery,
    run: ({ unit, caller, query }) => list(unit.store, caller, query),
    answer: page(view),
  });

export const reading = <T extends object>(of: Target<T>, ...heading: Heading): Operation =>
  route(`GET ${of.path}`, ...heading, { run: (base) => of.find(base), answer: one(of.view) });

/** `refusals`: what only this removal can be refused with. */
export const removing = <T extends object>(
  of: Target<T>,
  heading: Heading,
  remove: Remove<T>,
  more: Pick<Operation, "spec" | "refusals"> = {},
): Operation =>
  route(`DELETE ${of.path}`, ...heading, {
    ...more,
    target: of,
    run: (context) => remove(context.unit, context.caller, of.id(context), context.expect),
    answer: nothing,
  });
