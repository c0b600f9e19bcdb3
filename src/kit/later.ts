// What a start need not wait for: it is made or loaded when first asked for, and once.

/** `make` is called at the first question. */
export function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** The same for each of several: what is made of an object, such as a table that every service of the process runs on. */
export function onceFor<Of extends object, T extends object>(make: (of: Of) => T): (of: Of) => T {
  const made = new WeakMap<Of, T>();
  return (of) => {
    const known = made.get(of) ?? make(of);
    made.set(of, known);
    return known;
  };
}

/**
 * The same for what takes its time: whoever asks meanwhile waits for the same. A load that failed is tried again at the
 * next question, since what was missing may be there by then.
 */
export class Later<T> {
  readonly #load: () => Promise<T>;
  #loading: Promise<T> | undefined;
  #loaded: T | undefined;

  constructor(load: () => Promise<T>) {
    this.#load = load;
  }

  /** What was loaded; undefined until then. */
  get loaded(): T | undefined {
    return this.#loaded;
  }

  get(): Promise<T> {
    this.#loading ??= this.#load().then(
      (loaded) => {
        this.#loaded = loaded;
        return loaded;
      },
      (error) => {
        this.#loading = undefined;
        throw error;
      },
    );
    return this.#loading;
  }
}
