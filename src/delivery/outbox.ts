// The outbox (spec part 6; contract, part 6): takes due deliveries from their rows, has each attempted and writes down
// what came of it. The rows are the truth; what is held here is only which queue is looked at when, and is rebuilt at a
// start, so a crash loses nothing and what was under way is sent again. It has one life: start, stop.
import { cancelUnwanted, dueAt, isRetry, isWanted, type Made, recordAttempt, succeeded } from "../domain/deliveries.ts";
import { type DeliveryRecord, deliveries, webhooks } from "../domain/model.ts";
import { ALL, isStoreError, type Lease, type Span } from "../domain/store.ts";
import type { Background } from "../kit/background.ts";
import type { Instant, Scheduled } from "../kit/clock.ts";
import { type AttemptParts, makeAttempt, type Sent } from "./attempt.ts";

export interface OutboxParts extends AttemptParts {
  /** Where all that the outbox does runs, so that whoever has it can wait for its end. */
  readonly background: Background;
  /** How many attempts at once for one webhook. */
  readonly concurrency: number;
  /** How long a claimed row is left to its claimer: longer than an attempt can take. */
  readonly lease_ms: number;
  readonly onAttempt: (sent: Sent) => void;
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
interface Lane {
  readonly queue: string;
  /** Deliveries that are under way, that the sender does not want to send now, or whose attempt is not written down yet. */
  readonly taken: Set<string>;
  sending: number;
  failing: boolean;
  timer?: Scheduled;
}

export class Outbox {
  readonly #parts: OutboxParts;
  readonly #lanes = new Map<string, Lane>();
  /** The lanes that could send now, each with its delivery: first attempts, those of failing webhooks, retries. */
  readonly #ready: readonly Map<Lane, string>[] = [new Map(), new Map(), new Map()];
  #sending = 0;
  #doubtful = 0;
  /** Queues that have changed and were not looked at since. */
  readonly #told = new Set<string>();
  #turning = false;
  #stopped = false;
  #unavailable = false;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  /**
   * Takes up deliveries that are still to be sent, or to be cancelled, and that nothing here waits for; answers how many
   * there are in this span of all that wait.
   */
  async takeUp(span: Span = ALL): Promise<number> {
    const { store, clock } = this.#parts;
    const rows = await store.page(deliveries, "waiting", ["pending"], span);
    for (const row of rows)
      if (row.queue_of !== null && (!this.#lanes.has(row.queue_of) || dueAt(row) <= clock.now()))
        this.notify(row.queue_of);
    return rows.length;
  }

  /** This queue has changed. */
  notify(queue: string): void {
    this.#told.add(queue);
    this.#turn();
  }

  /** Breaks off what is under way; its rows stay and are sent after the next start. */
  stop(): void {
    this.#stopped = true;
    for (const { timer } of this.#lanes.values()) timer?.cancel();
    this.#parts.sender.close();
  }

  /**
   * At the end of this turn of the event loop, looks at the queues that have changed and sends what is ready. So an
   * answer leaves before the deliveries that its commit has caused, and posts go out together: a receiver is then woken
   * once for many, which saves the sender some 10 us of system time a post.
   */
  #turn(): void {
    if (this.#turning || this.#stopped) return;
    this.#turning = true;
    this.#parts.background.run(WHAT, async () => {
      await new Promise(setImmediate);
      const told = [...this.#told];
      this.#told.clear();
      await Promise.all(told.map((queue) => this.#look(queue)));
      this.#turning = false;
      this.#sendReady();
      if (this.#told.size > 0) this.#turn();
    });
  }

  async #look(queue: string): Promise<void> {
    const { store } = this.#parts;
    const lane: Lane = this.#lanes.get(queue) ?? { queue, taken: new Set(), sending: 0, failing: false };
    this.#lanes.set(queue, lane);
    try {
      const rows = await store.page(deliveries, "queue", [queue], { offset: 0, limit: lane.taken.size + 1 });
      const webhook = rows[0] && (await store.get(webhooks, rows[0].webhook_id));
      if (rows.every((row) => isWanted(row, webhook))) return this.#place(lane, rows);
      await store.transact((tx) => cancelUnwanted(tx, queue));
      this.notify(queue);
    } catch (error) {
      this.#pause(lane, "", error);
    }
  }

  /** Puts the lane where its next row belongs: among the ready ones, or to its time. */
  #place(lane: Lane, rows: readonly DeliveryRecord[]): void {
    lane.timer?.cancel();
    if (rows.length === 0 && lane.taken.size === 0) this.#lanes.delete(lane.queue);
    const full = lane.sending >= this.#parts.concurrency;
    const next = full ? undefined : rows.find(({ id }) => !lane.taken.has(id));
    const later = next !== undefined && dueAt(next) > this.#parts.clock.now();
    if (later) this.#wakeAt(lane, dueAt(next));
    const rank = next === undefined || later ? undefined : isRetry(next) ? 2 : lane.failing ? 1 : 0;
    for (const [at, lanes] of this.#ready.entries())
      if (next !== undefined && at === rank) lanes.set(lane, next.id);
      else lanes.delete(lane);
  }

  #sendReady(): void {
    for (const [rank, lanes] of this.#ready.entries())
      for (const [lane, id] of lanes) {
        const full = this.#sending >= AT_ONCE_MAX || (rank > 0 && this.#doubtful >= DOUBTFUL_MAX);
        if (full || this.#stopped) return;
        lanes.delete(lane);
        this.#parts.background.run(WHAT, () => this.#deliver(lane, id, rank > 0 ? 1 : 0));
        if (lane.sending < this.#parts.concurrency) this.notify(lane.queue);
      }
  }

  /** Has a place, and one of the lane's, until it ends. */
  async #deliver(lane: Lane, id: string, doubtful: 0 | 1): Promise<void> {
    lane.taken.add(id);
    lane.sending += 1;
    this.#sending += 1;
    this.#doubtful += doubtful;
    try {
      await this.#claim(lane, id);
    } catch (error) {
      this.#pause(lane, id, error);
    }
    lane.sending -= 1;
    this.#sending -= 1;
    this.#doubtful -= doubtful;
    this.#turn();
  }

  async #claim(lane: Lane, id: string): Promise<void> {
    const { store, lease_ms } = this.#parts;
    const lease = await store.lease(`delivery ${id}`, lease_ms);
    if (lease === undefined) return this.#pause(lane, id);
    const made = await this.#attempt(lane, id).catch((error) => this.#pause(lane, id, error));
    if (made) return this.#record(lane, made, lease);
    // Not awaited: whoever looks at the lane meanwhile would find it full, and nobody would look again when it no more is.
    this.#parts.background.run(WHAT, () => lease.release());
  }

  /** Answers what is to be written down. */
  async #attempt(lane: Lane, id: string): Promise<Sent | undefined> {
    const sent = await makeAttempt(this.#parts, id);
    if (sent === undefined) this.#free(lane, id);
    else if ("again" in sent) {
      void sent.again.then(() => this.#free(lane, id));
      this.notify(lane.queue);
      // What was broken off by the stop has no outcome; what arrived just before it has.
    } else if (!this.#stopped || succeeded(sent.attempt)) {
      lane.failing = !succeeded(sent.attempt);
      this.#parts.onAttempt(sent);
      return sent;
    }
    return undefined;
  }

  /**
   * Until it is written down, the delivery stays taken, here and for other processes: nothing is sent twice because the
   * store is out of reach.
   */
  async #record(lane: Lane, made: Made, lease: Lease): Promise<void> {
    const { store, clock, background } = this.#parts;
    try {
      await store.transact((tx) => recordAttempt(tx, made, clock.now()));
      this.#unavailable = false;
    } catch (error) {
      this.#report(error);
      this.#at(clock.now() + PAUSE_MS, () => background.run(WHAT, () => this.#record(lane, made, lease)));
      return;
    }
    // In this order: a look that began before may still find it, and then has to see that it is over.
    await lease.release();
    this.#free(lane, made.deliveryId);
  }

  #free(lane: Lane, id: string): void {
    lane.taken.delete(id);
    this.notify(lane.queue);
  }

  /** Leaves the lane for a moment; its rows stay. */
  #pause(lane: Lane, id: string, error?: unknown): void {
    lane.taken.delete(id);
    if (error !== undefined) this.#report(error);
    this.#wakeAt(lane, this.#parts.clock.now() + PAUSE_MS);
  }

  /** One outage of the store is reported once. */
  #report(error: unknown): void {
    const outage = isStoreError(error, "StorageUnavailable");
    if (!outage || !this.#unavailable) this.#parts.onError(error, WHAT);
    this.#unavailable ||= outage;
  }

  #wakeAt(lane: Lane, at: Instant): void {
    lane.timer?.cancel();
    lane.timer = this.#at(at, () => this.notify(lane.queue));
  }

  /** By the clock, which waits for all that comes of it before it is moved on. */
  #at(at: Instant, work: () => void): Scheduled {
    return this.#parts.clock.schedule(at, WHAT, () => {
      if (!this.#stopped) work();
      return this.#parts.background.idle();
    });
  }
}
