// Background workers: send deliveries, process data sources, and delete expired records. All pending work is in the
// store, so a stop loses nothing and a start resumes everything. Notifications of commits only say which records to
// check.
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
  let outbox: Outbox | undefined;
  let retention: Retention | undefined;
  /** The timer of each data source whose processing failed. */
  const retries = new Map<string, Timer>();

  const processSource = (id: string): Promise<void> =>
    tasks.run(PROCESSING, async () => {
      try {
        await processDataSource(unitOfWork, id);
      } catch (error) {
        const retryAt = clock.now() + PROCESSING_RETRY_MS;
        retries.set(
          id,
          clock.schedule(retryAt, PROCESSING, () => processSource(id)),
        );
        throw error;
      }
    });

  notifications.on("queueChanged", (webhookId) => outbox?.notify(webhookId));
  notifications.on("webhookStopped", (webhookId) =>
    tasks.run("cancelling deliveries", async () => {
      await nextTurn(); // lets the response go first
      await unitOfWork.run((ctx) => cancelUndeliverable(ctx, webhookId));
    }),
  );
  notifications.on("dataSourceCreated", (id) => {
    if (outbox) processSource(id);
  });
  clock.onSetBack((by_ms) => {
    if (outbox)
      tasks.run("following a clock that was set back", () =>
        unitOfWork.run((ctx) => shiftPendingDeliveries(ctx, by_ms)),
      );
  });

  return {
    /** Resumes all pending work. */
    async start(): Promise<void> {
      outbox = createOutbox(deps);
      retention = createRetention(deps);
      retention.run();
      await outbox.resume();
      for (const id of await listUnprocessed(store)) processSource(id);
    },
    /** Aborts or finishes the running work; `start` may be called again. */
    async stop(): Promise<void> {
      outbox?.stop();
      retention?.stop();
      outbox = undefined;
      retention = undefined;
      await tasks.idle();
      for (const retry of retries.values()) retry.cancel();
      retries.clear();
    },
    /** Finds the next expiry again, because records were created since the last run; before time is moved by hand. */
    runRetention: async (): Promise<void> => retention?.run(),
  };
}
