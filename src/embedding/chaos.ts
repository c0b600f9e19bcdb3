// Disturbed deliveries on command, for tests of receivers (contract, part 10): sent twice, out of order, never, late, or
// with a signature that does not fit. It stands between the outbox and its sender and touches only what a rule names.
// A delivery that is late is put off in its row; otherwise what a receiver makes of all this is recorded as ever.
import { decide } from "../decisions.ts";
import type { NotNow, Outcome, Post, Sender } from "../delivery/sender.ts";
import { putOff } from "../domain/deliveries.ts";
import { type DeliveryRecord, eventType } from "../domain/model.ts";
import type { Store } from "../domain/store.ts";
import { type Clock, type Instant, iso } from "../kit/clock.ts";
import { type Infer, object, oneOf, optional, text } from "../kit/schema.ts";
import { COMMON, Rules } from "./rules.ts";

export const EFFECTS = decide("1.chaos");
export type Effect = (typeof EFFECTS)[number];

/** Falls on so many attempts, 1 if absent, of events of this type, to this webhook; `delayMs` is for the effect delay. */
export type GivenChaos = Pick<ChaosRule, "effect"> & Partial<ChaosRule>;

const rule = object(
  {
    effect: oneOf(EFFECTS),
    type: optional(eventType),
    webhookId: optional(text({ min: 1, max: 100 })),
    ...COMMON,
  },
  function* ({ effect, delayMs }) {
    if (effect === "delay" && delayMs === 0) yield { path: ["delayMs"], detail: "must say how long the delay is" };
    if (effect !== "delay" && delayMs > 0) yield { path: ["delayMs"], detail: "goes with the effect delay only" };
  },
);
export type ChaosRule = Infer<typeof rule>;

/** What befalls an attempt that has not gone yet, and not before `until`. */
interface Struck extends NotNow {
  readonly effect: Effect;
  readonly webhookId: string;
  until: Instant;
  readonly letGo: () => void;
}

/** Until the next to the same webhook has gone, however long that takes. */
const HELD_BACK = Number.POSITIVE_INFINITY;

export interface ChaosParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly onStrike: (deliveryId: string, attempt: number, effect: Effect) => void;
  /** Has work done that nobody waits for. */
  readonly inBackground: (what: string, work: () => Promise<void>) => unknown;
}

export class Chaos extends Rules<GivenChaos, ChaosRule> {
  readonly #parts: ChaosParts;
  /** By the delivery's id. */
  readonly #struck = new Map<string, Struck>();

  constructor(parts: ChaosParts) {
    super("chaos", rule);
    this.#parts = parts;
  }

  /** What is held back or put off may go. */
  override clear(): void {
    super.clear();
    const struck = [...this.#struck];
    this.#struck.clear();
    for (const [, { letGo }] of struck) letGo();
    this.#parts.inBackground("ending delays", async () => {
      for (const [id, { effect }] of struck) if (effect === "delay") await this.#putOff(id, this.#parts.clock.now());
    });
  }

  /** The sender that does to each post what was decided for it. */
  around(inner: Sender): Sender {
    return {
      send: async (post, delivery) => {
        const { id, webhook_id, attempts } = delivery;
        const held = this.#heldBack(webhook_id);
        const struck = this.#struck.get(id) ?? this.#strike(delivery, held !== undefined);
        if (struck?.until === HELD_BACK) return struck;
        if (struck && struck.until > this.#parts.clock.now()) {
          await this.#putOff(id, struck.until);
          return { again: Promise.resolve() };
        }
        this.#struck.delete(id);
        if (struck) this.#parts.onStrike(id, attempts.length + 1, struck.effect);
        const outcome = await disturbed(inner, post, delivery, struck?.effect);
        held?.letGo();
        return outcome;
      },
      close: () => inner.close(),
    };
  }

  /** What waits for the next to this webhook. */
  #heldBack(webhookId: string): Struck | undefined {
    return [...this.#struck.values()].find((each) => each.webhookId === webhookId && each.until === HELD_BACK);
  }

  #strike(delivery: DeliveryRecord, overtaking: boolean): Struck | undefined {
    const rule = this.take((each) => fits(each, delivery) && !(each.effect === "reorder" && overtaking));
    if (rule === undefined) return undefined;
    const { effect, delayMs } = rule;
    let resolve = () => {};
    const again = new Promise<void>((go) => {
      resolve = go;
    });
    const until = effect === "reorder" ? HELD_BACK : this.#parts.clock.now() + delayMs;
    const struck: Struck = {
      ...{ effect, webhookId: delivery.webhook_id, until, again },
      letGo() {
        struck.until = 0;
        resolve();
      },
    };
    this.#struck.set(delivery.id, struck);
    return struck;
  }

  #putOff(id: string, until: Instant): Promise<void> {
    return this.#parts.store.transact((tx) => putOff(tx, id, iso(until)));
  }
}

const fits = ({ type, webhookId }: ChaosRule, row: DeliveryRecord): boolean =>
  (type === undefined || type === row.event_type) && (webhookId === undefined || webhookId === row.webhook_id);

async function disturbed(
  inner: Sender,
  post: Post,
  delivery: DeliveryRecord,
  effect: Effect | undefined,
): Promise<Outcome | NotNow> {
  if (effect === "drop") return { status: null, body: null, error: "dropped", retryAfter: null };
  if (effect === "bad_signature") return inner.send({ ...post, headers: spoilt(post.headers) }, delivery);
  const outcome = await inner.send(post, delivery);
  // The receiver sees the very same attempt again; what it says to the first is what counts.
  if (effect === "duplicate") await inner.send(post, delivery);
  return outcome;
}

/** The form of the signatures stays right, so that only checking them can tell. */
function spoilt(headers: Post["headers"]): Post["headers"] {
  const other = (digit: string) => (digit === "0" ? "1" : "0");
  return {
    ...headers,
    "X-Service-Signature": (headers["X-Service-Signature"] ?? "").replace(/.$/, other),
    "webhook-signature": (headers["webhook-signature"] ?? "").replace(/(?<=v1,)./g, other),
  };
}
