// What goes on behind the answers: deliveries are sent, data sources processed, old records forgotten. Everything that
// is to be done stands in the store, so a stop loses nothing and a start takes it all up again; what commits tell meanwhile
// only says where to look.
import type { Outbox } from "./delivery/outbox.ts";
import { processDataSource, unprocessed } from "./domain/data-sources.ts";
import { dueDeliveries } from "./domain/deliveries.ts";
import { type Forgetting, forgetting } from "./domain/forgetting.ts";
import { type DeliveryRecord, TOPIC } from "./domain/model.ts";
import { Unit, type UnitParts } from "./domain/work.ts";
import { Background } from "./kit/background.ts";

export class Workers {
  readonly #unit: UnitParts;
  readonly #makeOutbox: (background: Background) => Outbox;
  readonly #background: Background;
  readonly #onError: (error: unknown, during: string) => void;
  #outbox: Outbox;
  #forgetting: Forgetting;
  /** Each ends the hearing of one topic; none before the start. */
  #hearing: readonly (() => void)[] = [];
  readonly #stirring: (() => void)[] = [];

  /** `makeOutbox`: one for each start, since an outbox has one life. */
  constructor(
    unit: UnitParts,
    makeOutbox: (background: Background) => Outbox,
    onError: (error: unknown, during: string) => void,
  ) {
    this.#unit = unit;
    this.#makeOutbox = makeOutbox;
    this.#onError = onError;
    this.#background = new Background(onError);
    this.#outbox = makeOutbox(this.#background);
    this.#forgetting = this.#newForgetting();
  }

  /** Takes up all that waits, and from here on what commits tell. */
  async start(): Promise<void> {
    const { store } = this.#unit;
    const look = (topic: string, heard: (id: string) => void) =>
      store.hear(topic, (id) => {
        this.#stir();
        heard(id);
      });
    this.#hearing = [
      look(TOPIC.queue, (id) => this.#outbox.notify(id)),
      look(TOPIC.data, (id) => this.#process(id)),
      look(TOPIC.events, (id) => this.#forgetting.notify(id)),
    ];
    this.#forgetting.start();
    await this.#outbox.start();
    for (const id of await unprocessed(store)) this.#process(id);
  }

  get busy(): boolean {
    return this.#background.busy;
  }

  /** Finds out what expires next: asked before time is moved by hand, since a list that was empty may have grown. */
  async look(): Promise<void> {
    if (this.#hearing.length > 0) await this.#forgetting.look();
  }

  /** Resolves when nothing that can be done now is left undone. */
  idle(): Promise<void> {
    return this.#background.idle();
  }

  /** Resolves when there is something to do again. */
  stirred(): Promise<void> {
    return new Promise((resolve) => this.#stirring.push(resolve));
  }

  /** Does work that nobody waits for, except who waits for all of it. */
  run(what: string, work: () => Promise<void>): void {
    this.#background.run(what, work);
    this.#stir();
  }

  /** The deliveries that are due now and not attempted. */
  pending(): Promise<readonly DeliveryRecord[]> {
    return dueDeliveries(this.#unit.store, this.#unit.clock.now());
  }

  /** Ends what is under way; it may be started again. */
  async stop(): Promise<void> {
    for (const end of this.#hearing) end();
    this.#hearing = [];
    this.#forgetting.stop();
    this.#forgetting = this.#newForgetting();
    this.#outbox.stop();
    await this.#background.idle();
    this.#outbox = this.#makeOutbox(this.#background);
  }

  #stir(): void {
    for (const resolve of this.#stirring.splice(0)) resolve();
  }

  #process(id: string): void {
    this.#background.run("processing a data source", async () => {
      await processDataSource(new Unit(this.#unit), id);
    });
  }

  #newForgetting(): Forgetting {
    const { store, clock } = this.#unit;
    return forgetting({ store, clock, background: this.#background, onError: this.#onError });
  }
}
