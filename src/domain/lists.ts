// What every list has in common (spec part 4, query parameters of GET /apps; contract part 4).
import { decide } from "../decisions.ts";
import { fromText, object, whole, withDefault } from "../kit/schema.ts";
import type { Collection, Reader, Scalar, Span, Stored } from "./store.ts";

export const LIMIT_DEFAULT = 20;
export const LIMIT_MAX = decide("8.max-limit");

/** The parameters of every list: limit 1-100 (20), offset 0 or more (0). */
export const spanParameters = {
  limit: withDefault(fromText(whole({ min: 1, max: LIMIT_MAX })), LIMIT_DEFAULT),
  offset: withDefault(fromText(whole({ min: 0 })), 0),
};
export const listQuery = object(spanParameters);

export interface Page<R> {
  readonly items: readonly R[];
  readonly total: number;
  readonly span: Span;
}

export async function pageOf<R extends Stored, I extends string, U extends string>(
  reader: Reader,
  from: Collection<R, I, U>,
  index: I,
  values: readonly Scalar[],
  span: Span,
): Promise<Page<R>> {
  const total = await reader.count(from, index, values);
  return { items: await reader.page(from, index, values, span), total, span };
}

const CHUNK = 500;

/** All items of a list, a chunk at a time. */
export async function everyPage<R>(read: (span: Span) => Promise<readonly R[]>): Promise<readonly R[]> {
  let all: readonly R[] = [];
  for (let offset = 0; ; offset += CHUNK) {
    const items = await read({ offset, limit: CHUNK });
    all = offset === 0 ? items : all.concat(items);
    if (items.length < CHUNK) return all;
  }
}
