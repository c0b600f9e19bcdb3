// Signs webhook deliveries: X-Service-Signature (spec part 6) and the header of Standard Webhooks
// (standardwebhooks.com). Both are HMAC-SHA256. The first key is the UTF-8 bytes of the whole secret. The second is the
// base64 after `whsec_`, decoded, if the secret has that form.
import { createHmac, timingSafeEqual } from "node:crypto";

/** `sha256=` and the lower-case hexadecimal HMAC-SHA256 of the raw body. */
export const serviceSignature = (rawBody: string | Uint8Array, secret: string): string =>
  `sha256=${createHmac("sha256", secret).update(rawBody).digest("hex")}`;

type HeaderValue = string | readonly string[] | null | undefined;

/**
 * Whether `header`, the value of X-Service-Signature, matches this secret and the raw body, as received before any
 * parsing. Timing does not reveal how much of a wrong signature is right.
 */
export function verifySignature(
  rawBody: string | Uint8Array,
  header: HeaderValue,
  secret: string,
): boolean {
  if (typeof header !== "string") return false;
  const expected = Buffer.from(serviceSignature(rawBody, secret));
  const given = Buffer.from(header);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** `whsec_` and base64 (RFC 4648 4), whose padding may be absent. */
const ENCODED = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?)$/;

/** The key of `webhook-signature`, as libraries for Standard Webhooks derive it. */
function standardKey(secret: string): string | Buffer {
  const [, encoded = ""] = ENCODED.exec(secret) ?? [];
  return encoded === "" ? secret : Buffer.from(encoded, "base64");
}

/** `webhook-signature`: one `v1,<base64>` for each secret in force, the newest first, separated by spaces. */
export const standardSignature = (
  id: string,
  timestamp_s: number,
  body: string,
  secrets: readonly string[],
): string =>
  secrets
    .map(
      (secret) =>
        `v1,${createHmac("sha256", standardKey(secret)).update(`${id}.${timestamp_s}.${body}`).digest("base64")}`,
    )
    .join(" ");
