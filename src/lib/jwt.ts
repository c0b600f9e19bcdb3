// JSON Web Tokens, signed with ES256 or RS256 (RFC 7515, 7518, 7519). Reading is strict: the algorithm is the key's and
// never the token's word, every part is canonical base64url, and what is not understood is refused. No encryption, no
// `crit`, no key taken from a token's header (jwk, jku, x5u), no shared-secret algorithm, no leeway on expiry.
import { isUtf8 } from "node:buffer";
import { type KeyObject, sign, verify } from "node:crypto";

export const ALGORITHMS = ["ES256", "RS256"] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

export interface JwtKey {
  readonly kid: string;
  readonly alg: Algorithm;
  /** The private key, which verifies as well: the public one is part of it. */
  readonly key: KeyObject;
}

export type Claims = { readonly [name: string]: unknown };

/** What a token must say to be taken; `now` is in milliseconds. */
interface Expected {
  readonly typ: string;
  readonly iss: string;
  readonly aud: string;
  readonly now: number;
}

/** `untrusted`: not made by one of the keys. The names: well signed, but this member says that it is not for this use. */
export type JwtFault = "malformed" | "untrusted" | "typ" | "iss" | "aud" | "exp" | "expired";
type JwtVerdict = { readonly kid: string; readonly claims: Claims } | { readonly fault: JwtFault };

/** Ours have a tenth of it; what is longer is refused before any of it is decoded. */
const TOKEN_BYTES_MAX = 8_192;

export function signJwt(by: JwtKey, typ: string, claims: Claims): string {
  const input = `${encodeSegment({ typ, alg: by.alg, kid: by.kid })}.${encodeSegment(claims)}`;
  return `${input}.${sign("sha256", Buffer.from(input), toKeyObject(by)).toString("base64url")}`;
}

const encodeSegment = (value: Claims): string =>
  Buffer.from(JSON.stringify(value)).toString("base64url");

/** Checks form and signature first, so that nothing of an unsigned claim is ever told apart. */
export function verifyJwt(token: string, keys: readonly JwtKey[], expected: Expected): JwtVerdict {
  if (token.length > TOKEN_BYTES_MAX) return { fault: "malformed" };
  const [first = "", second = "", third = "", ...more] = token.split(".");
  const [header, claims, signature] = [
    parseSegment(first),
    parseSegment(second),
    decodeBase64url(third),
  ];
  if (more.length > 0 || !header || !claims || !signature) return { fault: "malformed" };
  const known = keys.find(({ kid }) => kid === header.kid);
  if (known === undefined || header.alg !== known.alg || "crit" in header)
    return { fault: "untrusted" };
  if (!verify("sha256", Buffer.from(`${first}.${second}`), toKeyObject(known), signature))
    return { fault: "untrusted" };
  const { iss, aud, exp } = claims;
  if (header.typ !== expected.typ) return { fault: "typ" };
  if (iss !== expected.iss) return { fault: "iss" };
  if (aud !== expected.aud) return { fault: "aud" };
  if (typeof exp !== "number" || !Number.isFinite(exp)) return { fault: "exp" };
  return expected.now < exp * 1_000 ? { kid: known.kid, claims } : { fault: "expired" };
}

/** RFC 7518 3.4: an ES256 signature is two numbers side by side; RSA has no choice. */
const toKeyObject = ({ key }: JwtKey) => ({ key, dsaEncoding: "ieee-p1363" }) as const;

/** The bytes of the one spelling that base64url has for them: no padding, no spaces, no bits left over. */
function decodeBase64url(part: string): Buffer | undefined {
  const bytes = Buffer.from(part, "base64url");
  return part !== "" && bytes.toString("base64url") === part ? bytes : undefined;
}

function parseSegment(part: string): Claims | undefined {
  const bytes = decodeBase64url(part);
  if (bytes === undefined || !isUtf8(bytes)) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString());
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    return Object.assign(Object.create(null), value);
  } catch {
    return undefined; // not JSON: no token of ours
  }
}
