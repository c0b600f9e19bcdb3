// Background workers: send deliveries, process data sources, and delete expired records. All pending work is in the
// store, so a stop loses nothing and a start resumes everything. Notifications of commits only say which records to
// check.
import { createOutbox, type Outbox, type OutboxDeps } from "./delivery/outbox.ts";
import { listUnprocessed, processDataSource } from "./domain/data-sources.ts";
import { moveBack } from "./domain/deliveries.ts";
import { TOPIC } from "./domain/model.ts";
import { createRetentionWorker, type RetentionWorker } from "./domain/retention.ts";
import { UnitOfWork, type UnitOfWorkDeps } from "./domain/unit-of-work.ts";
import { after, type Timer } from "./lib/clock.ts";

/**
 * How often to look for work left behind by other processes on the same data, since a process that ends publishes
 * nothing.
 */
const LOOK_AGAIN_MS = 3_000;
/** Pending deliveries checked each time. */
const LOOKED_AT = 1_000;
const PROCESSING = "processing a data source";
/** The lease is longer than processing takes for all but the largest sources. Duplicate processing is harmless. */
const PROCESSING_MS = 5_000;
/**
 * The delay before processing is retried after a failure in a single process: a full disk rarely has room a second
 * later, and the largest sources take one to read.
 */
const PROCESS_AGAIN_MS = 60_000;

export function createWorkers(deps: OutboxDeps & UnitOfWorkDeps) {
  const { store, clock, tasks } = deps;
  /** Undo functions for everything that start began; empty before. */
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

  /** Moves due times back with the clock, but not on shared data, where other processes have clocks of their own. */
  function follow(setBack_ms: number): void {
    if (store.now) return;
    tasks.run("following a clock that was set back", () =>
      store.transact((tx) => moveBack(tx, setBack_ms)),
    );
  }

  async function processAll(): Promise<void> {
    for (const id of await listUnprocessed(store)) processSource(id);
  }

  /** Polls in real time, because it looks for real processes that have ended; runs until the stop. */
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
    /** Resumes all pending work and subscribes to notifications of commits. */
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
    /** Aborts or finishes the running work; start may be called again. */
    async stop(): Promise<void> {
      for (const end of disposers.splice(0)) end();
      await tasks.idle();
    },
    /** Schedules the next expiry. Called before time is moved by hand, because an empty list may have grown. */
    look: async () => sweeping?.runExpiry(),
  };
}
