// Tells whoever looks on that something has changed, and nothing more: what it is, they read again from where it is kept.
// So a missed ring costs a moment, never a fact. It rings within this process only.

export class Bell {
  readonly #listeners = new Map<string, Set<() => void>>();

  /** Calls `heard` at every ring for the subject, until the answer is called. */
  listen(subject: string, heard: () => void): () => void {
    const all = this.#listeners.get(subject) ?? new Set();
    this.#listeners.set(subject, all.add(heard));
    return () => {
      all.delete(heard);
      if (all.size === 0 && this.#listeners.get(subject) === all) this.#listeners.delete(subject);
    };
  }

  ring(subject: string): void {
    for (const heard of this.#listeners.get(subject) ?? []) heard();
  }
}
