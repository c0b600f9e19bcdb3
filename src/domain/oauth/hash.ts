// The hashes that OAuth needs. What is secret is kept as its hash and compared in constant time.
import { createHash, timingSafeEqual } from "node:crypto";

/** SHA-256 as base64url: key thumbprints (RFC 7638) and PKCE challenges (RFC 7636). */
export const sha256Url = (text: string): string => createHash("sha256").update(text).digest("base64url");

/** Whether two hashes are the same, in a time that does not tell where they differ. */
export function sameHash(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
