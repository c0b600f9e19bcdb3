// What one page of the dashboard works with: who is signed in, what they may do, and the same domain functions that the
// REST API calls. A page never decides what is allowed: it names the operation of the route table that it stands for,
// and what that operation takes, the page takes.
import type { Caller } from "../../domain/access.ts";
import type { Page } from "../../domain/lists.ts";
import type { AccountRecord, UserRecord } from "../../domain/model.ts";
import { Refusal } from "../../domain/refusal.ts";
import type { Span as StoreSpan } from "../../domain/store.ts";
import type { Unit } from "../../domain/work.ts";
import type { Reply } from "../../http/call.ts";
import type { Services } from "../../http/route.ts";
import type { Html } from "../html.ts";
import type { Span } from "../parts.ts";
import type { Visit } from "../visit.ts";

export interface Explained {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
}

export interface View {
  readonly visit: Visit;
  readonly user: UserRecord;
  readonly account: AccountRecord;
  readonly caller: Caller;
  readonly unit: Unit;
  readonly services: Services;
  readonly csrf: Html;
  /** What was posted; empty where nothing was. */
  readonly fields: ReadonlyMap<string, string>;
  /** A value of the path. */
  param(name: string): string;
  /** A value of the query. */
  query(name: string): string | undefined;
  /** Whether the user may do what this operation of the REST API does. */
  may(operation: string): boolean;
  explain(refusal: Refusal): Explained;
}

/** One address of the dashboard. */
export interface DashboardRow {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** The operation of the REST API that it stands for; null where any user may. */
  readonly operation: string | null;
  readonly run: (view: View) => Promise<Reply>;
}

const PAGE_LENGTH = 20;

export interface Newest<R> extends Span {
  readonly items: readonly R[];
}

/**
 * A page of a list with the newest first, whereas the store lists in creation order. `skip` is in the query; one that
 * makes no sense is none.
 */
export async function newest<R>(
  view: View,
  read: (span: StoreSpan) => Promise<Page<R> | Refusal>,
  limit = PAGE_LENGTH,
): Promise<Newest<R> | Refusal> {
  const skip = Number(/^\d{1,9}$/.exec(view.query("skip") ?? "")?.[0] ?? 0);
  const counted = await read({ offset: 0, limit: 1 });
  if (counted instanceof Refusal) return counted;
  const end = Math.max(counted.total - skip, 0);
  const offset = Math.max(end - limit, 0);
  const found = end === 0 ? counted : await read({ offset, limit: end - offset });
  if (found instanceof Refusal) return found;
  return { items: end === 0 ? [] : found.items.toReversed(), skip, limit, total: counted.total };
}

/** The precondition of the REST API's If-Match; a form has none. */
export const whatever = (): undefined => undefined;
