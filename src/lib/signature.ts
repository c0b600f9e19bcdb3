// Signs webhook deliveries: X-Service-Signature (spec part 6) and the header of Standard Webhooks
// (standardwebhooks.com). Both are HMAC-SHA256. The first key is the UTF-8 bytes of the whole secret. The second is the
// base64 after `whsec_`, decoded, if the secret has that form.
import { createHmac, timingSafeEqual } from "node:crypto";

/** `sha256=` and the lower-case hexadecimal HMAC-SHA256 of the raw body. */
export const serviceSignature = (rawBody: string | Uint8Array, secret: string): string =>
  `sha256=${createHmac("sha256", secret).update(rawBody).digest("hex")}`;

/**
 * Whether `header`, the value of X-Service-Signature, matches this secret and the raw body, as received before any
 * parsing. Timing does not reveal how much of a wrong signature is right.
 */
export function verifySignature(
  rawBody: string | Uint8Array,
  header: unknown,
  secret: string,
): boolean {
  if (typeof header !== "string") return false;
  const expected = Buffer.from(serviceSignature(rawBody, secret));
  const received = Buffer.from(header);
  return received.length === expected.length && timingSafeEqual(received, expected);
}

/** `webhook-signature`: `v1,` and base64, keyed as libraries for Standard Webhooks do it. */
export function standardSignature(
  id: string,
  timestamp_s: number,
  body: string,
  secret: string,
): string {
  const [, encoded = ""] = /^whsec_(.+)/.exec(secret) ?? [];
  const decoded = Buffer.from(encoded, "base64");
  // The padding may be absent (RFC 4648 4); any other text is no base64.
  const [unpadded] = encoded.split("=");
  const isBase64 = unpadded !== "" && decoded.toString("base64").split("=")[0] === unpadded;
  const hmac = createHmac("sha256", isBase64 ? decoded : secret).update(
    `${id}.${timestamp_s}.${body}`,
  );
  return `v1,${hmac.digest("base64")}`;
}
