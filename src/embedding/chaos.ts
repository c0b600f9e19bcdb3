// Disturbed deliveries on command, for tests of receivers (contract, part 10): sent twice, out of order, never, late, or
// with a signature that does not fit. It stands between the outbox and its sender and touches only what a rule names.
// A delivery that is late is put off in its row; otherwise what a receiver makes of all this is recorded as ever.
import type { NotNow, Outcome, Post, Sender } from "../delivery/sender.ts";
import { putOff } from "../domain/deliveries.ts";
import type { DeliveryRecord } from "../domain/model.ts";
import type { Store } from "../domain/store.ts";
import type { Background } from "../kit/background.ts";
import { type Clock, type Instant, iso } from "../kit/clock.ts";
import type { Journals } from "./journals.ts";
import { type ChaosRule, chaosRule, type Effect, type GivenChaos, Rules } from "./rules.ts";

/** What befalls an attempt that has not gone yet, and not before `until`. */
interface Struck {
  readonly effect: Effect;
  readonly until: Instant;
}

interface Parts {
  readonly store: Store;
  readonly clock: Clock;
  readonly journals: Journals;
  readonly background: Background;
}

export class Chaos extends Rules<GivenChaos, ChaosRule, Parts> {
  readonly schema = chaosRule;
  protected readonly name = "chaos";
  /** By the delivery's id. */
  readonly #struck = new Map<string, Struck>();
  /** By the webhook's id: lets go what is held back until the next has gone, however long that takes. */
  readonly #heldBack = new Map<string, () => void>();

  /** What is held back or put off may go. */
  override clear(): void {
    super.clear();
    const struck = [...this.#struck];
    this.#struck.clear();
    for (const webhookId of [...this.#heldBack.keys()]) this.#letGo(webhookId);
    this.parts.background.run("ending delays", async () => {
      const now = this.parts.clock.now();
      for (const [id, { until }] of struck) if (until > now) await this.#putOff(id, now);
    });
  }

  /** The sender that does to each post what was decided for it. */
  around(inner: Sender): Sender {
    return { send: (post, delivery) => this.#send(inner, post, delivery), close: () => inner.close() };
  }

  async #send(inner: Sender, post: Post, delivery: DeliveryRecord): Promise<Outcome | NotNow> {
    const { id, webhook_id, attempts } = delivery;
    const { clock, journals } = this.parts;
    const overtakes = this.#heldBack.has(webhook_id);
    const known = this.#struck.get(id);
    const { effect, until = 0 } = known ?? this.#strike(delivery, overtakes) ?? {};
    if (effect === "reorder" && !known) return { again: new Promise((go) => this.#heldBack.set(webhook_id, go)) };
    if (until > clock.now()) {
      await this.#putOff(id, until);
      return { again: Promise.resolve() };
    }
    this.#struck.delete(id);
    if (effect) journals.disturbed(id, attempts.length + 1, effect);
    const sent = effect === "bad_signature" ? { ...post, headers: spoilt(post.headers) } : post;
    const outcome = effect === "drop" ? DROPPED : await inner.send(sent, delivery);
    // The receiver sees the very same attempt again; what it says to the first is what counts.
    if (effect === "duplicate") await inner.send(post, delivery);
    if (overtakes) this.#letGo(webhook_id);
    return outcome;
  }

  /** The first rule that falls on the delivery is used up; one is held back at a time. */
  #strike({ id, event_type, webhook_id }: DeliveryRecord, overtakes: boolean): Struck | undefined {
    const rule = this.take(
      ({ effect, type = event_type, webhookId = webhook_id }) =>
        type === event_type && webhookId === webhook_id && !(effect === "reorder" && overtakes),
    );
    const struck = rule && { effect: rule.effect, until: this.parts.clock.now() + rule.delayMs };
    if (struck) this.#struck.set(id, struck);
    return struck;
  }

  #letGo(webhookId: string): void {
    this.#heldBack.get(webhookId)?.();
    this.#heldBack.delete(webhookId);
  }

  #putOff(id: string, until: Instant): Promise<void> {
    return this.parts.store.transact((tx) => putOff(tx, id, iso(until)));
  }
}

const DROPPED: Outcome = { status: null, body: null, error: "dropped", retryAfter: null };

/** The form of the signatures stays right, so that only checking them can tell. */
function spoilt(headers: Post["headers"]): Post["headers"] {
  const other = (digit: string) => (digit === "0" ? "1" : "0");
  return {
    ...headers,
    "X-Service-Signature": (headers["X-Service-Signature"] ?? "").replace(/.$/, other),
    "webhook-signature": (headers["webhook-signature"] ?? "").replace(/(?<=v1,)./g, other),
  };
}
