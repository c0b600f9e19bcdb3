// What an account owns is made, listed, read, changed and removed in one way (spec part 4, query parameters of GET /apps;
// contract, part 4): another account's record does not exist, a change that changes nothing does nothing, and the
// caller's precondition (If-Match) is asked last, inside the transaction that it is about.
import { isDeepStrictEqual } from "node:util";
import { decide } from "../decisions.ts";
import {
  coerce,
  integer,
  type ObjectSchema,
  object,
  type Schema,
  withDefault,
} from "../lib/schema.ts";
import { AppError, notFound, type Precondition } from "./errors.ts";
import type { AccountRecord, AccountScoped } from "./model.ts";
import type { Collection, Entity, Range, Reader, Scalar } from "./store.ts";
import type { TxContext, UnitOfWork } from "./unit-of-work.ts";

/** In all readings. */
export const LIMIT_MAX = decide("8.max-limit").most;
const limitParameter = (schema: Schema<number>) => withDefault(coerce(schema), 20);

/** The parameters of every list: limit 1-100 (20), offset 0 or more (0). */
export const paginationParameters = {
  limit: limitParameter(integer({ min: 1, max: LIMIT_MAX })),
  offset: withDefault(coerce(integer({ min: 0, max: Number.MAX_SAFE_INTEGER })), 0),
};
const positive = integer({ min: 1 });
/** A limit over the largest is taken as the largest. */
export const clampedLimit = limitParameter({
  ...positive,
  check: (asked, ...place) =>
    positive.check(Number(asked) > LIMIT_MAX ? LIMIT_MAX : asked, ...place),
});
export const listQuery = object(paginationParameters);

export interface Page<R> {
  readonly items: readonly R[];
  readonly total: number;
  readonly range: Range;
}

/** A page of the list that has these values; one that may be asked for and is not, is undefined. */
export async function paginate<R extends Entity, I extends string>(
  reader: Reader,
  from: Collection<R, I>,
  index: I,
  optionalValues: readonly (Scalar | undefined)[],
  range: Range,
): Promise<Page<R>> {
  const values = optionalValues.filter((value) => value !== undefined);
  const total = await reader.count(from, index, values);
  return { items: await reader.page(from, index, values, range), total, range };
}

/** What is made, and what a change or a removal brings with it, in the same transaction; a refusal undoes all of it. */
interface LifecycleHooks<R, D, A> {
  readonly onCreate: (
    ctx: TxContext,
    account_id: string,
    draft: D,
    account: AccountRecord,
  ) => Promise<A | AppError>;
  /** Answers what is kept; without it nothing can be changed. */
  readonly onUpdate?: (
    w: TxContext,
    after: R,
    before: R,
    account: AccountRecord,
  ) => Promise<R | AppError>;
  readonly onDelete?: (w: TxContext, record: R, account: AccountRecord) => unknown;
}

/** What clients send and see of one of them. */
interface ResourceSchemas<D> {
  readonly createBody: ObjectSchema<D>;
  readonly updateBody: ObjectSchema<object>;
  readonly response: ObjectSchema<unknown>;
}

/** What is done with the records `R` that an account owns; `A` is a new one, with what is shown of it once. */
export type CrudService<R extends AccountScoped, D, A> = ReturnType<
  typeof createCrudService<R, D, A>
>;

/** `name` is what people call one of them. */
export function createCrudService<R extends AccountScoped, D, A>(
  collection: Collection<R, "account">,
  name: string,
  schemas: ResourceSchemas<D>,
  { onCreate: adding, onUpdate: changing, onDelete: removing }: LifecycleHooks<R, D, A>,
) {
  async function get(reader: Reader, account: AccountRecord, id: string) {
    const record = await reader.get(collection, id);
    return record?.account_id === account.id ? record : notFound(name);
  }

  /** Does something with the caller's own record, in one transaction. */
  const withRecord = <T>(
    unit: UnitOfWork,
    account: AccountRecord,
    id: string,
    work: (ctx: TxContext, record: R) => Promise<T>,
  ) =>
    unit.run(async (ctx) => {
      const record = await get(ctx.tx, account, id);
      return record instanceof AppError ? record : work(ctx, record);
    });

  return {
    ...schemas,
    get,
    withRecord: withRecord,
    create: (unit: UnitOfWork, account: AccountRecord, draft: D) =>
      unit.run((ctx) => adding(ctx, account.id, draft, account)),

    list: (reader: Reader, account: AccountRecord, range: Range) =>
      paginate(reader, collection, "account", [account.id], range),

    /** Changes the fields sent, whose values the schema has judged. */
    update: (
      unit: UnitOfWork,
      account: AccountRecord,
      id: string,
      patch: Patch<R>,
      precondition: Precondition<R>,
    ) =>
      withRecord(unit, account, id, async (ctx, before) => {
        const after = hasChanges(before, patch)
          ? await changing?.(ctx, { ...before, ...patch }, before, account)
          : undefined;
        if (after instanceof AppError) return after;
        if (after) await ctx.tx.put(collection, after);
        return precondition(before) ?? after ?? before;
      }),

    delete: (unit: UnitOfWork, account: AccountRecord, id: string, precondition: Precondition<R>) =>
      withRecord(unit, account, id, async (ctx, record) => {
        const hookResult = await removing?.(ctx, record, account);
        if (hookResult instanceof AppError) return hookResult;
        await ctx.tx.remove(collection, id);
        return precondition(record) ?? record;
      }),
  };
}

export type Patch<R> = { readonly [N in keyof R]?: unknown };

function hasChanges<R>(record: R, patch: Patch<R>): boolean {
  for (const name in patch) if (!isDeepStrictEqual(record[name], patch[name])) return true;
  return false;
}
