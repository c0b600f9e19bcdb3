// The request of one attempt of a delivery (spec part 6, signature; contract, part 6): which headers it carries over the
// bytes of its event. It is the same for whoever sends it and for whoever shows what was sent.
import { type Instant, iso } from "../kit/clock.ts";
import { serviceSignature, standardSignature } from "../kit/signature.ts";
import { VERSION } from "../kit/version.ts";
import type { EventRecord, WebhookRecord } from "./model.ts";
import { secretsOf } from "./webhooks.ts";

export interface AttemptOf {
  readonly webhook: WebhookRecord;
  readonly event: EventRecord;
  readonly deliveryId: string;
  readonly number: number;
  readonly at: Instant;
}

/** The last three are what libraries for Standard Webhooks verify. */
export function deliveryHeaders({ webhook, event, deliveryId, number, at }: AttemptOf) {
  const { id, type, body } = event;
  const timestamp_s = Math.floor(at / 1_000);
  return {
    "Content-Type": "application/json",
    "Content-Length": String(Buffer.byteLength(body)),
    "User-Agent": `AppHostingService/${VERSION}`,
    "X-Service-Signature": serviceSignature(body, webhook.secret),
    "X-Service-Event": type,
    "X-Service-Delivery": deliveryId,
    "X-Service-Attempt": String(number),
    "webhook-id": id,
    "webhook-timestamp": String(timestamp_s),
    "webhook-signature": standardSignature(id, timestamp_s, body, secretsOf(webhook, iso(at))),
  };
}
