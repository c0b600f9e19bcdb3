// What commits tell, and who hears it in this process: every store has its own. Which commits there were, and what other
// processes tell, is the store's to know.

/** Who hears in this process what commits tell. */
export class Subscribers {
  readonly #all = new Set<{ readonly topic: string; readonly heard: (subject: string) => void }>();

  subscribe(topic: string, heard: (subject: string) => void): () => void {
    const hearer = { topic, heard };
    this.#all.add(hearer);
    return () => void this.#all.delete(hearer);
  }

  /** A hearer that throws disturbs nobody; its error surfaces as a rejection that nobody handles. */
  publish(topic: string, subject: string): void {
    for (const hearer of this.#all)
      try {
        if (hearer.topic === topic) hearer.heard(subject);
      } catch (error) {
        void Promise.reject(error);
      }
  }
}
