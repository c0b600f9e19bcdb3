// Background workers: send deliveries, process data sources, and delete expired records. All pending work is in the
// store, so a stop loses nothing and a start resumes everything. Notifications of commits only say which records to
// check.
import { AsyncResource } from "node:async_hooks";
import { createOutbox, type Outbox, type OutboxDeps } from "./delivery/outbox.ts";
import { listUnprocessed, processDataSource } from "./domain/data-sources.ts";
import { cancelUndeliverable, shiftPendingDeliveries } from "./domain/events.ts";
import { createRetention, type Retention } from "./domain/retention.ts";
import { UnitOfWork } from "./domain/unit-of-work.ts";
import { nextTurn, type Timer } from "./lib/clock.ts";

const PROCESSING = "processing a data source";
/** The delay before a failed processing is retried: a full disk rarely has room a second later. */
const PROCESSING_RETRY_MS = 60_000;

export function createWorkers(deps: OutboxDeps) {
  const { store, clock, tasks, notifications } = deps;
  const unitOfWork = new UnitOfWork(deps);
  /** Undefined while the workers are stopped. */
  let running: { outbox: Outbox; retention: Retention } | undefined;
  /** The timers of data sources whose processing failed. */
  const retries: Timer[] = [];

  const processSource = (id: string): Promise<void> =>
    tasks.run(PROCESSING, async () => {
      try {
        await processDataSource(unitOfWork, id);
      } catch (error) {
        retries.push(
          clock.schedule(clock.now() + PROCESSING_RETRY_MS, PROCESSING, () => processSource(id)),
        );
        throw error;
      }
    });

  notifications.on("queueChanged", (webhookId) => running?.outbox.notify(webhookId));
  notifications.on("webhookStopped", (webhookId) =>
    tasks.run("cancelling deliveries", async () => {
      await nextTurn(); // lets the response go first
      await unitOfWork.run((ctx) => cancelUndeliverable(ctx, webhookId));
    }),
  );
  notifications.on("dataSourceCreated", (id) => running && processSource(id));
  // A unit of work may be what finds the clock set back, and must not seem to call its store itself.
  clock.onSetBack(
    AsyncResource.bind((by_ms: number) => {
      if (running)
        tasks.run("following a clock that was set back", () =>
          unitOfWork.run((ctx) => shiftPendingDeliveries(ctx, by_ms)),
        );
    }),
  );

  return {
    /** Resumes all pending work. */
    async start(): Promise<void> {
      running = { outbox: createOutbox(deps), retention: createRetention(deps) };
      running.retention.run();
      await running.outbox.resume();
      for (const id of await listUnprocessed(store)) processSource(id);
    },
    /** Aborts or finishes the running work; `start` may be called again. */
    async stop(): Promise<void> {
      running?.outbox.stop();
      running?.retention.stop();
      running = undefined;
      await tasks.idle();
      for (const retry of retries.splice(0)) retry.cancel();
    },
    /** Finds the next expiry again before the clock is advanced, because records may have been created meanwhile. */
    runRetention: async () => running?.retention.run(),
  };
}
