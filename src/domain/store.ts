// The store port: what the service asks of a place that keeps records. It is asynchronous and speaks only of declared
// keys and indexes, so that a database shared by several server processes fits it as well as memory does. It knows
// nothing of apps. `store/contract` states every sentence here as a test.
//
// To write a store: begin with test/stores/skeleton.mjs and pass `storeContract(test, makeStore)`. A record is a JSON object, never changed
// in place: it comes back with its members in their order and every string in it byte-equal, NUL and lone surrogates too.
// Units of work are serializable; lock, or run `work` again, as suits the engine. `work` awaits its own `tx` and nothing
// else, and has no effects of its own: running it twice must not show. One that asks the store itself from inside is
// refused, never left to wait for itself. Who reads outside a unit of work sees only what is durable. Where the data are
// out of reach every call rejects with `StorageUnavailable`; so does `transact` when it gave up after a number of runs.
// Errors are told by their `name`, since a store may come from another copy of this package.

export type Scalar = string | number | boolean | null;
export type Values = readonly Scalar[];

export interface Entity {
  readonly id: string;
}

/**
 * A kind of record. Records are plain JSON values, never changed in place.
 * `indexes`: lists of records with equal values in the fields `by`, in creation order, or in the text order of the
 * field `order` (a short one such as a time; then by creation). `unique`: fields whose values only one record may have at a
 * time. A record with null in one of an index's or unique key's fields is left out of it.
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
  readonly order?: keyof R & string;
}

/** Declares a collection; the record type is given, the names of indexes and unique keys are inferred. */
export const collection =
  <R extends Entity>() =>
  <I extends string = never, U extends string = never>(
    name: string,
    indexes: Collection<R, I, U>["indexes"] = Object.create(null),
    unique: Collection<R, I, U>["unique"] = Object.create(null),
  ): Collection<R, I, U> => ({ name, indexes, unique });

/** A collection of any record type, as a store sees it. */
export type AnyCollection = Collection<never>;

export interface Range {
  readonly offset: number;
  readonly limit: number;
}
/** The whole list. */
export const ALL_RECORDS: Range = { offset: 0, limit: Number.MAX_SAFE_INTEGER };
export const FIRST_RECORD: Range = { offset: 0, limit: 1 };

/** Every read costs what it answers, wherever in the list it lies and however much is stored. */
export interface Reader {
  get<R extends Entity>(from: Collection<R>, id: string): Promise<R | undefined>;
  /** The record whose unique key has these values, in the order of the key's fields. */
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
  /**
   * Once this unit of work is durable, whoever hears the topic is told the subject; once, however often it is said. The two
   * have at most 1,000 characters.
   */
  publish(topic: string, subject: string): void;
}

/** A lease that is held. */
export interface Lease {
  /**
   * Ends it at once. One that has run out, or is released already, is left as it is. Never rejects: what was done under it
   * stands, and where the data are out of reach it runs out.
   */
  release(): Promise<void>;
}

export interface Store extends Reader {
  /** Before anything else, once. Rejects with `StoreOpenError` where the data cannot be used. */
  open(collections: readonly AnyCollection[]): Promise<void>;
  /**
   * Only where each question costs a journey: what `find` answers, and the record of `to` whose id stands in the one field
   * of the index `by`. Without this method the service asks twice.
   */
  findWith?<R extends Entity, T extends Entity, I extends string, U extends string>(
    from: Collection<R, I, U>,
    unique: U,
    values: Values,
    by: I,
    to: Collection<T>,
  ): Promise<readonly [R, T | undefined] | undefined>;
  /**
   * The unit of work. All writes of `work` take effect together, or none does (when `work` or the store rejects). `work`
   * sees its own writes and otherwise one state, as if units of work were done one after the other. Resolves when the
   * writes are as durable as the store promises; nobody outside sees them before. Rejects with `StorageUnavailable` when
   * they could not be kept, with an error of no such name when nobody can know (the answer to a commit was lost), and with
   * `UniqueViolation` when a unique key would be held twice, also where `work` swallowed that. A `tx` rejects every call
   * after the end of its run.
   */
  transact<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * Calls `heard` for what is told after commits, those of other processes on the same data included, until the answer is
   * called. Where it was this process's own, before the unit of work resolves, and in the order in which they do. It only
   * says that there is something to look at, and what others tell while a line is lost may be missed: whoever must miss
   * nothing also looks at its start, and now and then where others are.
   */
  subscribe(topic: string, received: (subject: string) => void): () => void;
  /**
   * Takes the lease called `name` for so many milliseconds of the store's own clock; undefined while another holds it. At
   * most one holder over all processes on the same data; a lease need not outlive its holder's process.
   */
  lease(name: string, for_ms: number): Promise<Lease | undefined>;
  /**
   * Only where several processes may be on the same data: the time that they all go by, in milliseconds since 1970. By this
   * method the service knows that it may not be alone.
   */
  now?(): Promise<number>;
  /** Everything kept, as plain JSON. */
  snapshot(): Promise<StoreData>;
  /** Replaces everything by `data`, atomically and as durably as a transaction. */
  restore(data: StoreData): Promise<void>;
  /** Ends cleanly; later calls reject. */
  close(): Promise<void>;
}

/** Records by collection name, each list in creation order. */
export interface StoreData {
  readonly format: 1;
  readonly collections: { readonly [name: string]: readonly Entity[] };
}

/** The data, the file or its lock forbids to start. The message names the file and what to do. */
export class StoreOpenError extends Error {
  override readonly name = "StoreOpenError";
}

/** A write could not be kept, or nothing can be read (disk full, I/O error, connection lost); nothing of it is visible. */
export class StorageUnavailable extends Error {
  override readonly name = "StorageUnavailable";
}

/** A fault of the caller: it wrote without looking for the holder of a unique key. */
export class UniqueViolation extends Error {
  override readonly name = "UniqueViolation";
}

type StoreError = StoreOpenError | StorageUnavailable | UniqueViolation;

/** Whether an error is of this kind, whichever copy of the package its class came from. */
export const isStoreError = (error: unknown, name: StoreError["name"]): error is Error =>
  Object(error).name === name;
