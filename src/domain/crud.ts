// CRUD service for the resources of an account (spec part 4, query parameters of GET /apps; 4.list-shape). Records of
// other accounts count as missing, and an update without changes writes nothing.
import { isDeepStrictEqual } from "node:util";
import { coerce, integer, type ObjectSchema, object, withDefault } from "../lib/schema.ts";
import { AppError, notFound } from "./errors.ts";
import type { AccountRecord, AccountScoped } from "./model.ts";
import type { Collection, Entity, Range, Reader, Scalar } from "./store.ts";
import type { AccountContext, UnitOfWork, WithOptionalId } from "./unit-of-work.ts";

export const LIMIT_MAX = 100;
const LIMIT_DEFAULT = 20;

/** Pagination parameters of every list. */
export const paginationParameters = {
  limit: withDefault(coerce(integer({ min: 1, max: LIMIT_MAX })), LIMIT_DEFAULT),
  offset: withDefault(coerce(integer({ min: 0, max: Number.MAX_SAFE_INTEGER })), 0),
};
export const listQuery = object(paginationParameters);

/** Returns a page of the list with these index values. Undefined values are optional filters that were not sent. */
export async function paginate<R extends Entity, I extends string>(
  reader: Reader,
  collection: Collection<R, I>,
  index: I,
  optionalValues: readonly (Scalar | undefined)[],
  range: Range,
) {
  const values = optionalValues.filter((value) => value !== undefined);
  const items = await reader.page(collection, index, values, range);
  return { items, total: await reader.count(collection, index, values), range };
}
/** A page of a list; `total` counts the whole list. */
export interface ListPage<R> {
  readonly items: readonly R[];
  readonly total: number;
  readonly range: Range;
}

/** Adds the fields that every new record of an account has. */
export const toNewRecord = <D>(
  { ids, timestamp, account }: AccountContext,
  idPrefix: string,
  draft: WithOptionalId<D>,
) => ({
  account_id: account.id,
  created_at: timestamp,
  updated_at: timestamp,
  ...draft,
  id: draft.id ?? ids.next(idPrefix),
});

/** Hooks that run in the same transaction as the create, update or delete; an error rolls it back. */
interface LifecycleHooks<R, D, A> {
  onCreate(ctx: AccountContext, draft: D): Promise<A | AppError>;
  /** Returns the record to store. */
  onUpdate?(ctx: AccountContext, after: R, before: R): Promise<R | AppError>;
  onDelete?(ctx: AccountContext, record: R): Promise<AppError | undefined>;
}

/** Schemas of the request bodies and the response. A resource without `updateBody` cannot be updated. */
interface ResourceSchemas<D> {
  readonly createBody: ObjectSchema<D>;
  readonly updateBody?: ObjectSchema<object>;
  readonly response: ObjectSchema<unknown>;
}

/** CRUD service for records `R` of an account. `A` is the created record, including fields shown only once. */
export type CrudService<R extends AccountScoped, D, A> = ReturnType<
  typeof createCrudService<R, D, A>
>;

export type Patch<R> = { readonly [N in keyof R]?: unknown };

/** Whether the patch gives any field another value. */
function isChanged<R>(record: R, patch: Patch<R>): boolean {
  for (const name in patch) if (!isDeepStrictEqual(record[name], patch[name])) return true;
  return false;
}

/**
 * Checks If-Match and If-None-Match against the unchanged record. Called after the change, because 409 precedes 412; an
 * error rolls the change back.
 */
type Precondition<R> = (record: R) => AppError | undefined;

/** `name` is the resource's name in error messages. */
export function createCrudService<R extends AccountScoped, D, A>(
  collection: Collection<R, "account">,
  name: string,
  schemas: ResourceSchemas<D>,
  hooks: LifecycleHooks<R, D, A>,
) {
  async function get(reader: Reader, account: AccountRecord, id: string) {
    const record = await reader.get(collection, id);
    return record?.account_id === account.id ? record : notFound(name);
  }

  /** Runs `work` on a record of the caller's account in one transaction. */
  function withRecord<T>(
    unitOfWork: UnitOfWork,
    account: AccountRecord,
    id: string,
    work: (ctx: AccountContext, record: R) => Promise<T>,
  ) {
    return unitOfWork.run(async (ctx) => {
      const record = await get(ctx.tx, account, id);
      return record instanceof AppError ? record : work({ account, ...ctx }, record);
    });
  }

  return {
    ...schemas,
    get,
    withRecord,

    create: (unitOfWork: UnitOfWork, account: AccountRecord, draft: D) =>
      unitOfWork.run((ctx) => hooks.onCreate({ account, ...ctx }, draft)),

    list: (reader: Reader, account: AccountRecord, range: Range) =>
      paginate(reader, collection, "account", [account.id], range),

    /** Updates the fields sent, which the schema has validated. */
    update: (
      unitOfWork: UnitOfWork,
      account: AccountRecord,
      id: string,
      patch: Patch<R>,
      precondition: Precondition<R>,
    ) =>
      withRecord(unitOfWork, account, id, async (ctx, before) => {
        if (!isChanged(before, patch)) return precondition(before) ?? before;
        const updated = { ...before, ...patch, updated_at: ctx.timestamp };
        const after = (await hooks.onUpdate?.(ctx, updated, before)) ?? updated;
        if (after instanceof AppError) return after;
        await ctx.tx.put(collection, after);
        return precondition(before) ?? after;
      }),

    delete: (
      unitOfWork: UnitOfWork,
      account: AccountRecord,
      id: string,
      precondition: Precondition<R>,
    ) =>
      withRecord(unitOfWork, account, id, async (ctx, record) => {
        const error = await hooks.onDelete?.(ctx, record);
        if (error) return error;
        await ctx.tx.remove(collection, id);
        return precondition(record) ?? record;
      }),
  };
}
