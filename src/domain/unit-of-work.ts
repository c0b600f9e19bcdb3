// The unit of work: one store transaction with one timestamp. It rolls back if the work returns an AppError. After the
// commit it publishes the ids of changed records; subscribers then query for due work.
import { EventEmitter } from "node:events";
import { type Clock, type Instant, toIso } from "../lib/clock.ts";
import type { Ids } from "../lib/ids.ts";
import { AppError } from "./errors.ts";
import type { AccountRecord } from "./model.ts";
import { isStoreError, type Store, type Tx } from "./store.ts";

/** Published after a commit, each with the id of a record. */
interface NotificationMap {
  /** A delivery was created or changed. */
  deliveryChanged: [deliveryId: string];
  /** A webhook's pending deliveries changed. */
  queueChanged: [webhookId: string];
  /** A webhook was disabled or deleted, so its pending deliveries must be cancelled. */
  webhookStopped: [webhookId: string];
  eventRecorded: [eventId: string];
  /** A data source waits for processing. */
  dataSourceCreated: [dataSourceId: string];
}
type Topic = keyof NotificationMap;
export type Notifications = EventEmitter<NotificationMap>;
export const createNotifications = (): Notifications => new EventEmitter<NotificationMap>();

export interface TxContext {
  readonly tx: Tx;
  readonly now: Instant;
  /** `now` as an ISO 8601 string. */
  readonly timestamp: string;
  readonly ids: Ids;
  /** The id of the request that caused the work; null when none did. */
  readonly requestId: string | null;
  /** Publishes `id` to the topic's subscribers after the commit. Duplicates are sent once. */
  publish(topic: Topic, id: string): void;
}

/** The context of work for one account. */
export interface AccountContext extends TxContext {
  readonly account: AccountRecord;
}

/** A draft with an optional id, which a seed may set. */
export type WithOptionalId<D> = D & { readonly id?: string | undefined };

export interface UnitOfWorkDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly notifications: Notifications;
}

export class UnitOfWork {
  readonly store: Store;

  constructor(
    private readonly deps: UnitOfWorkDeps,
    private readonly requestId: string | null = null,
    /** Called at the end of each transaction, before the commit, with the value that the work returned. */
    private readonly beforeCommit?: (ctx: TxContext, value: unknown) => Promise<void>,
  ) {
    this.store = deps.store;
  }

  /** Runs `work` in one transaction and rolls back if it returns an error. */
  async run<T>(work: (ctx: TxContext) => Promise<T>): Promise<T> {
    const { store, clock, ids, notifications } = this.deps;
    let published = new Map<string, [topic: Topic, id: string]>();
    const emitPublished = () => {
      for (const [topic, id] of published.values()) notifications.emit(topic, id);
    };
    let result: T;
    try {
      result = await store.transact(async (tx) => {
        published = new Map(); // the store may run the work again
        const now = clock.now();
        const ctx: TxContext = {
          tx,
          now,
          timestamp: toIso(now),
          ids,
          requestId: this.requestId,
          publish: (topic, id) => void published.set(`${topic} ${id}`, [topic, id]),
        };
        const value = await work(ctx);
        if (value instanceof AppError) throw value; // thrown so that the store rolls back
        if (this.beforeCommit) await this.beforeCommit(ctx, value);
        return value;
      });
    } catch (error) {
      if (error instanceof AppError) return error as T; // the value that `work` returned
      // The store may have committed. After a rollback the subscribers find nothing to do.
      if (!isStoreError(error, "StorageUnavailable")) emitPublished();
      throw error;
    }
    emitPublished();
    return result;
  }
}
