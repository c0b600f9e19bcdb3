// What one page of the dashboard works with: who is signed in, what the address and the form say, and the operations of
// the REST API. A page never decides what is allowed: it names the operation that it stands for and calls it.
import type { Page } from "../../domain/lists.ts";
import type { AccountRecord, UserRecord } from "../../domain/model.ts";
import { Refusal } from "../../domain/refusal.ts";
import type { Unit } from "../../domain/work.ts";
import type { Reply } from "../../http/call.ts";
import type { Services } from "../../http/route.ts";
import type { Span } from "../parts.ts";
import type { Visit } from "../visit.ts";
import type { Asked, Operations } from "./operations.ts";

export interface Explained {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
}

export interface View {
  readonly visit: Visit;
  readonly user: UserRecord;
  readonly account: AccountRecord;
  readonly unit: Unit;
  readonly links: Services["links"];
  readonly operations: Operations;
  /** What was posted; empty where nothing was. */
  readonly fields: ReadonlyMap<string, string>;
  /** The values of the path. */
  readonly params: { readonly [name: string]: string };
  /** A value of the query. */
  query(name: string): string | undefined;
  /** Whether the user may do what this operation of the REST API does. */
  may(operation: string): boolean;
  /** What the operation answers this user; the route table says of which kind that is. */
  ask<T>(operation: string, asked?: Asked): Promise<T | Refusal>;
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

export interface Newest<R> extends Span {
  readonly items: readonly R[];
}

const PAGE_LENGTH = 20;

/**
 * A page of a list with the newest first, whereas the API lists in creation order. `skip` is in the query; one that makes
 * no sense is none.
 */
export async function newest<R>(
  view: View,
  operation: string,
  filter: Asked["query"] = {},
  limit = PAGE_LENGTH,
): Promise<Newest<R> | Refusal> {
  const read = (offset: number, most: number) =>
    view.ask<Page<R>>(operation, { query: { ...filter, offset: String(offset), limit: String(most) } });
  const skip = Number(/^\d{1,9}$/.exec(view.query("skip") ?? "")?.[0] ?? 0);
  const counted = await read(0, 1);
  if (counted instanceof Refusal) return counted;
  const end = Math.max(counted.total - skip, 0);
  const offset = Math.max(end - limit, 0);
  const found = end === 0 ? { items: [] } : await read(offset, end - offset);
  return found instanceof Refusal ? found : { items: found.items.toReversed(), skip, limit, total: counted.total };
}

/** All of a list, as far as one page of the API goes. */
export async function firstOf<R>(view: View, operation: string): Promise<readonly R[]> {
  const found = view.may(operation) ? await view.ask<Page<R>>(operation, { query: { limit: "100" } }) : undefined;
  return found === undefined || found instanceof Refusal ? [] : found.items;
}
