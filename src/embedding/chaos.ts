// Disturbed deliveries on command, for tests of receivers (contract, part 10): sent twice, out of order, never, late, or
// with a signature that does not fit. It stands between the outbox and its sender and touches only what a rule names.
// A delivery that is late is put off in its row; otherwise what a receiver makes of all this is recorded as ever.
import { decide } from "../decisions.ts";
import type { NotNow, Outcome, Post, Sender } from "../delivery/sender.ts";
import { putOff } from "../domain/deliveries.ts";
import { type DeliveryRecord, eventType } from "../domain/model.ts";
import type { Store } from "../domain/store.ts";
import { type Clock, type Instant, iso } from "../kit/clock.ts";
import { type Infer, type ObjectSchema, object, oneOf, optional, text, whole, withDefault } from "../kit/schema.ts";

export const EFFECTS = decide("1.chaos");
export type Effect = (typeof EFFECTS)[number];

const DELAY_MAX_MS = 86_400_000;
const TIMES_MAX = 1_000_000;

const members = object({
  effect: oneOf(EFFECTS),
  times: withDefault(whole({ min: 1, max: TIMES_MAX }), 1),
  type: optional(eventType),
  webhookId: optional(text({ min: 1, max: 100 })),
  delayMs: withDefault(whole({ min: 0, max: DELAY_MAX_MS }), 0),
});
export type ChaosRule = Infer<typeof members>;

/** Falls on so many attempts, 1 if absent, of events of this type, to this webhook; `delayMs` is for the effect delay. */
export type GivenChaos = Pick<ChaosRule, "effect"> & Partial<ChaosRule>;

/** What `add` takes. */
export const chaosRule: ObjectSchema<ChaosRule> = {
  ...members,
  check(value, path, faults) {
    const before = faults.length;
    const rule = members.check(value, path, faults);
    if (faults.length > before || (rule.effect === "delay") === rule.delayMs > 0) return rule;
    const detail = rule.effect === "delay" ? "must say how long the delay is" : "goes with the effect delay only";
    faults.push({ path: [...path, "delayMs"], detail });
    return rule;
  },
};

/** What befalls an attempt that has not gone yet; not before `until`. */
interface Struck {
  readonly effect: Effect;
  readonly until: Instant;
}

/** A delivery that waits until the next to the same webhook has gone, however long that takes. */
interface Held extends NotNow {
  readonly id: string;
  readonly letGo: () => void;
}

export interface ChaosParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly onStrike: (deliveryId: string, attempt: number, effect: Effect) => void;
  /** Has work done that nobody waits for. */
  readonly inBackground: (what: string, work: () => Promise<void>) => void;
}

export class Chaos {
  readonly #parts: ChaosParts;
  readonly #armed: { readonly rule: ChaosRule; left: number }[] = [];
  readonly #struck = new Map<string, Struck>();
  /** By webhook. */
  readonly #held = new Map<string, Held>();

  constructor(parts: ChaosParts) {
    this.#parts = parts;
  }

  add(rule: ChaosRule): void {
    this.#armed.push({ rule, left: rule.times });
  }

  /** Forgets every rule; what is held back may go. */
  clear(): void {
    const late = [...this.#struck].filter(([, { effect }]) => effect === "delay");
    this.#armed.length = 0;
    this.#struck.clear();
    for (const webhookId of this.#held.keys()) this.#letGo(webhookId);
    this.#parts.inBackground("ending delays", async () => {
      for (const [id] of late) await this.#putOff(id, this.#parts.clock.now());
    });
  }

  /** The sender that does to each post what was decided for it. */
  around(inner: Sender): Sender {
    return {
      send: async (post, delivery) => {
        const { id, webhook_id, attempts } = delivery;
        const struck = this.#struck.get(id) ?? this.#strike(delivery);
        const held = this.#held.get(webhook_id);
        if (held?.id === id) return held;
        if (struck && struck.until > this.#parts.clock.now()) {
          await this.#putOff(id, struck.until);
          return { again: Promise.resolve() };
        }
        this.#struck.delete(id);
        if (struck) this.#parts.onStrike(id, attempts.length + 1, struck.effect);
        const outcome = await disturbed(inner, post, delivery, struck?.effect);
        if (held === this.#held.get(webhook_id)) this.#letGo(webhook_id);
        return outcome;
      },
      close: () => inner.close(),
    };
  }

  #strike(delivery: DeliveryRecord): Struck | undefined {
    const { id, webhook_id } = delivery;
    const overtaking = this.#held.has(webhook_id);
    const armed = this.#armed.find(({ rule }) => fits(rule, delivery) && !(rule.effect === "reorder" && overtaking));
    if (armed === undefined) return undefined;
    armed.left -= 1;
    if (armed.left === 0) this.#armed.splice(this.#armed.indexOf(armed), 1);
    const { effect, delayMs } = armed.rule;
    const struck = { effect, until: this.#parts.clock.now() + delayMs };
    this.#struck.set(id, struck);
    if (effect === "reorder") this.#hold(id, webhook_id);
    return struck;
  }

  #hold(id: string, webhookId: string): void {
    let letGo = () => {};
    const again = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    this.#held.set(webhookId, { id, again, letGo });
  }

  #letGo(webhookId: string): void {
    this.#held.get(webhookId)?.letGo();
    this.#held.delete(webhookId);
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
