// Disturbed deliveries on command, for tests of receivers (contract, part 10): sent twice, out of order, never, late, or
// with a signature that does not fit. It stands between the outbox and its sender and touches only what a rule names.
// The rows of the deliveries are not changed: what a receiver makes of it is recorded as ever.
import { decide } from "../decisions.ts";
import type { Gate } from "../delivery/outbox.ts";
import type { Outcome, Post, Sender } from "../delivery/sender.ts";
import { type DeliveryRecord, type EventType, eventType } from "../domain/model.ts";
import type { Clock, Instant } from "../kit/clock.ts";
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

export interface GivenChaos {
  readonly effect: Effect;
  /** How many attempts it falls on; 1 if absent. */
  readonly times?: number;
  /** Only on events of this type. */
  readonly type?: EventType;
  /** Only on deliveries to this webhook. */
  readonly webhookId?: string;
  /** For the effect delay. */
  readonly delayMs?: number;
}

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

/** An attempt that a rule has fallen on; `until`: not before then. */
interface Struck {
  readonly effect: Effect;
  readonly webhookId: string;
  until: Instant;
}

/** One that is sent out of order waits for the next to the same webhook, however long that takes. */
const UNTIL_THE_NEXT_HAS_GONE: Instant = Number.POSITIVE_INFINITY;

export interface ChaosParts {
  readonly clock: Clock;
  readonly onStrike: (deliveryId: string, attempt: number, effect: Effect) => void;
  /** Deliveries that were held back may go. */
  readonly onRelease: () => void;
}

export class Chaos implements Gate {
  readonly #parts: ChaosParts;
  readonly #armed: { readonly rule: ChaosRule; left: number }[] = [];
  readonly #struck = new Map<string, Struck>();
  /** The delivery that waits for the next one, by webhook; and which one that is. */
  readonly #held = new Map<string, Struck>();
  readonly #overtaking = new Map<string, Struck>();

  constructor(parts: ChaosParts) {
    this.#parts = parts;
  }

  add(rule: ChaosRule): void {
    this.#armed.push({ rule, left: rule.times });
  }

  /** Forgets every rule; what is held back may go. */
  clear(): void {
    this.#armed.length = 0;
    for (const map of [this.#struck, this.#held, this.#overtaking]) map.clear();
    this.#parts.onRelease();
  }

  admit(row: DeliveryRecord): void {
    const held = this.#held.get(row.webhook_id);
    if (held && this.#struck.get(row.id) !== held) this.#overtaking.set(row.id, held);
    if (this.#struck.has(row.id)) return;
    const armed = this.#armed.find(({ rule }) => fits(rule, row) && !(rule.effect === "reorder" && held));
    if (armed === undefined) return;
    armed.left -= 1;
    if (armed.left === 0) this.#armed.splice(this.#armed.indexOf(armed), 1);
    const { effect, delayMs } = armed.rule;
    const struck = { effect, webhookId: row.webhook_id, until: this.#parts.clock.now() + delayMs };
    this.#struck.set(row.id, struck);
    if (effect !== "reorder") return;
    struck.until = UNTIL_THE_NEXT_HAS_GONE;
    this.#held.set(row.webhook_id, struck);
  }

  until(row: DeliveryRecord): Instant | undefined {
    return this.#struck.get(row.id)?.until;
  }

  aside(webhookId: string): number {
    const now = this.#parts.clock.now();
    return [...this.#struck.values()].filter((each) => each.webhookId === webhookId && each.until > now).length;
  }

  /** The sender that does to each post what was decided for it. */
  around(inner: Sender): Sender {
    return {
      send: async (post) => {
        const id = post.headers["X-Service-Delivery"] ?? "";
        const struck = this.#struck.get(id);
        this.#struck.delete(id);
        if (struck) this.#parts.onStrike(id, Number(post.headers["X-Service-Attempt"]), struck.effect);
        const outcome = await disturbed(inner, post, struck?.effect);
        this.#letFollow(id);
        return outcome;
      },
      close: () => inner.close(),
    };
  }

  /** The delivery that waited for this one is the next to go. */
  #letFollow(id: string): void {
    const held = this.#overtaking.get(id);
    if (held === undefined) return;
    held.until = 0;
    this.#held.delete(held.webhookId);
    for (const [overtaker, each] of this.#overtaking) if (each === held) this.#overtaking.delete(overtaker);
  }
}

const fits = ({ type, webhookId }: ChaosRule, row: DeliveryRecord): boolean =>
  (type === undefined || type === row.event_type) && (webhookId === undefined || webhookId === row.webhook_id);

async function disturbed(inner: Sender, post: Post, effect: Effect | undefined): Promise<Outcome> {
  if (effect === "drop") return { status: null, body: null, error: "dropped", retryAfter: null };
  if (effect === "bad_signature") return inner.send({ ...post, headers: spoilt(post.headers) });
  const outcome = await inner.send(post);
  // The receiver sees the very same attempt again; what it says to the first is what counts.
  if (effect === "duplicate") await inner.send(post);
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
