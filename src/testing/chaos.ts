// Chaos for tests of receivers (contract, part 10): disturbs delivery attempts. It wraps the sender of the outbox, and
// every outcome is recorded as usual. A delayed delivery is postponed in its row.

import {
  type Deferred,
  type DispatchResult,
  failure,
  type Sender,
  type WebhookRequest,
} from "../delivery/sender.ts";
import { postpone } from "../domain/deliveries.ts";
import { type DeliveryRecord, eventType } from "../domain/model.ts";
import { UnitOfWork, type UnitOfWorkDeps } from "../domain/unit-of-work.ts";
import { type Instant, toIso } from "../lib/clock.ts";
import { type Infer, object, oneOf, optional, text } from "../lib/schema.ts";
import type { TaskTracker } from "../lib/tasks.ts";
import { createRules, RULE_MEMBERS } from "./rules.ts";

const chaosRule = object(
  {
    effect: oneOf(["duplicate", "reorder", "drop", "delay", "bad_signature", "reformat"]),
    type: optional(eventType),
    webhookId: optional(text({ min: 1, max: 100 })),
    ...RULE_MEMBERS,
  },
  function* ({ effect, delayMs }) {
    if (effect === "delay" && delayMs === 0)
      yield { path: ["delayMs"], detail: "must be the length of the delay" };
    if (effect !== "delay" && delayMs > 0)
      yield { path: ["delayMs"], detail: "goes with the effect delay only" };
  },
);
export type ChaosRule = Infer<typeof chaosRule>;
export type Effect = ChaosRule["effect"];

/** Applies to `times` attempts of this event type to this webhook. `delayMs` is for the effect `delay`. */
export type ChaosRuleInput = Pick<ChaosRule, "effect"> & Partial<ChaosRule>;

/** The effect on one attempt, which is not sent before `until`. */
export interface AppliedEffect {
  readonly deliveryId: string;
  readonly effect: Effect;
  until: Instant;
}

interface ChaosDeps {
  readonly unit: UnitOfWorkDeps;
  readonly tasks: TaskTracker;
  /** Keyed by delivery id and attempt number. */
  readonly effects: Map<string, AppliedEffect>;
}

export function createChaos({ unit, tasks, effects }: ChaosDeps) {
  const { clock } = unit;
  const rules = createRules<ChaosRuleInput, ChaosRule>("chaos", chaosRule);

  const postponeUntil = (deliveryId: string, until: Instant): Promise<void> =>
    new UnitOfWork(unit).run((ctx) => postpone(ctx, deliveryId, toIso(until)));

  clock.onSetBack((by_ms) => {
    for (const applied of effects.values()) applied.until -= by_ms;
  });

  /** Returns the first matching rule; a second `reorder` for a webhook waits until the first has gone. */
  const takeRule = ({ event_type, webhook_id }: DeliveryRecord): ChaosRule | undefined =>
    rules.take(
      ({ effect, type = event_type, webhookId = webhook_id }) =>
        type === event_type &&
        webhookId === webhook_id &&
        !(effect === "reorder" && rules.isHeld(webhook_id)),
    );

  return {
    ...rules,
    clear(): void {
      rules.clear();
      const now = clock.now();
      for (const applied of effects.values())
        if (applied.until > now) {
          applied.until = now;
          tasks.run("ending a delay", () => postponeUntil(applied.deliveryId, now));
        }
    },

    /** Returns a sender that applies the chosen effect to each attempt. */
    wrap(sender: Sender): Sender {
      let closeCount = 0;

      async function send(
        request: WebhookRequest,
        delivery: DeliveryRecord,
        requestWith: (body: string) => WebhookRequest,
      ): Promise<DispatchResult | Deferred> {
        const closeCountBefore = closeCount;
        const { id, webhook_id, attempts } = delivery;
        const attempt = `${id} ${attempts.length + 1}`;
        const isOvertaking = rules.isHeld(webhook_id);
        // The effect of an attempt is chosen once, even if sending is tried several times.
        const rule = effects.has(attempt) ? undefined : takeRule(delivery);
        if (rule) {
          const until = clock.now() + rule.delayMs;
          effects.set(attempt, { deliveryId: id, effect: rule.effect, until });
        }
        // Held until the webhook's next attempt has been sent, however long that takes.
        if (rule?.effect === "reorder") return { again: rules.hold(webhook_id) };
        const { effect, until = 0 } = effects.get(attempt) ?? {};
        if (effect === "delay" && until > clock.now()) {
          await postponeUntil(id, until);
          return { again: Promise.resolve() };
        }
        const changedRequest = changeRequest(request, effect, requestWith);
        const outcome =
          effect === "drop"
            ? failure("dropped")
            : await sender.send(changedRequest, delivery, requestWith);
        // The receiver gets the same attempt twice; the first response counts.
        if (effect === "duplicate" && closeCount === closeCountBefore)
          await sender.send(request, delivery, requestWith);
        if (isOvertaking) rules.release(webhook_id);
        return outcome;
      }

      return {
        send,
        close(): void {
          closeCount += 1;
          sender.close();
        },
      };
    },
  };
}

/** Well-formed signatures that only verification rejects. */
const INVALID_SIGNATURES = {
  "X-Service-Signature": `sha256=${"0".repeat(64)}`,
  "webhook-signature": `v1,${"A".repeat(43)}=`,
};

function changeRequest(
  request: WebhookRequest,
  effect: Effect | undefined,
  requestWith: (body: string) => WebhookRequest,
): WebhookRequest {
  if (effect === "bad_signature")
    return { ...request, headers: { ...request.headers, ...INVALID_SIGNATURES } };
  if (effect !== "reformat") return request;
  // The same JSON with white space, which real deliveries do not have.
  return requestWith(JSON.stringify(JSON.parse(request.body), null, 2));
}
