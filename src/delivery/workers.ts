// What goes on behind the answers: deliveries are sent, data sources processed, old records forgotten. Everything that
// is to be done stands in the store, so a stop loses nothing and a start takes it all up again; what commits tell meanwhile
// only says where to look.
import { processDataSource, unprocessed } from "../domain/data-sources.ts";
import { type Forgetting, forgetting } from "../domain/forgetting.ts";
import { TOPIC } from "../domain/model.ts";
import { Unit, type UnitParts } from "../domain/work.ts";
import type { Background } from "../kit/background.ts";
import { realClock, type Scheduled } from "../kit/clock.ts";
import type { Outbox } from "./outbox.ts";

export interface WorkersParts extends UnitParts {
  /** Where all of it runs. */
  readonly background: Background;
  /** An outbox has one life, so each start makes one. */
  readonly makeOutbox: () => Outbox;
  readonly onError: (error: unknown, during: string) => void;
}

/** Where other processes are on the same data, one that has ended leaves its work behind, and nothing is told of that. */
const LOOK_AGAIN_MS = 3_000;
/** Of the deliveries that wait, so many are looked at each time. */
const LOOKED_AT = 1_000;
/** Longer than processing takes but for the largest; two that do the same harm nothing. */
const PROCESSING_MS = 5_000;

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
    await outbox.takeUp();
    await this.#processAll();
    if (store.now) this.#ends.push(this.#lookAgain(outbox));
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

  /** Looks every few seconds, in real time, as it is real processes that end; answers how to stop that. */
  #lookAgain(outbox: Outbox): () => void {
    let offset = 0;
    const look = async () => {
      const rows = await outbox.takeUp({ offset, limit: LOOKED_AT });
      offset = rows < LOOKED_AT ? 0 : offset + rows;
      await this.#processAll();
    };
    const later = (): Scheduled =>
      realClock.schedule(realClock.now() + LOOK_AGAIN_MS, null, async () => {
        const looking = timer;
        await this.#parts.background.run("looking for what others left behind", look);
        if (looking === timer) timer = later();
      });
    let timer: Scheduled | undefined = later();
    return () => {
      timer?.cancel();
      timer = undefined;
    };
  }

  async #processAll(): Promise<void> {
    for (const id of await unprocessed(this.#parts.store)) this.#process(id);
  }

  #process(id: string): void {
    const { store, background } = this.#parts;
    background.run("processing a data source", async () => {
      const lease = await store.lease(`data ${id}`, PROCESSING_MS);
      if (lease) await processDataSource(new Unit(this.#parts), id).finally(() => lease.release());
    });
  }
}
