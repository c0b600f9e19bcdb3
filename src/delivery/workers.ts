// What goes on behind the answers: deliveries are sent, data sources processed, old records forgotten. Everything that
// is to be done stands in the store, so a stop loses nothing and a start takes it all up again; what commits tell meanwhile
// only says where to look.
import { processDataSource, unprocessed } from "../domain/data-sources.ts";
import { type Forgetting, forgetting } from "../domain/forgetting.ts";
import { TOPIC } from "../domain/model.ts";
import { Unit, type UnitParts } from "../domain/work.ts";
import type { Background } from "../kit/background.ts";
import type { Outbox } from "./outbox.ts";

export interface WorkersParts extends UnitParts {
  /** Where all of it runs. */
  readonly background: Background;
  /** An outbox has one life, so each start makes one. */
  readonly makeOutbox: () => Outbox;
  readonly onError: (error: unknown, during: string) => void;
}

export class Workers {
  readonly #parts: WorkersParts;
  /** Each ends something that the start began; none before. */
  #ends: (() => void)[] = [];
  #forgetting: Forgetting | undefined;

  constructor(parts: WorkersParts) {
    this.#parts = parts;
  }

  /** Takes up all that waits, and from here on what commits tell. */
  async start(): Promise<void> {
    const { store, makeOutbox } = this.#parts;
    const outbox = makeOutbox();
    const sweeping = forgetting(this.#parts);
    this.#forgetting = sweeping;
    this.#ends = [
      store.hear(TOPIC.queue, (id) => outbox.notify(id)),
      store.hear(TOPIC.data, (id) => this.#process(id)),
      store.hear(TOPIC.events, (id) => sweeping.notify(id)),
      () => sweeping.stop(),
      () => outbox.stop(),
    ];
    await sweeping.start();
    await outbox.start();
    for (const id of await unprocessed(store)) this.#process(id);
  }

  /** Ends what is under way; it may be started again. */
  async stop(): Promise<void> {
    for (const end of this.#ends.splice(0)) end();
    await this.#parts.background.idle();
  }

  /** Finds out what expires next: asked before time is moved by hand, since a list that was empty may have grown. */
  async look(): Promise<void> {
    await this.#forgetting?.look();
  }

  #process(id: string): void {
    this.#parts.background.run("processing a data source", async () => {
      await processDataSource(new Unit(this.#parts), id);
    });
  }
}
