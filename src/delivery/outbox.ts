// The outbox (spec part 6; contract, part 6): takes due deliveries from their rows, has each attempted and writes down
// what came of it. The rows are the truth; what is held here is only which webhook looks at its queue when, and is
// rebuilt at a start, so a crash loses nothing and what was under way is sent again. It has one life: start, stop.
import { succeeded, turnOf } from "../domain/deliveries.ts";
import { type DeliveryRecord, deliveries } from "../domain/model.ts";
import { recordAttempt } from "../domain/outcomes.ts";
import { isStoreError } from "../domain/store.ts";
import { type Instant, instant, type Scheduled } from "../kit/clock.ts";
import { type AttemptParts, makeAttempt, type Sent } from "./attempt.ts";
import { DueList } from "./due-list.ts";
import { Lane, ReadyLanes, type Taken } from "./lanes.ts";

/** Who may hold deliveries back on purpose; without one, what is due goes. */
export interface Gate {
  /** Asked about every delivery that is about to go. */
  admit(row: DeliveryRecord): void;
  /** Not before then: Infinity for one that waits for something else than time. */
  until(row: DeliveryRecord): Instant | undefined;
  /** How many deliveries to this webhook are held back. */
  aside(webhookId: string): number;
}

export interface OutboxParts extends AttemptParts {
  readonly gate?: Gate | undefined;
  /** How many attempts at once for one webhook. */
  readonly concurrency: number;
  /** How long a claimed row is left to its claimer: longer than an attempt can take. */
  readonly lease_ms: number;
  readonly onError: (error: unknown, during: string) => void;
  /** Told of every attempt once it is written down, with the delivery as it then is (undefined: no longer kept). */
  readonly onAttempt?: (sent: Sent, delivery: DeliveryRecord | undefined) => void;
}

const WHAT = "webhook deliveries";
/** How long a lane waits after the store failed it, or while another process holds its next row. */
const PAUSE_MS = 1_000;

