// Who hears what commits tell (domain/store.ts, Store.hear), within one process.

export type Told = ReadonlyMap<string, ReadonlySet<string>>;

export class Ears {
  readonly #hearing = new Map<string, Set<(subject: string) => void>>();

  hear(topic: string, heard: (subject: string) => void): () => void {
    const all = this.#hearing.get(topic) ?? new Set();
    this.#hearing.set(topic, all.add(heard));
    return () => all.delete(heard);
  }

  tell(told: Told): void {
    for (const [topic, subjects] of told)
      for (const heard of this.#hearing.get(topic) ?? []) for (const subject of subjects) heard(subject);
  }
}
