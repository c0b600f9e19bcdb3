// What goes on behind the answers: deliveries are sent, data sources processed, old records forgotten. Everything that
// is to be done stands in the store, so a stop loses nothing and a start takes it all up again; what commits tell meanwhile
// only says where to look.
import { createOutbox, type Outbox, type OutboxDeps } from "./delivery/outbox.ts";
import { listUnprocessed, processDataSource } from "./domain/data-sources.ts";
import { moveBack } from "./domain/deliveries.ts";
import { TOPIC } from "./domain/model.ts";
import { createRetentionWorker, type RetentionWorker } from "./domain/retention.ts";
import { UnitOfWork, type UnitOfWorkDeps } from "./domain/unit-of-work.ts";
import { after, type Timer } from "./lib/clock.ts";

/** Where other processes are on the same data, one that has ended leaves its work behind, and nothing is told of that. */
const LOOK_AGAIN_MS = 3_000;
/** Of the deliveries that wait, so many are looked at each time. */
const LOOKED_AT = 1_000;
const PROCESSING = "processing a data source";
/** Longer than processing takes but for the largest; two that do the same harm nothing. */
const PROCESSING_MS = 5_000;
/** Where it could not be kept and nobody else looks: no disk has room again in a second, and the largest take one to read. */
const PROCESS_AGAIN_MS = 60_000;

export function createWorkers(deps: OutboxDeps & UnitOfWorkDeps) {
  const { store, clock, tasks } = deps;
  /** Each ends something that the start began; none before. */
  let disposers: (() => void)[] = [];
  let sweeping: RetentionWorker | undefined;
  let timer: Timer | undefined;

  const processSource = (id: string): Promise<void> =>
    tasks.run(PROCESSING, async () => {
      const lease = await store.lease(`data ${id}`, PROCESSING_MS);
      try {
        if (lease) await processDataSource(new UnitOfWork(deps), id);
      } catch (error) {
        if (!store.now)
          clock.schedule(clock.now() + PROCESS_AGAIN_MS, PROCESSING, () => processSource(id));
        throw error;
      } finally {
        await lease?.release();
      }
    });

  /** Other processes on the same data have clocks of their own. */
  function follow(setBack_ms: number): void {
    if (store.now) return;
    tasks.run("following a clock that was set back", () =>
      store.transact((tx) => moveBack(tx, setBack_ms)),
    );
  }

  async function processAll(): Promise<void> {
    for (const id of await listUnprocessed(store)) processSource(id);
  }

  /** Looks every few seconds, in real time, as it is real processes that end; until the stop. */
  function lookAgain(outbox: Outbox, offset = 0): void {
    let rows = 0;
    const look = async () => {
      rows = await outbox.resume({ offset, limit: LOOKED_AT });
      await processAll();
    };
    timer = after(LOOK_AGAIN_MS, async () => {
      await tasks.run("looking for what others left behind", look);
      if (disposers.length > 0) lookAgain(outbox, rows < LOOKED_AT ? 0 : offset + rows);
    });
  }

  return {
    /** Takes up all that waits, and from here on what commits tell. */
    async start(): Promise<void> {
      const outbox = createOutbox(deps);
      sweeping = createRetentionWorker(deps, tasks);
      disposers = [
        store.subscribe(TOPIC.queue, outbox.notify),
        store.subscribe(TOPIC.data, processSource),
        store.subscribe(TOPIC.events, sweeping.notify),
        clock.onSetBack(follow),
        sweeping.stop,
        outbox.stop,
        () => timer?.cancel(),
      ];
      if (store.now) lookAgain(outbox);
      void sweeping.runExpiry();
      await outbox.resume();
      await processAll();
    },
    /** Ends what is under way; it may be started again. */
    async stop(): Promise<void> {
      for (const end of disposers.splice(0)) end();
      await tasks.idle();
    },
    /** Finds out what expires next: asked before time is moved by hand, since a list that was empty may have grown. */
    look: async () => sweeping?.runExpiry(),
  };
}
