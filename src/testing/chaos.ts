// Chaos for tests of receivers (contract, part 10): disturbs delivery attempts. It wraps the sender of the outbox, and
// every outcome is recorded as usual. A delayed delivery is postponed in its row.
import { failure, type Sender, type WebhookRequest } from "../delivery/sender.ts";
import { postpone } from "../domain/deliveries.ts";
import { type DeliveryRecord, eventType } from "../domain/model.ts";
import { UnitOfWork, type UnitOfWorkDeps } from "../domain/unit-of-work.ts";
import { toIso } from "../lib/clock.ts";
import { type Infer, object, oneOf, optional, text } from "../lib/schema.ts";
import { createRules, RULE_MEMBERS } from "./rules.ts";

const chaosRule = object(
  {
    effect: oneOf(["duplicate", "reorder", "drop", "delay", "bad_signature", "reformat"]),
    type: optional(eventType),
    webhookId: optional(text({ max: 100 })),
    ...RULE_MEMBERS,
  },
  function* ({ effect, delayMs }) {
    if (effect === "delay" && delayMs === 0)
      yield { path: ["delayMs"], detail: "must be the length of the delay" };
  },
);
export type ChaosRule = Infer<typeof chaosRule>;
export type Effect = ChaosRule["effect"];

/** Applies to `times` attempts of this event type to this webhook. `delayMs` is for the effect `delay`. */
export type ChaosRuleInput = Pick<ChaosRule, "effect"> & Partial<ChaosRule>;

interface ChaosDeps {
  readonly unit: UnitOfWorkDeps;
  /** Keyed by delivery id and attempt number. */
  readonly effects: Map<string, Effect>;
}

export function createChaos({ unit, effects }: ChaosDeps) {
  const rules = createRules<ChaosRuleInput, ChaosRule>("chaos", chaosRule);

  /** Returns the first matching rule; a second `reorder` for a webhook waits until the first has gone. */
  const takeRule = ({ event_type, webhook_id }: DeliveryRecord): ChaosRule | undefined =>
    rules.take(
      ({ effect, type = event_type, webhookId = webhook_id }) =>
        type === event_type &&
        webhookId === webhook_id &&
        !(effect === "reorder" && rules.isHeld(webhook_id)),
    );

  let closes = 0;

  /** Returns a sender that applies the chosen effect to each attempt. */
  const wrap = (sender: Sender): Sender => ({
    async send(request, delivery, signedRequest) {
      const { id, webhook_id, attempts } = delivery;
      const closesBefore = closes;
      const attempt = `${id} ${attempts.length + 1}`;
      const isOvertaking = rules.isHeld(webhook_id);
      // The effect of an attempt is chosen once, even if sending is tried several times.
      const rule = effects.has(attempt) ? undefined : takeRule(delivery);
      if (rule) effects.set(attempt, rule.effect);
      // Held until the webhook's next attempt has been sent, however long that takes.
      if (rule?.effect === "reorder") return { again: rules.hold(webhook_id) };
      if (rule?.effect === "delay") {
        const until = toIso(unit.clock.now() + rule.delayMs);
        await new UnitOfWork(unit).run((ctx) => postpone(ctx, id, until));
        return { again: Promise.resolve() };
      }
      const effect = effects.get(attempt);
      const outcome =
        effect === "drop"
          ? failure("dropped")
          : await sender.send(
              changeRequest(request, effect, signedRequest),
              delivery,
              signedRequest,
            );
      // The receiver gets the same attempt twice, unless the service has stopped; the first response counts.
      if (effect === "duplicate" && closes === closesBefore)
        await sender.send(request, delivery, signedRequest);
      if (isOvertaking) rules.release(webhook_id);
      return outcome;
    },
    close(): void {
      closes += 1;
      sender.close();
    },
  });

  return { ...rules, wrap };
}

/** Well-formed signatures that only verification rejects. */
const INVALID_SIGNATURES = {
  "X-Service-Signature": `sha256=${"0".repeat(64)}`,
  "webhook-signature": `v1,${"A".repeat(43)}=`,
};

function changeRequest(
  request: WebhookRequest,
  effect: Effect | undefined,
  signedRequest: (body: string) => WebhookRequest,
): WebhookRequest {
  if (effect === "bad_signature")
    return { ...request, headers: { ...request.headers, ...INVALID_SIGNATURES } };
  if (effect !== "reformat") return request;
  // The same JSON with white space, which real deliveries do not have.
  return signedRequest(JSON.stringify(JSON.parse(request.body), null, 2));
}
