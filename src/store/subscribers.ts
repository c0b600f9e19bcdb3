// The subscribers of one store in this process. The store decides what to publish, including notifications from other
// processes.

/** Registry of subscribers by topic. */
export class Subscribers {
  readonly #all = new Set<{ readonly topic: string; readonly heard: (subject: string) => void }>();

  subscribe(topic: string, received: (subject: string) => void): () => void {
    const subscriber = { topic, heard: received };
    this.#all.add(subscriber);
    return () => void this.#all.delete(subscriber);
  }

  /** An error in one subscriber does not affect the others; it surfaces as an unhandled rejection. */
  publish(topic: string, subject: string): void {
    for (const hearer of this.#all)
      try {
        if (hearer.topic === topic) hearer.heard(subject);
      } catch (error) {
        void Promise.reject(error);
      }
  }
}
