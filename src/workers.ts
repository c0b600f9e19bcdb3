// What goes on behind the answers: deliveries are sent, data sources processed, old records forgotten. Everything that
// is to be done stands in the store, so a stop loses nothing and a start takes it all up again; what commits tell meanwhile
// only says where to look.
import { type Outbox, type OutboxParts, outboxOf } from "./delivery/outbox.ts";
import { processDataSource, unprocessed } from "./domain/data-sources.ts";
import { moveBack } from "./domain/deliveries.ts";
import { type Forgetting, forgetting } from "./domain/forgetting.ts";
import { TOPIC } from "./domain/model.ts";
import { Unit, type UnitParts } from "./domain/work.ts";
import { after, type Scheduled } from "./kit/clock.ts";

/** Where other processes are on the same data, one that has ended leaves its work behind, and nothing is told of that. */
const LOOK_AGAIN_MS = 3_000;
/** Of the deliveries that wait, so many are looked at each time. */
const LOOKED_AT = 1_000;
const PROCESSING = "processing a data source";
/** Longer than processing takes but for the largest; two that do the same harm nothing. */
const PROCESSING_MS = 5_000;
/** Where it could not be kept and nobody else looks: no disk has room again in a second, and the largest take one to read. */
const PROCESS_AGAIN_MS = 60_000;

export function workersOf(parts: OutboxParts & UnitParts) {
  const { store, clock, background } = parts;
  /** Each ends something that the start began; none before. */
  let ends: (() => void)[] = [];
  let sweeping: Forgetting | undefined;
  let timer: Scheduled | undefined;

  const processSource = (id: string): Promise<void> =>
    background.run(PROCESSING, async () => {
      const lease = await store.lease(`data ${id}`, PROCESSING_MS);
      try {
        if (lease) await processDataSource(new Unit(parts), id);
      } catch (error) {
        if (!store.now) clock.schedule(clock.now() + PROCESS_AGAIN_MS, PROCESSING, () => processSource(id));
        throw error;
      } finally {
        await lease?.release();
      }
    });

  /** Other processes on the same data have clocks of their own. */
  function follow(setBack_ms: number): void {
    if (store.now) return;
    background.run("following a clock that was set back", () => store.transact((tx) => moveBack(tx, setBack_ms)));
  }

  async function processAll(): Promise<void> {
    for (const id of await unprocessed(store)) processSource(id);
  }

  /** Looks every few seconds, in real time, as it is real processes that end; until the stop. */
  function lookAgain(outbox: Outbox, offset = 0): void {
    let rows = 0;
    const look = async () => {
      rows = await outbox.takeUp({ offset, limit: LOOKED_AT });
      await processAll();
    };
    timer = after(LOOK_AGAIN_MS, async () => {
      await background.run("looking for what others left behind", look);
      if (ends.length > 0) lookAgain(outbox, rows < LOOKED_AT ? 0 : offset + rows);
    });
  }

  return {
    /** Takes up all that waits, and from here on what commits tell. */
    async start(): Promise<void> {
      const outbox = outboxOf(parts);
      sweeping = forgetting(parts, background);
      ends = [
        store.hear(TOPIC.queue, outbox.notify),
        store.hear(TOPIC.data, processSource),
        store.hear(TOPIC.events, sweeping.notify),
        clock.onSetBack(follow),
        sweeping.stop,
        outbox.stop,
        () => timer?.cancel(),
      ];
      if (store.now) lookAgain(outbox);
      void sweeping.look();
      await outbox.takeUp();
      await processAll();
    },
    /** Ends what is under way; it may be started again. */
    async stop(): Promise<void> {
      for (const end of ends.splice(0)) end();
      await background.idle();
    },
    /** Finds out what expires next: asked before time is moved by hand, since a list that was empty may have grown. */
    look: async () => sweeping?.look(),
  };
}
