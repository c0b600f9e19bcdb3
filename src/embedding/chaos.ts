// Disturbed deliveries on command, for tests of receivers (contract, part 10): sent twice, out of order, never, late, or
// with a signature that does not fit. It stands between the outbox and its sender and touches only what a rule names.
// A delivery that is late is put off in its row; otherwise what a receiver makes of all this is recorded as ever.
import type { Outcome, Post, Sender } from "../delivery/sender.ts";
import { putOff } from "../domain/deliveries.ts";
import type { UnitParts } from "../domain/work.ts";
import type { Background } from "../kit/background.ts";
import { type Instant, iso } from "../kit/clock.ts";
import type { Journals } from "./journals.ts";
import { type ChaosRule, chaosRule, type Effect, type GivenChaos, rulesOf } from "./rules.ts";

/** What befalls an attempt that has not gone yet, and not before `until`. */
interface Struck {
  readonly effect: Effect | undefined;
  readonly until: Instant;
}

export function chaosOf({ store, clock }: UnitParts, journals: Journals, background: Background) {
  const rules = rulesOf<GivenChaos, ChaosRule>("chaos", chaosRule);
  /** By the delivery's id. */
  const struck = new Map<string, Struck>();
  /** By the webhook's id: lets go what is held back until the next has gone, however long that takes. */
  const heldBack = new Map<string, () => void>();

  const late = (id: string, until: Instant) => store.transact((tx) => putOff(tx, id, iso(until)));

  function letGo(webhookId: string): void {
    heldBack.get(webhookId)?.();
    heldBack.delete(webhookId);
  }

  return {
    ...rules,
    /** Ends every rule; what is held back or put off may go. */
    clear(): void {
      rules.clear();
      const known = [...struck];
      struck.clear();
      for (const webhookId of heldBack.keys()) letGo(webhookId);
      background.run("ending delays", async () => {
        const now = clock.now();
        for (const [id, { until }] of known) if (until > now) await late(id, now);
      });
    },
    /** The sender that does to each post what was decided for it. */
    around: (inner: Sender): Sender => ({
      ...inner,
      async send(post, delivery) {
        const { id, event_type, webhook_id, attempts } = delivery;
        const overtakes = heldBack.has(webhook_id);
        const known = struck.get(id);
        // The first rule that falls on the delivery is used up; one is held back at a time.
        const fits = ({ effect, type = event_type, webhookId = webhook_id }: ChaosRule) =>
          type === event_type && webhookId === webhook_id && !(effect === "reorder" && overtakes);
        const rule = known ? undefined : rules.take(fits);
        const { effect, until } = known ?? { effect: rule?.effect, until: clock.now() + (rule?.delayMs ?? 0) };
        if (rule) struck.set(id, { effect, until });
        if (rule?.effect === "reorder") return { again: new Promise((go) => heldBack.set(webhook_id, go)) };
        if (until > clock.now()) return { again: Promise.resolve(await late(id, until)) };
        struck.delete(id);
        if (effect) journals.disturbed(id, attempts.length + 1, effect);
        const sent = effect === "bad_signature" ? { ...post, headers: spoilt(post.headers) } : post;
        const outcome = effect === "drop" ? DROPPED : await inner.send(sent, delivery);
        // The receiver sees the very same attempt again; what it says to the first is what counts.
        if (effect === "duplicate") await inner.send(post, delivery);
        if (overtakes) letGo(webhook_id);
        return outcome;
      },
    }),
  };
}

const DROPPED: Outcome = { status: null, body: null, error: "dropped", retryAfter: null };

/** The form of the signatures stays right, so that only checking them can tell. */
function spoilt(headers: Post["headers"]): Post["headers"] {
  const other = (signature = "") => signature.replace(/(?<=^sha256=|v1,)./g, (digit) => (digit === "0" ? "1" : "0"));
  const { "X-Service-Signature": ours, "webhook-signature": stock } = headers;
  return { ...headers, "X-Service-Signature": other(ours), "webhook-signature": other(stock) };
}
