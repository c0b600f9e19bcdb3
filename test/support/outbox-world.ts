// An outbox with a store, a clock and an account, and no HTTP in front: events are added by calls, receivers are
// real sockets. It does not load the test runner, which tracks every promise: timings would double.

import { type OutboxDeps, RETRY_WAITS_MS } from "../../src/delivery/outbox.ts";
import { createHttpSender } from "../../src/delivery/sender.ts";
import { collections } from "../../src/domain/collections.ts";
import { AppError } from "../../src/domain/errors.ts";
import { listDueDeliveries, recordEvent } from "../../src/domain/events.ts";
import {
  type AccountRecord,
  accounts,
  deliveries,
  type WebhookRecord,
} from "../../src/domain/model.ts";
import { ALL_RECORDS } from "../../src/domain/store.ts";
import { createNotifications, UnitOfWork } from "../../src/domain/unit-of-work.ts";
import { webhookService } from "../../src/domain/webhooks.ts";
import { AdjustableClock } from "../../src/lib/clock.ts";
import { seededRandom, TimeOrderedIds } from "../../src/lib/ids.ts";
import { TaskTracker } from "../../src/lib/tasks.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { createWorkers } from "../../src/workers.ts";

export const START = Date.UTC(2026, 0, 1);

export type World = Awaited<ReturnType<typeof outboxWorld>>;

export const accountOf = (id: string): AccountRecord => ({
  id,
  name: `Account ${id}`,
  state: "active",
});

/** Returns the value, or throws if it is an error or undefined. */
export function kept<T>(value: T | AppError | undefined) {
  if (value === undefined || value instanceof AppError)
    throw new Error(`Not a value: ${JSON.stringify(value)}`);
  return value;
}

/** An isolated world. Its clock stands still, so nothing happens unless a test causes it. */
export async function outboxWorld(options: Partial<OutboxDeps> & { clock?: AdjustableClock } = {}) {
  const { store = memoryStore(), clock = new AdjustableClock(START) } = options;
  const account = accountOf("acc_1");
  if (options.store === undefined) {
    await store.open(collections);
    await store.transact((tx) => tx.put(accounts, account));
  }
  const ids = new TimeOrderedIds(clock, seededRandom("outbox"));
  const errors: unknown[] = [];
  const tasks = new TaskTracker((error) => errors.push(error));
  const parts = { store, clock, ids, notifications: createNotifications() };
  const unitOfWork = new UnitOfWork(parts);
  const workers = createWorkers({
    tasks,
    sender: createHttpSender({ policy: "local", timeout_ms: 2_000 }),
    timestamp: () => clock.now(),
    retryWaits_ms: RETRY_WAITS_MS,
    onAttempt: () => undefined,
    ...options,
    ...parts,
  });
  await workers.start();
  return {
    clock,
    store,
    parts,
    unitOfWork,
    workers,
    tasks,
    account,
    errors,
    stop: workers.stop,
    /** Resolves when every delivery that is due now is attempted and recorded. */
    idle: () => tasks.idle(),
    async advance(by_ms: number) {
      await tasks.idle();
      return clock.advance(by_ms, () => tasks.idle());
    },
    webhook: async (url: string) =>
      kept(
        await webhookService.create(unitOfWork, account, {
          url,
          events: ["app.created"],
          secret: "whsecret",
          active: true,
        }),
      ),
    emit: async (object: object = {}, from: AccountRecord = account) =>
      kept(
        await unitOfWork.run((ctx) =>
          recordEvent({ ...ctx, account: from }, "app.created", object),
        ),
      ),
    log: ({ id }: WebhookRecord) => store.page(deliveries, "webhook", [id], ALL_RECORDS),
    pending: () => listDueDeliveries(store, clock.now()),
  };
}
