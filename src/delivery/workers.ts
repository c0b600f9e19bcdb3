// What goes on behind the answers: deliveries are sent, data sources processed, old records forgotten. Everything that
// is to be done stands in the store, so a stop loses nothing and a start takes it all up again; what commits tell meanwhile
// only says where to look. Waiting for all of it is no guess and no sleep (contract, part 10).
import { once } from "node:events";
import { processDataSource, unprocessed } from "../domain/data-sources.ts";
import { dueDeliveries } from "../domain/deliveries.ts";
import { type Forgetting, forgetting } from "../domain/forgetting.ts";
import { TOPIC } from "../domain/model.ts";
import { Unit, type UnitParts } from "../domain/work.ts";
import { Background } from "../kit/background.ts";
import type { Outbox } from "./outbox.ts";

export interface WorkersParts extends UnitParts {
  /** An outbox has one life, so each start makes one. */
  readonly makeOutbox: () => Outbox;
  readonly onError: (error: unknown, during: string) => void;
}

export class Workers extends Background {
  readonly #parts: WorkersParts;
  /** Each resolves a wait for something to do. */
  readonly #stirring: (() => void)[] = [];
  /** Each ends something that the start began; none before. */
  #ends: (() => void)[] = [];
  #forgetting: Forgetting | undefined;

  constructor(parts: WorkersParts) {
    super(parts.onError);
    this.#parts = parts;
  }

  /** Takes up all that waits, and from here on what commits tell. */
  async start(): Promise<void> {
    const { store, makeOutbox } = this.#parts;
    const outbox = makeOutbox();
    const sweeping = forgetting({ ...this.#parts, background: this });
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
    await this.idle();
  }

  override run(what: string, work: () => Promise<void>): Promise<void> {
    for (const resolve of this.#stirring.splice(0)) resolve();
    return super.run(what, work);
  }

  /** Finds out what expires next: asked before time is moved by hand, since a list that was empty may have grown. */
  async look(): Promise<void> {
    await this.#forgetting?.look();
  }

  /**
   * Answers when every delivery that is due now has been attempted, or at the time-out which have not. The time-out is in
   * real time, because sockets are.
   */
  async settled(timeout_ms: number) {
    const { store, clock } = this.#parts;
    const patience = AbortSignal.timeout(timeout_ms);
    const passed = once(patience, "abort");
    for (;;) {
      await Promise.race([this.idle(), passed]);
      const pending = await dueDeliveries(store, clock.now());
      const settled = pending.length === 0 && !this.busy;
      if (settled || patience.aborted) return { settled, pending };
      const stirred = new Promise<void>((resolve) => this.#stirring.push(resolve));
      if (!this.busy) await Promise.race([stirred, passed]);
    }
  }

  #process(id: string): void {
    this.run("processing a data source", async () => {
      await processDataSource(new Unit(this.#parts), id);
    });
  }
}
