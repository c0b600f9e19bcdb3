// Background workers: send deliveries, process data sources, and delete expired records. All pending work is in the
// store, so a stop loses nothing and a start resumes everything. Notifications of commits only say which records to
// check.
import { createOutbox, type OutboxDeps } from "./delivery/outbox.ts";
import { listUnprocessed, processDataSource } from "./domain/data-sources.ts";
import { moveBack } from "./domain/deliveries.ts";
import { createRetentionWorker, type RetentionWorker } from "./domain/retention.ts";
import { type Topic, UnitOfWork, type UnitOfWorkDeps } from "./domain/unit-of-work.ts";

const PROCESSING = "processing a data source";
/**
 * The delay before processing is retried after a failure in a single process: a full disk rarely has room a second
 * later, and the largest sources take one to read.
 */
const PROCESS_AGAIN_MS = 60_000;

export function createWorkers(deps: OutboxDeps & UnitOfWorkDeps) {
  const { store, clock, tasks, notifications } = deps;
  /** Undo functions for everything that start began; empty before. */
  let disposers: (() => void)[] = [];
  let sweeping: RetentionWorker | undefined;

  function subscribe(topic: Topic, listener: (id: string) => void): () => void {
    notifications.on(topic, listener);
    return () => void notifications.off(topic, listener);
  }

  const processSource = (id: string): Promise<void> =>
    tasks.run(PROCESSING, async () => {
      try {
        await processDataSource(new UnitOfWork(deps), id);
      } catch (error) {
        clock.schedule(clock.now() + PROCESS_AGAIN_MS, PROCESSING, () => processSource(id));
        throw error;
      }
    });

  /** Moves due times back with the clock. */
  function follow(setBack_ms: number): void {
    tasks.run("following a clock that was set back", () =>
      new UnitOfWork(deps).run((ctx) => moveBack(ctx, setBack_ms)),
    );
  }

  async function processAll(): Promise<void> {
    for (const id of await listUnprocessed(store)) processSource(id);
  }

  return {
    /** Resumes all pending work and subscribes to notifications of commits. */
    async start(): Promise<void> {
      const outbox = createOutbox(deps);
      sweeping = createRetentionWorker(deps, tasks);
      disposers = [
        subscribe("queue", outbox.notify),
        subscribe("data", processSource),
        subscribe("account", sweeping.notify),
        clock.onSetBack(follow),
        sweeping.stop,
        outbox.stop,
      ];
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
