// Puts the delivery of webhooks together: the sender under the policy in force, and the outbox that feeds it (spec part 6).
import { X509Certificate } from "node:crypto";
import { decide } from "./decisions.ts";
import type { WebhookPolicy } from "./delivery/address-policy.ts";
import type { Sent } from "./delivery/attempt.ts";
import { Outbox } from "./delivery/outbox.ts";
import { HttpSender } from "./delivery/sender.ts";
import type { UnitParts } from "./domain/work.ts";
import type { Chaos } from "./embedding/chaos.ts";
import type { Background } from "./kit/background.ts";
import type { Log } from "./kit/log.ts";
import { OptionError, type Settings, staysHere } from "./options.ts";

/** How much longer a row stays claimed than an attempt can take. */
const LEASE_SPARE_MS = 10_000;

const ON_LOOPBACK = decide("6.webhook-policy");

/** A server that only this machine reaches may deliver to this machine. */
export const policyOf = (settings: Settings): WebhookPolicy =>
  settings.webhookPolicy ?? (staysHere(settings) ? ON_LOOPBACK : "strict");

/** What makes an outbox. A file without certificates is refused at once. */
export function webhookOutbox(
  { store, clock }: Pick<UnitParts, "store" | "clock">,
  settings: Settings,
  log: Pick<Log, "delivery" | "error">,
  chaos?: Chaos,
): (background: Background) => Outbox {
  const { webhookTimeout: timeout_ms, webhookCa } = settings;
  const ca = webhookCa === null ? {} : { ca: certificates(webhookCa) };
  const parts = {
    store,
    clock,
    retryWaits_ms: settings.retrySchedule,
    concurrency: settings.webhookConcurrency,
    lease_ms: timeout_ms + LEASE_SPARE_MS,
    onAttempt({ deliveryId: id, type, url, attempt: { number: attempt, duration_ms, response_status, error } }: Sent) {
      log.delivery({ id, type, url, outcome: String(response_status ?? error), duration_ms, attempt });
    },
    onError: log.error,
  };
  return (background) => {
    const sender = new HttpSender({ policy: policyOf(settings), timeout_ms, ...ca });
    return new Outbox({ ...parts, background, sender: chaos?.around(sender) ?? sender });
  };
}

/** TLS would pass over a file without a certificate, and every delivery fail later. */
function certificates(file: string): string {
  const pem = textOf("webhook-ca", file);
  try {
    new X509Certificate(pem);
    return pem;
  } catch {
    throw new OptionError(`--webhook-ca ${file} must hold certificates (PEM)`);
  }
}

/** The text of a file that a flag names. */
export function textOf(flag: string, file: string): string {
  try {
    return process.getBuiltinModule("node:fs").readFileSync(file, "utf8");
  } catch (error) {
    throw new OptionError(
      `--${flag} ${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