export class Outbox {
  readonly #parts: OutboxParts;
  readonly #lanes = new Map<string, Lane>();
  readonly #ready = new ReadyLanes();
  readonly #later: DueList<Lane>;
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  /** Makes the clock, when it is advanced, wait for what runs. */
  #hold: Scheduled | undefined;
  /** Webhooks whose queues have changed and were not looked at since. */
  readonly #told = new Set<string>();
  #proceeding = false;
  #stopped = false;
  #unavailable = false;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
    this.#later = new DueList(parts.clock, WHAT, (lanes) => {
      for (const lane of lanes) this.#wake(lane);
      return this.idle();
    });
  }

  /** Takes up every delivery that is still to be sent. */
  async start(): Promise<void> {
    const limit = 500;
    for (let offset = 0; ; offset += limit) {
      const rows = await this.#parts.store.page(deliveries, "waiting", ["pending"], { offset, limit });
      for (const { webhook_id } of rows) this.notify(webhook_id);
      if (rows.length < limit) return;
    }
  }

  /** The queue of this webhook has changed. */
  notify(webhookId: string): void {
    this.#told.add(webhookId);
    this.#proceed();
  }

  #laneOf(webhookId: string): Lane {
    const lane = this.#lanes.get(webhookId) ?? new Lane(webhookId);
    this.#lanes.set(webhookId, lane);
    return lane;
  }

  get busy(): boolean {
    return this.#running > 0;
  }

  /** Resolves when nothing that is due now is left unattempted and unrecorded. */
  idle(): Promise<void> {
    return !this.busy ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** The deliveries that are due now and not attempted. */
  async pending(): Promise<readonly DeliveryRecord[]> {
    const found: DeliveryRecord[] = [];
    const limit = 100;
    const now = this.#parts.clock.now();
    const isDue = ({ queue }: DeliveryRecord) => instant(turnOf(queue ?? "").due) <= now;
    for (const id of new Set([...this.#lanes.keys(), ...this.#told]))
      for (let offset = 0; ; offset += limit) {
        const rows = await this.#parts.store.page(deliveries, "queue", [id], { offset, limit });
        const due = rows.filter(isDue);
        found.push(...due.filter((row) => !this.#isLate(row, now)));
        if (due.length < limit) break;
      }
    return found;
  }

  /** Breaks off what is under way; its rows stay and are sent after the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#later.close();
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

  /** Has the lane look at its queue; one that has its hands full looks when an attempt ends. */
  #wake(lane: Lane): void {
    lane.lookAgain = true;
    if (lane.looking || this.#stopped || lane.underWay.size >= this.#parts.concurrency) return;
    lane.looking = true;
    void this.#run(() => this.#look(lane));
  }

  async #look(lane: Lane): Promise<void> {
    try {
      for (let [sent] = lane.unrecorded; sent; [sent] = lane.unrecorded) {
        await this.#record(sent);
        lane.unrecorded.shift();
      }
      let rows: readonly DeliveryRecord[] = [];
      while (lane.lookAgain) {
        lane.lookAgain = false;
        const { gate, store, concurrency } = this.#parts;
        const aside = gate?.aside(lane.webhookId) ?? 0;
        rows = await store.page(deliveries, "queue", [lane.webhookId], { offset: 0, limit: concurrency + aside });
        if (gate && this.#admit(lane, rows, gate) > aside) lane.lookAgain = true;
      }
      this.#place(lane, rows);
    } catch (error) {
      this.#pause(lane, error);
    } finally {
      lane.looking = false;
    }
    this.#proceed();
  }

  /** Puts the lane where its next row belongs: among the ready ones, or to its time. */
  #place(lane: Lane, rows: readonly DeliveryRecord[]): void {
    this.#ready.remove(lane);
    this.#later.delete(lane);
    if (rows.length === 0 && lane.underWay.size === 0) this.#lanes.delete(lane.webhookId);
    if (lane.underWay.size >= this.#parts.concurrency) return;
    const now = this.#parts.clock.now();
    const free = rows.filter(({ id }) => !lane.busyWith(id)).map((row) => ({ row, at: this.#dueAt(row) }));
    const next = free.find(({ at }) => at <= now);
    const at = Math.min(...free.map((each) => each.at));
    if (next) this.#ready.add(lane, next.row, turnOf(next.row.queue ?? "").turn === "retry");
    else if (Number.isFinite(at)) this.#later.set(lane, at);
  }

  /** The gate decides about what is about to go; answers how many it holds back. */
  #admit(lane: Lane, rows: readonly DeliveryRecord[], gate: Gate): number {
    const now = this.#parts.clock.now();
    for (const row of rows) if (!lane.busyWith(row.id) && this.#dueAt(row) <= now) gate.admit(row);
    return gate.aside(lane.webhookId);
  }

  #dueAt(row: DeliveryRecord): Instant {
    return Math.max(instant(turnOf(row.queue ?? "").due), this.#parts.gate?.until(row) ?? 0);
  }

  /** Held back until a moment that has not come: not due, then. */
  #isLate(row: DeliveryRecord, now: Instant): boolean {
    const until = this.#parts.gate?.until(row) ?? 0;
    return until > now && Number.isFinite(until);
  }

  /**
   * At the end of this turn of the event loop, looks at the queues that have changed and sends what is ready. So an
   * answer leaves before the deliveries that its commit has caused, and posts go out together: a receiver is then woken
   * once for many, which saves the sender some 10 us of system time a post.
   */
  #proceed(): void {
    if (this.#proceeding || this.#stopped) return;
    this.#proceeding = true;
    void this.#run(async () => {
      await new Promise(setImmediate);
      this.#proceeding = false;
      if (!this.#stopped) for (const id of this.#told) this.#wake(this.#laneOf(id));
      this.#told.clear();
      this.#sendReady();
    });
  }

  #sendReady(): void {
    while (!this.#stopped) {
      const next = this.#ready.take();
      if (!next) return;
      next.lane.underWay.add(next.row.id);
      void this.#run(() => this.#deliver(next));
      this.#wake(next.lane);
    }
  }

  async #deliver(taken: Taken): Promise<void> {
    const { lane, row } = taken;
    let failure: { readonly error?: unknown } | undefined;
    try {
      if (!(await this.#claimAndAttempt(lane, row.id))) failure = {};
    } catch (error) {
      failure = { error };
    }
    lane.underWay.delete(row.id);
    this.#ready.leave(taken);
    if (failure) this.#pause(lane, failure.error);
    else this.#wake(lane);
    this.#proceed();
  }

  /** False where another process holds the row. */
  async #claimAndAttempt(lane: Lane, id: string): Promise<boolean> {
    const { store, lease_ms } = this.#parts;
    const lease = await store.lease(`delivery ${id}`, lease_ms);
    if (lease === undefined) return false;
    try {
      await this.#attempt(lane, id);
    } finally {
      await lease.release();
    }
    return true;
  }

  async #attempt(lane: Lane, id: string): Promise<void> {
    const sent = await makeAttempt(this.#parts, id);
    // What was broken off by the stop has no outcome; what arrived just before it has.
    if (!sent || (this.#stopped && !succeeded(sent.attempt))) return;
    lane.failing = !succeeded(sent.attempt);
    try {
      await this.#record(sent);
    } catch (error) {
      lane.unrecorded.push(sent);
      throw error;
    }
  }

  async #record(sent: Sent): Promise<void> {
    const { store, clock, onAttempt } = this.#parts;
    const delivery = await store.transact((tx) => recordAttempt(tx, sent, clock.now()));
    this.#unavailable = false;
    onAttempt?.(sent, delivery);
  }

  /** Leaves the lane for a moment; its rows stay. One outage of the store is reported once. */
  #pause(lane: Lane, error?: unknown): void {
    const again = isStoreError(error, "StorageUnavailable") && this.#unavailable;
    if (isStoreError(error, "StorageUnavailable")) this.#unavailable = true;
    if (error !== undefined && !again) this.#parts.onError(error, WHAT);
    if (!this.#stopped) this.#later.set(lane, this.#parts.clock.now() + PAUSE_MS);
  }
}
