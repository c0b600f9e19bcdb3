// The store port: the interface between the service and its storage. It is asynchronous, knows nothing of apps and uses
// only the declared keys and indexes. One process uses a store at a time. test/stores/contract tests every sentence here
// (`npm run store-contract -- MODULE`).
//
// A record is a JSON object that is never changed in place. It is returned with its members in order and every string
// unchanged, including NUL and lone surrogates. Units of work are serializable; an engine may lock or run `work` again.
// `work` awaits only its own `tx` and has no other effects. If `work` awaits a call of the store itself, it is rolled
// back and that call rejects without effect; there is no deadlock. Reads outside a unit of work see only durable data.
// If the data are unavailable, every call rejects with `StorageUnavailable`. Errors are identified by `name`, because a
// store may come from another copy of this package.

export type Scalar = string | number | boolean | null;
export type Values = readonly Scalar[];

export interface Entity {
  readonly id: string;
}

/**
 * A collection of records. `indexes`: lists of records with equal values in the fields `by`, in creation order; without
 * fields, one list of all records.
 * `unique`: fields whose combined values only one record may have at a time. A record with null in a field of an index
 * or unique key is left out of it.
 */
export interface Collection<
  R extends Entity,
  I extends string = string,
  U extends string = string,
> {
  readonly name: string;
  readonly indexes: Readonly<Record<I, IndexRule<R>>>;
  readonly unique: Readonly<Record<U, readonly (keyof R & string)[]>>;
}
interface IndexRule<R> {
  readonly by: readonly (keyof R & string)[];
  /**
   * The list is sorted by these fields, then by creation. Numbers compare by value, strings by UTF-16 code units. All
   * values of a field have one type.
   */
  readonly order?: readonly (keyof R & string)[];
}

/** Declares a collection. The caller gives the record type; the names of indexes and unique keys are inferred. */
export const collection =
  <R extends Entity>() =>
  <I extends string = never, U extends string = never>(
    name: string,
    indexes = {} as Collection<R, I, U>["indexes"],
    unique = {} as Collection<R, I, U>["unique"],
  ): Collection<R, I, U> => ({ name, indexes, unique });

/** A collection of any record type, for use in stores. */
export type AnyCollection = Collection<never>;

export interface Range {
  readonly offset: number;
  readonly limit: number;
}
export const ALL_RECORDS: Range = { offset: 0, limit: Number.MAX_SAFE_INTEGER };
export const FIRST_RECORD: Range = { offset: 0, limit: 1 };

/** The cost of a read depends only on the size of its result, not on its offset or the data stored. */
export interface Reader {
  get<R extends Entity>(from: Collection<R>, id: string): Promise<R | undefined>;
  /** Returns the record whose unique key has these values, in the order of the key's fields. */
  find<R extends Entity, U extends string>(
    from: Collection<R, string, U>,
    unique: U,
    values: Values,
  ): Promise<R | undefined>;
  page<R extends Entity, I extends string>(
    from: Collection<R, I>,
    index: I,
    values: Values,
    range: Range,
  ): Promise<readonly R[]>;
  count<R extends Entity, I extends string>(
    from: Collection<R, I>,
    index: I,
    values: Values,
  ): Promise<number>;
}

export interface Tx extends Reader {
  /** Creates the record or replaces the one with its id. A replaced record keeps its place in creation order. */
  put<R extends Entity>(into: Collection<R>, record: R): Promise<void>;
  remove<R extends Entity>(from: Collection<R>, id: string): Promise<void>;
}

export interface Store extends Reader {
  /** Called once, before any other method. Rejects with `StoreOpenError` if the data cannot be used. */
  open(collections: readonly AnyCollection[]): Promise<void>;
  /**
   * Runs a unit of work. All writes of `work` take effect together, or none does (when `work` or the store rejects).
   * `work` sees its own writes and otherwise one consistent state, as if units of work ran one after the other.
   * Resolves when the writes are as durable as the store promises; nobody outside sees them before. Rejects with
   * `StorageUnavailable` when the writes could not be stored. Rejects with an error of another name when the outcome is
   * unknown (the response to a commit was lost). Rejects with `UniqueViolation` when two records would hold a unique
   * key, even if `work` caught that error. A `tx` rejects every call after the end of its run.
   */
  transact<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Returns all data as plain JSON. */
  snapshot(): Promise<StoreData>;
  /** Replaces all data with `data`, atomically and as durably as a transaction. */
  restore(data: StoreData): Promise<void>;
  /** Closes the store; later calls reject. */
  close(): Promise<void>;
}

/** Records by collection name, each list in creation order. */
export interface StoreData {
  readonly format: 2;
  readonly collections: { readonly [name: string]: readonly Entity[] };
}

/** The data, the file or its lock prevents startup. The message names the file and what to do. */
export class StoreOpenError extends Error {
  override readonly name = "StoreOpenError";
}

/**
 * A write could not be stored, or nothing can be read (disk full, I/O error, connection lost). No part of the write is
 * visible.
 */
export class StorageUnavailable extends Error {
  override readonly name = "StorageUnavailable";
}

/** A caller's error: it wrote without checking for the holder of a unique key. */
export class UniqueViolation extends Error {
  override readonly name = "UniqueViolation";
}

type StoreError = StoreOpenError | StorageUnavailable | UniqueViolation;

/** Identifies a store error by name, whichever copy of the package its class came from. */
export const isStoreError = (error: unknown, name: StoreError["name"]): error is Error =>
  (error as { readonly name?: unknown } | null | undefined)?.name === name;
