// What an account owns is made, listed, read, changed and removed in one way (spec part 4, query parameters of GET /apps;
// contract, part 4): another account's record does not exist, a change that changes nothing does nothing, and the
// caller's precondition (If-Match) is asked last, inside the transaction that it is about.
import { isDeepStrictEqual } from "node:util";
import { decide } from "../decisions.ts";
import { fromText, type ObjectSchema, object, type Schema, whole, withDefault } from "../kit/schema.ts";
import type { AccountRecord, OfAccount } from "./model.ts";
import { type Expect, notFound, Refusal } from "./refusal.ts";
import type { Collection, Reader, Scalar, Span, Stored } from "./store.ts";
import type { Unit, Work } from "./work.ts";

/** In all readings. */
export const LIMIT_MAX = decide("8.max-limit").most;
const limitOf = (schema: Schema<number>) => withDefault(fromText(schema), 20);

/** The parameters of every list: limit 1-100 (20), offset 0 or more (0). */
export const spanParameters = {
  limit: limitOf(whole({ min: 1, max: LIMIT_MAX })),
  offset: withDefault(fromText(whole({ min: 0, max: Number.MAX_SAFE_INTEGER })), 0),
};
const positive = whole({ min: 1 });
/** A limit over the largest is taken as the largest. */
export const cutLimit = limitOf({
  ...positive,
  check: (asked, ...place) => positive.check(Number(asked) > LIMIT_MAX ? LIMIT_MAX : asked, ...place),
});
export const listQuery = object(spanParameters);

export interface Page<R> {
  readonly items: readonly R[];
  readonly total: number;
  readonly span: Span;
}

/** A page of the list that has these values; one that may be asked for and is not, is undefined. */
export async function pageOf<R extends Stored, I extends string>(
  reader: Reader,
  from: Collection<R, I>,
  index: I,
  asked: readonly (Scalar | undefined)[],
  span: Span,
): Promise<Page<R>> {
  const values = asked.filter((value) => value !== undefined);
  const total = await reader.count(from, index, values);
  return { items: await reader.page(from, index, values, span), total, span };
}

/** What is made, and what a change or a removal brings with it, in the same transaction; a refusal undoes all of it. */
interface Consequences<R, D, A> {
  readonly adding: (w: Work, account_id: string, draft: D, account: AccountRecord) => Promise<A | Refusal>;
  /** Answers what is kept; without it nothing can be changed. */
  readonly changing?: (w: Work, after: R, before: R, account: AccountRecord) => Promise<R | Refusal>;
  readonly removing?: (w: Work, record: R, account: AccountRecord) => unknown;
}

/** What clients send and see of one of them. */
interface Bodies<D> {
  readonly draft: ObjectSchema<D>;
  readonly changes: ObjectSchema<object>;
  readonly shown: ObjectSchema<unknown>;
}

/** What is done with the records `R` that an account owns; `A` is a new one, with what is shown of it once. */
export type Owned<R extends OfAccount, D, A> = ReturnType<typeof owned<R, D, A>>;

/** `name` is what people call one of them. */
export function owned<R extends OfAccount, D, A>(
  from: Collection<R, "account">,
  name: string,
  bodies: Bodies<D>,
  { adding, changing, removing }: Consequences<R, D, A>,
) {
  async function get(reader: Reader, account: AccountRecord, id: string) {
    const record = await reader.get(from, id);
    return record?.account_id === account.id ? record : notFound(name);
  }

  /** Does something with the caller's own record, in one transaction. */
  const act = <T>(unit: Unit, account: AccountRecord, id: string, work: (w: Work, record: R) => Promise<T>) =>
    unit.transact(async (w) => {
      const record = await get(w.tx, account, id);
      return record instanceof Refusal ? record : work(w, record);
    });

  return {
    ...bodies,
    get,
    act,
    create: (unit: Unit, account: AccountRecord, draft: D) =>
      unit.transact((w) => adding(w, account.id, draft, account)),

    list: (reader: Reader, account: AccountRecord, span: Span) => pageOf(reader, from, "account", [account.id], span),

    /** Changes the fields sent, whose values the schema has judged. */
    change: (unit: Unit, account: AccountRecord, id: string, sent: Sent<R>, expect: Expect<R>) =>
      act(unit, account, id, async (w, before) => {
        const after = differs(before, sent) ? await changing?.(w, { ...before, ...sent }, before, account) : undefined;
        if (after instanceof Refusal) return after;
        if (after) await w.tx.put(from, after);
        return expect(before) ?? after ?? before;
      }),

    remove: (unit: Unit, account: AccountRecord, id: string, expect: Expect<R>) =>
      act(unit, account, id, async (w, record) => {
        const consequence = await removing?.(w, record, account);
        if (consequence instanceof Refusal) return consequence;
        await w.tx.remove(from, id);
        return expect(record) ?? record;
      }),
  };
}

export type Sent<R> = { readonly [N in keyof R]?: unknown };

function differs<R>(record: R, sent: Sent<R>): boolean {
  for (const name in sent) if (!isDeepStrictEqual(record[name], sent[name])) return true;
  return false;
}
