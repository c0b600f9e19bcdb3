// What goes on behind the answers: deliveries are sent, data sources processed, old records forgotten. Everything that
// is to be done stands in the store, so a stop loses nothing and a start takes it all up again.
import type { Outbox } from "./delivery/outbox.ts";
import { processDataSource, unprocessed } from "./domain/data-processing.ts";
import { EXPIRING } from "./domain/expiring.ts";
import { Expiry } from "./domain/expiry.ts";
import type { DeliveryRecord } from "./domain/model.ts";
import { Sweeper } from "./domain/retention.ts";
import { type Due, Unit, type UnitParts } from "./domain/work.ts";
import { Background } from "./kit/background.ts";

export class Workers {
  readonly #unit: UnitParts;
  readonly #makeOutbox: () => Outbox;
  readonly #background: Background;
  #outbox: Outbox;
  readonly #onError: (error: unknown, during: string) => void;
  readonly #sweeper: Sweeper;
  #expiry: Expiry;
  #started = false;
  readonly #stirring: (() => void)[] = [];

  /** `makeOutbox`: one for each start, since an outbox has one life. */
  constructor(unit: UnitParts, makeOutbox: () => Outbox, onError: (error: unknown, during: string) => void) {
    this.#unit = unit;
    this.#makeOutbox = makeOutbox;
    this.#outbox = makeOutbox();
    this.#onError = onError;
    this.#background = new Background(onError);
    this.#sweeper = new Sweeper(unit.store, this.#background);
    this.#expiry = this.#newExpiry();
  }

  /** Takes up all that waits. */
  async start(): Promise<void> {
    this.#started = true;
    await this.#expiry.look();
    await this.#outbox.start();
    for (const id of await unprocessed(this.#unit.store)) this.#process(id);
  }

  /** What a commit made due; before the start nothing is begun. */
  due(due: Due): void {
    if (!this.#started) return;
    for (const resolve of this.#stirring.splice(0)) resolve();
    this.#outbox.notify(due.webhooks);
    for (const id of due.dataSources) this.#process(id);
    this.#sweeper.notify(due.sweeps);
  }

  get busy(): boolean {
    return this.#background.busy || this.#outbox.busy;
  }

  /** Finds out what expires next: asked before time is moved by hand, since a list that was empty may have grown. */
  async look(): Promise<void> {
    if (this.#started) await this.#expiry.look();
  }

  /** Resolves when nothing that can be done now is left undone. */
  async idle(): Promise<void> {
    while (this.busy) {
      await this.#background.idle();
      await this.#outbox.idle();
    }
  }

  /** Resolves when there is something to do again. */
  stirred(): Promise<void> {
    return new Promise((resolve) => this.#stirring.push(resolve));
  }

  /** Has every queue looked at again. */
  wake(): void {
    if (!this.#started) return;
    this.#background.run("webhook deliveries", () => this.#outbox.start());
    for (const resolve of this.#stirring.splice(0)) resolve();
  }

  /** The deliveries that are due now and not attempted. */
  pending(): Promise<readonly DeliveryRecord[]> {
    return this.#outbox.pending();
  }

  /** Ends what is under way; it may be started again. */
  async stop(): Promise<void> {
    this.#started = false;
    this.#expiry.stop();
    this.#expiry = this.#newExpiry();
    await this.#background.idle();
    await this.#outbox.stop();
    this.#outbox = this.#makeOutbox();
  }

  #process(id: string): void {
    this.#background.run("processing a data source", async () => {
      await processDataSource(new Unit(this.#unit), id);
    });
  }

  #newExpiry(): Expiry {
    const { store, clock } = this.#unit;
    return new Expiry({ store, clock, lists: EXPIRING, onError: this.#onError });
  }
}
