// Webhooks (spec part 2; contract, parts 2, 4 and 6): who is told of what, and where. What waits for one that is
// deleted or switched off is the outbox's to cancel, as sending is. Which URLs are allowed is the delivery layer's to
// say and comes in as a function.
import { duration, iso } from "../kit/clock.ts";
import { decide } from "../kit/decisions.ts";
import {
  changesOf,
  flag,
  type Infer,
  list,
  type ObjectSchema,
  object,
  optional,
  text,
  withDefault,
} from "../kit/schema.ts";
import type { Caller } from "./access.ts";
import { leavingQueue } from "./deliveries.ts";
import { type Page, pageOf } from "./lists.ts";
import { EVENT_TYPES, type EventType, eventType, PREFIX, type WebhookRecord, webhooks } from "./model.ts";
import { type Expect, notFound, Refusal } from "./refusal.ts";
import type { Reader, Span } from "./store.ts";
import type { Unit, Work } from "./work.ts";

const URL_LENGTH_MAX = decide("2.webhook-url-length", 2_048, {
  open: "size limits of fields",
  why: "longer addresses are not carried reliably by what lies between",
});

const EVENTS = decide(
  "2.webhook-events",
  { min: 1, max: EVENT_TYPES.length, distinct: true },
  {
    open: "how many event types a webhook may name",
    why: "one that names none would never be sent anything, and naming one twice is a mistake",
  },
);

const SECRET_BYTES = decide("2.webhook-secret", 32, {
  open: "whether a secret is required, and how long it is",
  why: "who brings none gets one of 256 random bits, shown once; any text from 1 to 255 characters is taken",
});

const ACTIVE = decide("2.webhook-active-default", true, {
  open: "whether active is required on create",
  why: "a webhook is registered to receive something",
});

const ROTATION_MS =
  duration(
    decide("6.secret-rotation", "24h", {
      open: "what happens to deliveries while a secret is changed",
      why: "for a day webhook-signature carries both secrets, so that a receiver can change over without a gap",
    }),
  ) ?? 0;

/** Answers the rule that refuses a URL, or undefined. */
export type UrlRule = (url: string) => string | undefined;

/** The body of POST /webhooks. */
export const webhookDraft = (urlRule: UrlRule) =>
  object({
    url: text({ min: 1, max: URL_LENGTH_MAX, format: "uri", rule: urlRule }),
    events: list(eventType, EVENTS),
    secret: optional(text({ min: 1, max: 255 })),
    active: withDefault(flag, ACTIVE),
  });
export type WebhookDraft = Infer<ReturnType<typeof webhookDraft>>;

/** The body of PATCH /webhooks/{webhook_id}. */
export const webhookChanges = (draft: ObjectSchema<WebhookDraft>) => changesOf(draft);
export type WebhookChanges = Infer<ReturnType<typeof webhookChanges>>;

/** The body of POST /webhooks/{webhook_id}/test. */
export const testRequest = object({ type: eventType });

export const createWebhook = (unit: Unit, caller: Caller, draft: WebhookDraft) =>
  unit.transact<WebhookRecord>((w) => addWebhook(w, caller.account.id, draft));

/** `id` is given by a seed. */
export async function addWebhook(w: Work, accountId: string, draft: WebhookDraft, id?: string): Promise<WebhookRecord> {
  const webhook: WebhookRecord = {
    id: id ?? w.ids.next(PREFIX.webhook),
    url: draft.url,
    events: draft.events,
    active: draft.active,
    disabled_reason: null,
    created_at: w.at,
    updated_at: w.at,
    account_id: accountId,
    secret: draft.secret ?? w.ids.secret(SECRET_BYTES),
    old_secret: null,
    old_secret_until: null,
    failing_since: null,
  };
  await w.tx.put(webhooks, webhook);
  return webhook;
}

export async function getWebhook(reader: Reader, caller: Caller, id: string): Promise<WebhookRecord | Refusal> {
  const webhook = await reader.get(webhooks, id);
  return webhook?.account_id === caller.account.id ? webhook : notFound("webhook");
}

export const listWebhooks = (reader: Reader, caller: Caller, span: Span): Promise<Page<WebhookRecord>> =>
  pageOf(reader, webhooks, "account", [caller.account.id], span);

/** Changes the fields sent. Switching off cancels what waits; switching on again forgets why it was off. */
export const changeWebhook = (
  unit: Unit,
  caller: Caller,
  id: string,
  changes: WebhookChanges,
  expect: Expect<WebhookRecord>,
) =>
  unit.transact<WebhookRecord>(async (w) => {
    const webhook = await getWebhook(w.tx, caller, id);
    if (webhook instanceof Refusal) return webhook;
    const unmet = expect(webhook);
    if (unmet) return unmet;
    const changed = withChanges(w, webhook, changes);
    if (changed === webhook) return webhook;
    const kept = webhook.active && !changed.active ? leavingQueue(w.tx, changed) : changed;
    await w.tx.put(webhooks, kept);
    return kept;
  });

export const removeWebhook = (unit: Unit, caller: Caller, id: string, expect: Expect<WebhookRecord>) =>
  unit.transact<null>(async (w) => {
    const webhook = await getWebhook(w.tx, caller, id);
    if (webhook instanceof Refusal) return webhook;
    const unmet = expect(webhook);
    if (unmet) return unmet;
    leavingQueue(w.tx, webhook);
    await w.tx.remove(webhooks, id);
    return null;
  });

/** The same object where nothing differs. */
function withChanges(w: Work, webhook: WebhookRecord, changes: WebhookChanges): WebhookRecord {
  const { url = webhook.url, events = webhook.events, active = webhook.active, secret = webhook.secret } = changes;
  const moved = url !== webhook.url;
  const rotated = secret !== webhook.secret;
  const switched = active !== webhook.active;
  if (!moved && !rotated && !switched && sameTypes(events, webhook.events)) return webhook;
  return {
    ...webhook,
    url,
    events,
    active,
    updated_at: w.at,
    ...(rotated && { secret, old_secret: webhook.secret, old_secret_until: iso(w.now + ROTATION_MS) }),
    ...(switched && { disabled_reason: null }),
    // Neither a new address nor one that was switched on again answers for the failures before.
    ...((moved || switched) && { failing_since: null }),
  };
}

const sameTypes = (a: readonly EventType[], b: readonly EventType[]): boolean => a.join() === b.join();

/** The secrets in force, the newest first. */
export function secretsOf(webhook: WebhookRecord, at: string): readonly string[] {
  const { secret, old_secret, old_secret_until } = webhook;
  const both = old_secret !== null && old_secret_until !== null && at < old_secret_until;
  return both ? [secret, old_secret] : [secret];
}
