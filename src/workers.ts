// What goes on behind the answers: deliveries are sent, data sources processed, old records forgotten. Everything that
// is to be done stands in the store, so a stop loses nothing and a start takes it all up again.
import type { Outbox } from "./delivery/outbox.ts";
import { unprocessed } from "./domain/data-sources.ts";
import { EXPIRING } from "./domain/expiring.ts";
import { Expiry } from "./domain/expiry.ts";
import { type DeliveryRecord, deliveries } from "./domain/model.ts";
import { Sweeper } from "./domain/retention.ts";
import { type Due, Unit, type UnitParts } from "./domain/work.ts";
import { Background } from "./kit/background.ts";
import { Later } from "./kit/later.ts";

export class Workers {
  readonly #unit: UnitParts;
  readonly #makeOutbox: () => Promise<Outbox>;
  readonly #background: Background;
  /** Made with the first delivery: most services start and end without one. */
  #outbox: Later<Outbox>;
  readonly #onError: (error: unknown, during: string) => void;
  readonly #sweeper: Sweeper;
  #expiry: Expiry;
  #started = false;
  readonly #stirring: (() => void)[] = [];

  /** `makeOutbox`: one for each start, since an outbox has one life. */
  constructor(unit: UnitParts, makeOutbox: () => Promise<Outbox>, onError: (error: unknown, during: string) => void) {
    this.#unit = unit;
    this.#makeOutbox = makeOutbox;
    this.#outbox = new Later(makeOutbox);
    this.#onError = onError;
    this.#background = new Background(onError);
    this.#sweeper = new Sweeper(unit.store, this.#background);
    this.#expiry = this.#newExpiry();
  }

  /** Takes up all that waits. */
  async start(): Promise<void> {
    this.#started = true;
    await this.#expiry.look();
    if (await this.#queued()) await this.#startOutbox();
    for (const id of await unprocessed(this.#unit.store)) this.#process(id);
  }

  /** What a commit made due; before the start nothing is begun. */
  due(due: Due): void {
    if (!this.#started) return;
    for (const resolve of this.#stirring.splice(0)) resolve();
    if (due.webhooks.length > 0) this.#notify(due.webhooks);
    for (const id of due.dataSources) this.#process(id);
    this.#sweeper.notify(due.sweeps);
  }

  get busy(): boolean {
    return this.#background.busy || (this.#outbox.loaded?.busy ?? false);
  }

  /** Finds out what expires next: asked before time is moved by hand, since a list that was empty may have grown. */
  async look(): Promise<void> {
    if (this.#started) await this.#expiry.look();
  }

  /** Resolves when nothing that can be done now is left undone. */
  async idle(): Promise<void> {
    while (this.busy) {
      await this.#background.idle();
      await this.#outbox.loaded?.idle();
    }
  }

  /** Resolves when there is something to do again. */
  stirred(): Promise<void> {
    return new Promise((resolve) => this.#stirring.push(resolve));
  }

  /** Has every queue looked at again. */
  wake(): void {
    if (!this.#started) return;
    this.#background.run("webhook deliveries", () => this.#startOutbox());
    for (const resolve of this.#stirring.splice(0)) resolve();
  }

  /** The deliveries that are due now and not attempted. */
  async pending(): Promise<readonly DeliveryRecord[]> {
    return (await this.#queued()) ? (await this.#outbox.get()).pending() : [];
  }

  /** Ends what is under way; it may be started again. */
  async stop(): Promise<void> {
    this.#started = false;
    this.#expiry.stop();
    this.#expiry = this.#newExpiry();
    await this.#background.idle();
    await this.#outbox.loaded?.stop();
    this.#outbox = new Later(this.#makeOutbox);
  }

  async #queued(): Promise<boolean> {
    const queues = await this.#unit.store.groups(deliveries, "queue");
    return queues.length > 0;
  }

  async #startOutbox(): Promise<void> {
    await (await this.#outbox.get()).start();
  }

  #notify(webhooks: readonly string[]): void {
    const { loaded } = this.#outbox;
    if (loaded) loaded.notify(webhooks);
    // All that waits: also what an earlier load, had it failed, would have left behind.
    else this.#background.run("webhook deliveries", () => this.#startOutbox());
  }

  #process(id: string): void {
    this.#background.run("processing a data source", async () => {
      const { processDataSource } = await import("./domain/data-processing.ts");
      await processDataSource(new Unit(this.#unit), id);
    });
  }

  #newExpiry(): Expiry {
    const { store, clock } = this.#unit;
    return new Expiry({ store, clock, lists: EXPIRING, onError: this.#onError });
  }
}
