// A store that tells what its commits have written, so that the journals need nobody who remembers to tell them: whoever
// emits an event or changes a delivery does it in a transaction. It keeps nothing and changes nothing.
import type { AnyCollection, Collection, Reader, Scalar, Span, Store, StoreData, Stored, Tx } from "../domain/store.ts";

export interface Written {
  readonly collection: string;
  readonly record: Stored;
}

/** `onCommit` is told after the commit, before whoever made it hears of it; `names` are the collections watched. */
export const observed = (store: Store, names: readonly string[], onCommit: (written: readonly Written[]) => void) =>
  new ObservedStore(store, new Set(names), onCommit);

class Reading<S extends Reader> implements Reader {
  protected readonly inner: S;

  constructor(inner: S) {
    this.inner = inner;
  }

  get<R extends Stored, I extends string, U extends string>(from: Collection<R, I, U>, id: string) {
    return this.inner.get(from, id);
  }

  find<R extends Stored, I extends string, U extends string>(
    from: Collection<R, I, U>,
    unique: U,
    values: readonly Scalar[],
  ) {
    return this.inner.find(from, unique, values);
  }

  page<R extends Stored, I extends string, U extends string>(
    from: Collection<R, I, U>,
    index: I,
    values: readonly Scalar[],
    span: Span,
  ) {
    return this.inner.page(from, index, values, span);
  }

  count<R extends Stored, I extends string, U extends string>(
    from: Collection<R, I, U>,
    index: I,
    values: readonly Scalar[],
  ) {
    return this.inner.count(from, index, values);
  }

  groups<R extends Stored, I extends string, U extends string>(from: Collection<R, I, U>, index: I) {
    return this.inner.groups(from, index);
  }
}

class ObservedStore extends Reading<Store> implements Store {
  readonly #names: ReadonlySet<string>;
  readonly #onCommit: (written: readonly Written[]) => void;

  constructor(store: Store, names: ReadonlySet<string>, onCommit: (written: readonly Written[]) => void) {
    super(store);
    this.#names = names;
    this.#onCommit = onCommit;
  }

  async transact<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    let written: Written[] = [];
    // The store may run the work again: only the last run is the one that was kept.
    const result = await this.inner.transact((tx) => {
      written = [];
      return work(new ObservedTx(tx, this.#names, written));
    });
    if (written.length > 0) this.#onCommit(written);
    return result;
  }

  open = (collections: readonly AnyCollection[]) => this.inner.open(collections);
  lease = (name: string, now: number, until: number) => this.inner.lease(name, now, until);
  release = (name: string) => this.inner.release(name);
  snapshot = () => this.inner.snapshot();
  restore = (data: StoreData) => this.inner.restore(data);
  close = () => this.inner.close();
}

class ObservedTx extends Reading<Tx> implements Tx {
  readonly #names: ReadonlySet<string>;
  readonly #written: Written[];

  constructor(tx: Tx, names: ReadonlySet<string>, written: Written[]) {
    super(tx);
    this.#names = names;
    this.#written = written;
  }

  put<R extends Stored, I extends string, U extends string>(into: Collection<R, I, U>, record: R) {
    if (this.#names.has(into.name)) this.#written.push({ collection: into.name, record });
    return this.inner.put(into, record);
  }

  remove<R extends Stored, I extends string, U extends string>(from: Collection<R, I, U>, id: string) {
    return this.inner.remove(from, id);
  }
}
