// What commits tell, and who hears it in this process: every store has its own. Which commits there were, and what other
// processes tell, is the store's to know.

/** Who hears in this process what commits tell. */
export class Subscribers {
  readonly #all = new Set<{ readonly topic: string; readonly heard: (subject: string) => void }>();

  subscribe(topic: string, received: (subject: string) => void): () => void {
    const subscriber = { topic, heard: received };
    this.#all.add(subscriber);
    return () => void this.#all.delete(subscriber);
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
