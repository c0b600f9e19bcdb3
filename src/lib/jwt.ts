// JSON Web Tokens, signed with ES256 or RS256 (RFC 7515, 7518, 7519), and their keys (RFC 7517). Verification is
// strict: the key fixes the algorithm, every part is canonical base64url, and anything unknown is rejected. No
// encryption, no `crit`, no key from a token's header (jwk, jku, x5u), no shared-secret algorithm, no leeway on expiry.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { promisify } from "node:util";
import { sha256Base64url } from "./ids.ts";

export const ALGORITHMS = ["ES256", "RS256"] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

export interface JwtKey {
  /** The RFC 7638 thumbprint of the public key, so that it never names another key. */
  readonly kid: string;
  readonly alg: Algorithm;
  /** The private key, which also verifies because it includes the public key. */
  readonly key: KeyObject;
}

type Claims = { readonly [name: string]: unknown };

/** Values required in a token; `now` is in milliseconds. */
interface Expected {
  readonly typ: string;
  readonly iss: string;
  readonly aud: string;
  readonly now: number;
}

/** `untrusted`: not signed by the key. Member names: the signature is valid, but this member does not match. */
export type JwtError = "malformed" | "untrusted" | "typ" | "iss" | "aud" | "exp" | "expired";

/** Ten times the size of our own tokens; a longer token is rejected before decoding. */
const TOKEN_BYTES_MAX = 8_192;
const RSA_BITS = 2_048;

/** Generates a private key and returns it as PKCS 8 in PEM. */
export async function generatePrivateKey(alg: Algorithm): Promise<string> {
  const generate = promisify(generateKeyPair);
  const { privateKey } =
    alg === "ES256"
      ? await generate("ec", { namedCurve: "P-256" })
      : await generate("rsa", { modulusLength: RSA_BITS });
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

export function toJwtKey(alg: Algorithm, privateKey: string): JwtKey {
  const key = createPrivateKey(privateKey);
  const sortedMembers = Object.entries(exportPublicKey(key)).sort();
  return { kid: sha256Base64url(JSON.stringify(Object.fromEntries(sortedMembers))), alg, key };
}

/** Returns the public key for a JWK set. */
export const toPublicJwk = ({ key, kid, alg }: JwtKey) => ({
  ...exportPublicKey(key),
  kid,
  alg,
  use: "sig",
});

/** Has exactly the members that RFC 7638 hashes. */
const exportPublicKey = (key: KeyObject) => createPublicKey(key).export({ format: "jwk" });

export function signJwt(key: JwtKey, typ: string, claims: Claims): string {
  const input = `${encodeSegment({ typ, alg: key.alg, kid: key.kid })}.${encodeSegment(claims)}`;
  return `${input}.${sign("sha256", Buffer.from(input), toSigningKey(key)).toString("base64url")}`;
}

const encodeSegment = (value: Claims): string =>
  Buffer.from(JSON.stringify(value)).toString("base64url");

/**
 * Returns the claims of a valid token, or its error. Checks form and signature first, so that errors reveal nothing
 * about unsigned claims.
 */
export function verifyJwt(token: string, key: JwtKey, expected: Expected): Claims | JwtError {
  if (token.length > TOKEN_BYTES_MAX) return "malformed";
  const [encodedHeader = "", encodedClaims = "", encodedSignature = "", more] = token.split(".");
  const header = parseSegment(encodedHeader);
  const claims = parseSegment(encodedClaims);
  const signature = decodeBase64url(encodedSignature);
  if (more !== undefined || !header || !claims || !signature) return "malformed";
  if (header.kid !== key.kid || header.alg !== key.alg || "crit" in header) return "untrusted";
  const input = Buffer.from(`${encodedHeader}.${encodedClaims}`);
  if (!verify("sha256", input, toSigningKey(key), signature)) return "untrusted";
  const members: Claims = { ...claims, typ: header.typ };
  for (const name of ["typ", "iss", "aud"] as const)
    if (members[name] !== expected[name]) return name;
  const { exp } = claims;
  if (typeof exp !== "number") return "exp";
  return expected.now < exp * 1_000 ? claims : "expired";
}

/** RFC 7518 3.4: an ES256 signature is two concatenated numbers; the option has no effect on RSA. */
const toSigningKey = ({ key }: JwtKey) => ({ key, dsaEncoding: "ieee-p1363" }) as const;

/** Decodes only canonical base64url: no padding, no spaces, no leftover bits. */
function decodeBase64url(segment: string): Buffer | undefined {
  const bytes = Buffer.from(segment, "base64url");
  return segment !== "" && bytes.toString("base64url") === segment ? bytes : undefined;
}

function parseSegment(segment: string): Claims | undefined {
  try {
    const value: unknown = JSON.parse(String(decodeBase64url(segment)));
    return typeof value === "object" && value !== null ? (value as Claims) : undefined;
  } catch {
    return undefined; // not base64url, or not JSON: no token of ours
  }
}
