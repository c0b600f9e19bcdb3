// The lanes of the outbox: one for each webhook that has something queued, and which of them goes next (contract, part
// 6). First attempts go before retries; accounts and webhooks take turns; and what has just failed may never fill all
// places, so that a place is soon free for a receiver that works.
import type { DeliveryRecord } from "../domain/model.ts";
import { decide } from "../kit/decisions.ts";
import type { Sent } from "./attempt.ts";
import { FairQueue } from "./fair-queue.ts";

const AT_ONCE_MAX = decide("8.deliveries-at-once", 256, {
  open: "how many deliveries are under way at the same time",
  why: "what waits is a row in the outbox and costs no socket",
});

/** Of these, at most so many for retries and for webhooks whose last attempt failed. */
const DOUBTFUL_MAX = decide("8.doubtful-deliveries-at-once", 192, {
  open: "whether dead endpoints can take all places",
  why: "each may hold one for 30 seconds, and a quarter of the places stays for those that answer",
});

/** A webhook with something queued. */
export class Lane {
  readonly webhookId: string;
  /** Deliveries under way. */
  readonly underWay = new Set<string>();
  /** Attempts that were made and could not be written down yet. */
  readonly unrecorded: Sent[] = [];
  looking = false;
  lookAgain = false;
  failing = false;
  ready: Ready | undefined;

  constructor(webhookId: string) {
    this.webhookId = webhookId;
  }

  busyWith(deliveryId: string): boolean {
    return this.underWay.has(deliveryId) || this.unrecorded.some((sent) => sent.deliveryId === deliveryId);
  }
}

/** The place a lane waits in, with the row that it would send. */
interface Ready {
  readonly row: DeliveryRecord;
  readonly rank: 0 | 1 | 2;
}

/** A row that goes, and the place that it holds. */
export interface Taken {
  readonly lane: Lane;
  readonly row: DeliveryRecord;
  readonly doubtful: 0 | 1;
}

/** The lanes that could send now, and the places they get. */
export class ReadyLanes {
  readonly #ranks = [new FairQueue<Lane>(), new FairQueue<Lane>(), new FairQueue<Lane>()] as const;
  #underWay = 0;
  #doubtful = 0;

  add(lane: Lane, row: DeliveryRecord, retry: boolean): void {
    const rank = retry ? 2 : lane.failing ? 1 : 0;
    lane.ready = { row, rank };
    this.#ranks[rank].add(row.account_id, lane);
  }

  remove(lane: Lane): void {
    if (lane.ready) this.#ranks[lane.ready.rank].remove(lane.ready.row.account_id, lane);
    lane.ready = undefined;
  }

  /** The next lane and its row, where a place is free for it. */
  take(): Taken | undefined {
    if (this.#underWay >= AT_ONCE_MAX) return undefined;
    const lane = this.#ranks[0].take() ?? (this.#doubtful < DOUBTFUL_MAX ? this.#takeDoubtful() : undefined);
    if (!lane?.ready) return undefined;
    const { row, rank } = lane.ready;
    const doubtful = rank > 0 ? 1 : 0;
    lane.ready = undefined;
    this.#underWay += 1;
    this.#doubtful += doubtful;
    return { lane, row, doubtful };
  }

  /** Gives the place back. */
  leave({ doubtful }: Taken): void {
    this.#underWay -= 1;
    this.#doubtful -= doubtful;
  }

  #takeDoubtful(): Lane | undefined {
    return this.#ranks[1].take() ?? this.#ranks[2].take();
  }
}
