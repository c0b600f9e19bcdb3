// Disturbed deliveries on command, for tests of receivers (contract, part 10): sent twice, out of order, never, late, or
// with a signature that does not fit. It stands between the outbox and its sender and touches only what a rule names.
// A delivery that is late is put off in its row; otherwise what a receiver makes of all this is recorded as ever.
import type { Outcome, Post, Sender } from "../delivery/sender.ts";
import { putOff } from "../domain/deliveries.ts";
import type { UnitParts } from "../domain/work.ts";
import type { Background } from "../kit/background.ts";
import { type Instant, iso } from "../kit/clock.ts";
import type { Journals } from "./journals.ts";
import { type ChaosRule, chaosRule, type GivenChaos, rulesOf } from "./rules.ts";

export function chaosOf({ store, clock }: UnitParts, { marks }: Journals, background: Background) {
  const rules = rulesOf<GivenChaos, ChaosRule>("chaos", chaosRule);
  const late = (id: string, until: Instant) => store.transact((tx) => putOff(tx, id, iso(until)));

  return {
    ...rules,
    /** Ends every rule; what is held back or put off may go. */
    clear(): void {
      rules.clear();
      const until = clock.now();
      for (const mark of marks.values())
        if (mark.until > until) background.run("ending a delay", () => late(Object.assign(mark, { until }).id, until));
    },
    /** The sender that does to each post what was decided for it. */
    around: (inner: Sender): Sender => ({
      ...inner,
      async send(post, delivery) {
        const { id, event_type, webhook_id, attempts } = delivery;
        const attempt = `${id} ${attempts.length + 1}`;
        // One is held back at a time, for each webhook: until the next has gone, however long that takes.
        const overtakes = rules.holds(webhook_id);
        const fits = ({ effect, type = event_type, webhookId = webhook_id }: ChaosRule) =>
          type === event_type && webhookId === webhook_id && !(effect === "reorder" && overtakes);
        // What was decided for an attempt stands, however often it is tried to send it.
        const rule = marks.has(attempt) ? undefined : rules.take(fits);
        if (rule) marks.set(attempt, { id, effect: rule.effect, until: clock.now() + rule.delayMs });
        if (rule?.effect === "reorder") return { again: rules.hold(webhook_id) };
        const { effect, until = 0 } = marks.get(attempt) ?? {};
        if (until > clock.now()) return { again: Promise.resolve(await late(id, until)) };
        const sent = effect === "bad_signature" ? { ...post, headers: spoilt(post.headers) } : post;
        const outcome = effect === "drop" ? DROPPED : await inner.send(sent, delivery);
        // The receiver sees the very same attempt again; what it says to the first is what counts.
        if (effect === "duplicate") await inner.send(post, delivery);
        if (overtakes) rules.letGo(webhook_id);
        return outcome;
      },
    }),
  };
}

const DROPPED: Outcome = { response_status: null, response_body: null, error: "dropped", retryAfter: null };

/** The form of the signatures stays right, so that only checking them can tell. */
function spoilt(headers: Post["headers"]): Post["headers"] {
  const other = (signature = "") => signature.replace(/(?<=^sha256=|v1,)./g, (digit) => (digit === "0" ? "1" : "0"));
  const { "X-Service-Signature": ours, "webhook-signature": stock } = headers;
  return { ...headers, "X-Service-Signature": other(ours), "webhook-signature": other(stock) };
}
