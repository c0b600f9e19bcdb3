// What pages are made with, one list for all of them, and the way to those that have an address of their own: each is a row
// that answers a visit.
import type { RateLimiter } from "../domain/limits.ts";
import type { Context } from "../domain/oauth/access-tokens.ts";
import type { Code } from "../domain/refusal.ts";
import type { UnitParts } from "../domain/work.ts";
import type { Reply } from "../http/call.ts";
import type { Operation, Services } from "../http/route.ts";
import type { Presenter } from "../http/view.ts";
import { RouteTree, type Row, type Way } from "../http/way.ts";
import { fieldsOf } from "../kit/form.ts";
import { assets, type Explain, refusedAs } from "./page.ts";
import type { Sent, Visit, Visits } from "./visit.ts";

/** What launching hands over to the pages. */
export interface Launched {
  readonly unit: UnitParts;
  readonly oauth: Context;
  readonly services: Services;
  readonly presenter: Presenter;
  readonly limiter: RateLimiter;
  /** The waits between the attempts of a delivery. */
  readonly retryWaits_ms: readonly number[];
  /** Shows one line to whoever runs the server. */
  readonly announce: (line: string) => void;
}

/** What all pages may use. */
export interface WebParts extends Launched {
  readonly visits: Visits;
  readonly explain: Explain;
  /** The route table. */
  readonly operations: readonly Operation[];
  readonly problems: { readonly [C in Code]: readonly [status: number, title: string, advice: string] };
}

/** A page at an address of its own; `sent` is what its query says, or the form that was posted. */
export interface PageRow extends Row {
  answer(visit: Visit, sent: Sent): Promise<Reply>;
}

export const pageWay = ({ visits, explain }: WebParts, rows: readonly PageRow[]): Way<PageRow, Visit> => ({
  under: "",
  tree: new RouteTree([...rows, ...assets]),
  enter: (call) => visits.of(call),
  perform: (row, { call, who }) =>
    row.method === "GET"
      ? row.answer(who, fieldsOf(call.query).values)
      : visits.posted(who, (sent) => row.answer(who, sent)),
  refused: refusedAs(explain),
});
