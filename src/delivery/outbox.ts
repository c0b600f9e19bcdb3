// The outbox (spec part 6; contract, part 6): takes due deliveries from their rows, has each attempted and writes down
// what came of it. The rows are the truth; what is held here is only which queue is looked at when, and is rebuilt at a
// start, so a crash loses nothing and what was under way is sent again. It has one life: start, stop.
import { cancelUnwanted, dueAt, isRetry, isWanted, type Made, recordAttempt, succeeded } from "../domain/deliveries.ts";
import { type DeliveryRecord, deliveries, webhooks } from "../domain/model.ts";
import { isStoreError } from "../domain/store.ts";
import type { Instant, Scheduled } from "../kit/clock.ts";
import { type AttemptParts, makeAttempt } from "./attempt.ts";

export interface OutboxParts extends AttemptParts {
  /** How many attempts at once for one webhook. */
  readonly concurrency: number;
  /** How long a claimed row is left to its claimer: longer than an attempt can take. */
  readonly lease_ms: number;
  readonly onError: (error: unknown, during: string) => void;
}

const WHAT = "webhook deliveries";
/** What waits beyond is a row in the store and costs no socket. */
const AT_ONCE_MAX = 256;
/** Of these for retries and where the last attempt failed: each may last 30 s, and a quarter stays for who answers. */
const DOUBTFUL_MAX = 192;
/** How long a lane waits after the store failed it, or while another process holds its next row. */
const PAUSE_MS = 1_000;

/** A queue with something in it. */
class Lane {
  readonly underWay = new Set<string>();
  /** Deliveries that the sender does not want to send now. */
  readonly heldBack = new Set<string>();
  /** Attempts that were made and could not be written down yet. */
  readonly unrecorded = new Map<string, Made>();
  failing = false;
  timer: Scheduled | undefined;
  readonly queue: string;

  constructor(queue: string) {
    this.queue = queue;
  }

  isFree({ id }: DeliveryRecord): boolean {
    return !this.underWay.has(id) && !this.heldBack.has(id) && !this.unrecorded.has(id);
  }
}

export class Outbox {
  readonly #parts: OutboxParts;
  readonly #lanes = new Map<string, Lane>();
  /** The lanes that could send now, each with its row: first attempts, those of failing webhooks, retries. */
  readonly #ready: readonly Map<Lane, DeliveryRecord>[] = [new Map(), new Map(), new Map()];
  #underWay = 0;
  #doubtful = 0;
  /** Queues that have changed and were not looked at since. */
  readonly #told = new Set<string>();
  #turning = false;
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  /** Makes the clock, when it is advanced, wait for what runs. */
  #hold: Scheduled | undefined;
  #stopped = false;
  #unavailable = false;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  /** Takes up every delivery that is still to be sent, or to be cancelled. */
  async start(): Promise<void> {
    const limit = 500;
    const queues = new Set<string>();
    for (let offset = 0, length = limit; length === limit; offset += limit) {
      const rows = await this.#parts.store.page(deliveries, "waiting", ["pending"], { offset, limit });
      for (const { queue_of } of rows) if (queue_of !== null) queues.add(queue_of);
      length = rows.length;
    }
    for (const queue of queues) this.notify(queue);
  }

  /** This queue has changed. */
  notify(queue: string): void {
    this.#told.add(queue);
    this.#proceed();
  }

  get busy(): boolean {
    return this.#running > 0;
  }

  /** Resolves when nothing that is due now is left unattempted and unrecorded. */
  async idle(): Promise<void> {
    if (this.busy) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Breaks off what is under way; its rows stay and are sent after the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { timer } of this.#lanes.values()) timer?.cancel();
    this.#parts.sender.close();
    await this.idle();
  }

  async #run(work: () => Promise<void>): Promise<void> {
    const { clock, onError } = this.#parts;
    if (this.#running === 0) this.#hold = clock.schedule(clock.now(), WHAT, () => this.idle());
    this.#running += 1;
    try {
      await work();
    } catch (error) {
      onError(error, WHAT);
    }
    this.#running -= 1;
    if (this.#running > 0) return;
    this.#hold?.cancel();
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /**
   * At the end of this turn of the event loop, looks at the queues that have changed and sends what is ready. So an
   * answer leaves before the deliveries that its commit has caused, and posts go out together: a receiver is then woken
   * once for many, which saves the sender some 10 us of system time a post.
   */
  #proceed(): void {
    if (this.#turning || this.#stopped) return;
    this.#turning = true;
    void this.#run(async () => {
      await new Promise(setImmediate);
      const told = [...this.#told];
      this.#told.clear();
      await Promise.all(told.map((queue) => this.#look(queue)));
      this.#turning = false;
      this.#sendReady();
      if (this.#told.size > 0) this.#proceed();
    });
  }

  async #look(queue: string): Promise<void> {
    const { store, concurrency } = this.#parts;
    const lane = this.#lanes.get(queue) ?? new Lane(queue);
    this.#lanes.set(queue, lane);
    try {
      for (const sent of lane.unrecorded.values()) await this.#record(lane, sent);
      const limit = concurrency + lane.heldBack.size;
      const rows = await store.page(deliveries, "queue", [queue], { offset: 0, limit });
      const webhook = rows[0] && (await store.get(webhooks, rows[0].webhook_id));
      if (rows.every((row) => isWanted(row, webhook))) return this.#place(lane, rows);
      await store.transact((tx) => cancelUnwanted(tx, queue));
      this.notify(queue);
    } catch (error) {
      this.#pause(lane, error);
    }
  }

  /** Puts the lane where its next row belongs: among the ready ones, or to its time. */
  #place(lane: Lane, rows: readonly DeliveryRecord[]): void {
    lane.timer?.cancel();
    if (rows.length === 0 && lane.underWay.size === 0) this.#lanes.delete(lane.queue);
    const full = lane.underWay.size >= this.#parts.concurrency;
    const next = full ? undefined : rows.find((row) => lane.isFree(row));
    const later = next !== undefined && dueAt(next) > this.#parts.clock.now();
    if (later) this.#wakeAt(lane, dueAt(next));
    const rank = next === undefined || later ? undefined : isRetry(next) ? 2 : lane.failing ? 1 : 0;
    for (const [at, lanes] of this.#ready.entries())
      if (next !== undefined && at === rank) lanes.set(lane, next);
      else lanes.delete(lane);
  }

  #wakeAt(lane: Lane, at: Instant): void {
    lane.timer?.cancel();
    if (this.#stopped) return;
    lane.timer = this.#parts.clock.schedule(at, WHAT, () => {
      this.notify(lane.queue);
      return this.idle();
    });
  }

  #sendReady(): void {
    for (const [rank, lanes] of this.#ready.entries())
      for (const [lane, row] of lanes) {
        const full = this.#underWay >= AT_ONCE_MAX || (rank > 0 && this.#doubtful >= DOUBTFUL_MAX);
        if (full || this.#stopped) return;
        lanes.delete(lane);
        void this.#run(() => this.#deliver(lane, row.id, rank > 0 ? 1 : 0));
        if (lane.underWay.size < this.#parts.concurrency) this.notify(lane.queue);
      }
  }

  /** Has a place, and the lane's, until it ends. */
  async #deliver(lane: Lane, id: string, doubtful: 0 | 1): Promise<void> {
    lane.underWay.add(id);
    this.#underWay += 1;
    this.#doubtful += doubtful;
    try {
      await this.#claim(lane, id);
    } catch (error) {
      this.#pause(lane, error);
    }
    lane.underWay.delete(id);
    this.#underWay -= 1;
    this.#doubtful -= doubtful;
    this.#proceed();
  }

  async #claim(lane: Lane, id: string): Promise<void> {
    const { store, lease_ms } = this.#parts;
    const lease = await store.lease(`delivery ${id}`, lease_ms);
    if (lease === undefined) return this.#pause(lane);
    try {
      await this.#attempt(lane, id);
    } finally {
      await lease.release();
    }
    this.#told.add(lane.queue);
  }

  async #attempt(lane: Lane, id: string): Promise<void> {
    const made = await makeAttempt(this.#parts, id);
    if (made === undefined) return;
    if ("again" in made) {
      lane.heldBack.add(id);
      void made.again.then(() => {
        lane.heldBack.delete(id);
        this.notify(lane.queue);
      });
      return;
    }
    // What was broken off by the stop has no outcome; what arrived just before it has.
    if (this.#stopped && !succeeded(made.attempt)) return;
    lane.failing = !succeeded(made.attempt);
    try {
      await this.#record(lane, made);
    } catch (error) {
      lane.unrecorded.set(id, made);
      throw error;
    }
  }

  async #record(lane: Lane, sent: Made): Promise<void> {
    const { store, clock } = this.#parts;
    await store.transact((tx) => recordAttempt(tx, sent, clock.now()));
    lane.unrecorded.delete(sent.deliveryId);
    this.#unavailable = false;
  }

  /** Leaves the lane for a moment; its rows stay. One outage of the store is reported once. */
  #pause(lane: Lane, error?: unknown): void {
    const again = isStoreError(error, "StorageUnavailable") && this.#unavailable;
    if (isStoreError(error, "StorageUnavailable")) this.#unavailable = true;
    if (error !== undefined && !again) this.#parts.onError(error, WHAT);
    this.#wakeAt(lane, this.#parts.clock.now() + PAUSE_MS);
  }
}
